// What is sent again after a NACK or a timeout.
#include <algorithm>

#include "wireproof/proto/am/send/outgoing.hpp"

namespace wireproof::am {

Outgoing::Resend Outgoing::resend_missing(Instant now, const Header& nack,
                                          const SendWindow::Missing& missing, bool progress) {
    if ((nack.count & nack_refuses) != 0) {
        // It arrived, so the path carries it. The peer refused it and fetches it later (AM-42).
        (void)window.note_arrived(missing);
        backoff.forget();
        window.in_flight().hold_new(false);
        return {};
    }
    if (!backoff.on()) return {window.on_nack(missing)};
    const bool arrived = window.note_arrived(missing);
    follow_missing();
    const std::uint64_t first = window.first_missing();
    // If the peer has some of the packets, the path lost only single packets.
    const bool some = arrived || (backoff.times() == 0 && (progress || !missing.map.empty()));
    const bool held = backoff.holds_back(now);
    if (held && recovery_ == Recovery::go_back_n) return {};
    const bool waits = window.is_lost(first);
    const std::uint32_t others = held ? 0 : backoff.most();
    const bool lost = window.note_lost(
        missing, {.most = some ? ResendBackoff::all : others, .without_first = held});
    if (waits || !window.is_lost(first)) return {lost};
    backoff.resends(now);
    // Packets after this one could not be delivered before it. A path that carries no packet of
    // this length would lose them, too.
    const bool none = !some && tries_long();
    window.in_flight().hold_new(none || backoff.wait() > Duration());
    if (!backoff.lasts()) return {lost};
    return {.gives_up = SessionEnded{.why = SessionEnded::Why::unanswered,
                                     .packet_bytes = backoff.bytes(),
                                     .packet_times = backoff.times() - 1}};
}

void SendWindow::mark_lost(std::uint64_t position) {
    if (lost_.test(position)) return;
    in_flight_.lost(position);
    marked_ = true;
    lost_.set(position);
    ++lost_count_;
}

void SendWindow::unmark_lost(std::uint64_t position) {
    if (!lost_.test(position)) return;
    lost_.clear(position);
    --lost_count_;
}

// The next lost packet of this round. If only earlier ones are lost, a new round begins.
std::uint64_t SendWindow::next_lost() {
    for (std::uint64_t at = cursor_; at < high_; ++at) {
        if (lost_.test(at)) return at;
    }
    ++round_;
    cursor_ = una_;
    while (!lost_.test(cursor_)) ++cursor_;
    return cursor_;
}

std::uint64_t SendWindow::end_of_lost(std::uint64_t position) const {
    while (position < high_ && lost_.test(position)) ++position;
    return position;
}

std::uint64_t SendWindow::first_missing() const {
    std::uint64_t at = una_;
    while (recovery_ == Recovery::selective && at < high_ && there_.test(at)) ++at;
    return at;
}

bool SendWindow::note_arrived(const Missing& missing) {
    if (recovery_ == Recovery::go_back_n) return false;
    const std::uint64_t bits = std::min<std::uint64_t>(missing.map.size() * 8, missing.reach);
    const std::uint64_t end = std::min(high_, una_ + bits);
    bool any = false;
    for (std::uint64_t at = una_; at < end; ++at) {
        const std::uint64_t i = at - una_;
        const auto byte = std::to_integer<unsigned>(missing.map[static_cast<std::size_t>(i / 8)]);
        if (((byte >> (i % 8)) & 1) == 0 || there_.test(at)) continue;
        any = marked_ = true;
        there_.set(at);
        unmark_lost(at);
        in_flight_.arrived(at);
    }
    return any;
}

bool SendWindow::note_lost(const Missing& missing, Resendable resendable) {
    if (una_ == high_) return false;
    return recovery_ == Recovery::go_back_n ? missing.round == round_ && go_back(resendable.most)
                                            : mark_missing(missing, resendable);
}

// Marks all packets, or the first `most`, but at least the first message. A new round begins, so
// later NACKs from the old round change nothing. AM-11: the named number and all after it leave in
// order; AM-53: at most a window for each NACK.
bool SendWindow::go_back(std::uint32_t most) {
    ++round_;
    cursor_ = una_;
    const bool chunk = saved_.front().kind == Kind::chunk;
    const std::uint64_t end = una_ + std::max(most, chunk ? saved_.front().span : 1);
    for (std::uint64_t at = una_; at < high_; ++at) {
        if (at < end) {
            mark_lost(at);
        } else {
            in_flight_.lost(at);
        }
    }
    return true;
}

// Whether the packet left for the last time before the packet that caused the NACK. Rounds are
// known modulo 256; a keep-alive repairs the loss of an older packet.
bool SendWindow::left_before(std::uint64_t position, const Missing& missing,
                             std::uint64_t end) const {
    const auto sent = static_cast<std::uint8_t>(round_ - round_sent_[round_place(position)]);
    const auto drew = static_cast<std::uint8_t>(round_ - missing.round);
    return sent > drew || (sent == drew && position < end);
}

bool SendWindow::mark_missing(const Missing& missing, Resendable resendable) {
    const std::uint64_t reach = std::min<std::uint64_t>(high_, una_ + missing.reach);
    const std::uint64_t end = una_ + missing.end;
    const std::uint64_t first = first_missing();
    bool any = false;
    for (std::uint64_t at = first; at < reach; ++at) {
        if (there_.test(at) || lost_.test(at) || !left_before(at, missing, end)) continue;
        const bool waits = at == first ? resendable.without_first : lost_count_ >= resendable.most;
        if (waits) {
            in_flight_.lost(at);
            continue;
        }
        mark_lost(at);
        any = true;
    }
    return any;
}

}  // namespace wireproof::am
