#include "wireproof/proto/am/send_window.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wireproof::am {

SendWindow::SendWindow(const Config& config, Channel channel)
    : circle_(config.modulus),
      first_(config.first_number[static_cast<std::size_t>(channel)]),
      window_(config.window_of(channel)),
      data_max_(config.data_max()),
      bundle_max_(config.bundle_max),
      recovery_(config.recovery),
      saved_(window_),
      bytes_(config.save_bytes),
      afoot_(window_, config.congestion == Congestion::on),
      lost_(window_),
      there_(window_),
      round_sent_(std::bit_ceil(std::size_t{window_})) {
    una_number_ = high_number_ = first_;
}

bool SendWindow::push(Kind kind, std::uint32_t id, std::uint16_t count, ConstBytes data,
                      std::uint32_t owner) {
    return push_here(kind, id, count, data, owner);
}

SendWindow::Saved* SendWindow::save_open(std::uint32_t transfer, const OpenBody& body,
                                         ConstBytes bytes) {
    const Placed placed = save(Kind::open, transfer, 0, OpenBody::size + bytes.size(), transfer);
    if (placed.message == nullptr) return nullptr;
    body.encode(std::span<std::byte, OpenBody::size>(placed.bytes, OpenBody::size));
    if (!bytes.empty()) std::memcpy(placed.bytes + OpenBody::size, bytes.data(), bytes.size());
    return placed.message;
}

bool SendWindow::push_open(std::uint32_t transfer, const OpenBody& body, ConstBytes begin) {
    if (save_open(transfer, body, begin) == nullptr) return false;
    ++watched_;
    return true;
}

bool SendWindow::push_note(const OpenBody& body, ConstBytes bytes, std::uint64_t tag,
                           bool awaited) {
    Saved* const message = save_open(0, body, bytes);
    if (message == nullptr) return false;
    message->count = awaited ? 1 : 0;
    message->in_place = true;
    message->offset = tag;
    if (awaited) ++watched_;
    if (!bytes.empty()) ++carrying_;
    return true;
}

SendWindow::Saved* SendWindow::note(std::uint32_t number) {
    if (!circle_.holds(number)) return nullptr;
    const std::uint64_t position = una_ + circle_.steps_after(Number(number), una_number_);
    if (position >= high_) return nullptr;
    for (std::size_t i = 0; i < saved_.size() && saved_[i].position <= position; ++i) {
        if (saved_[i].position == position && saved_[i].in_place) return &saved_[i];
    }
    return nullptr;
}

void SendWindow::push_chunk(std::uint32_t id, std::uint32_t owner, ConstBytes data,
                            std::uint64_t offset, std::uint32_t packets) {
    Saved& message = append(Kind::chunk, id, owner, packets);
    message.count = static_cast<std::uint16_t>(packets);
    message.lent = data.data();
    message.size = data.size();
    message.offset = offset;
    ++watched_;
}

void SendWindow::mark_lost(std::uint64_t position) {
    if (lost_.test(position)) return;
    afoot_.lost(position);
    marked_ = true;
    lost_.set(position);
    ++lost_count_;
}

void SendWindow::unmark_lost(std::uint64_t position) {
    if (!lost_.test(position)) return;
    lost_.clear(position);
    --lost_count_;
}

// The next lost packet of this round; if only earlier ones are left, a new round begins.
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

std::size_t SendWindow::message_at(std::uint64_t position) {
    if (position >= high_) {
        (void)first_unsent_message();
        return unsent_message_;
    }
    std::size_t first = 0;
    std::size_t end = saved_.size();
    while (end - first > 1) {
        const std::size_t middle = first + (end - first) / 2;
        (saved_[middle].position <= position ? first : end) = middle;
    }
    return first;
}

// As many as lie one behind the other in the save queue: its wrap parts them, and so does whatever
// is no short message.
SendWindow::Bundle SendWindow::bundle_from(std::size_t first, std::uint64_t end) const {
    const Saved& head = saved_[first];
    Bundle bundle;
    if (!may_join(head)) return bundle;
    SaveBytes::Place place = head.copy;
    for (std::size_t i = first + 1; i < saved_.size() && saved_[i].position < end; ++i) {
        const Saved& next = saved_[i];
        const bool joins = may_join(next) && next.copy.at == place.at + place.size &&
                           place.size + next.copy.size <= bundle_max_;
        if (!joins) break;
        place.size += next.copy.size;
        ++bundle.messages;
    }
    bundle.entries = bytes_.view(place);
    return bundle;
}

std::optional<SendWindow::Departure> SendWindow::next_departure() {
    const bool nothing_waits = lost_count_ == 0 && high_ == next_;
    if (nothing_waits || afoot_.closed()) return std::nullopt;
    leaving_ = lost_count_ > 0 ? next_lost() : high_;
    const std::size_t place = message_at(leaving_);
    const Saved& message = saved_[place];
    Departure departure;
    departure.message = &message;
    // All packets of a chunk carry the number of its first (AM-3).
    departure.number = circle_.advance(una_number_, message.position - una_).value();
    departure.data = data_of(message);
    if (message.kind == Kind::chunk) {
        const std::size_t begin = static_cast<std::size_t>(leaving_ - message.position) * data_max_;
        departure.offset = message.offset + begin;
        departure.data =
            departure.data.subspan(begin, std::min(data_max_, departure.data.size() - begin));
    }
    departure.resent = leaving_ < high_;
    if (bundle_max_ > 0) {
        const Bundle bundle = bundle_from(place, departure.resent ? end_of_lost(leaving_) : next_);
        if (bundle.messages > 1) {
            departure.messages = bundle.messages;
            departure.data = bundle.entries;
        }
    }
    leaving_messages_ = departure.messages;
    return departure;
}

void SendWindow::departed() {
    const std::uint64_t end = leaving_ + leaving_messages_;
    if (afoot_.counted()) afoot_.left(leaving_, leaving_messages_);
    if (leaving_ < high_) {
        for (std::uint64_t at = leaving_; at < end; ++at) unmark_lost(at);
    } else {
        high_ = end;
        high_number_ = circle_.advance(high_number_, leaving_messages_);
    }
    cursor_ = end;
    for (std::uint64_t at = leaving_; at < end; ++at) round_sent_[round_place(at)] = round_;
}

bool SendWindow::lies_in_chunk(std::uint64_t position) const {
    for (std::size_t i = 0; i < saved_.size() && saved_[i].position < position; ++i) {
        if (saved_[i].position + saved_[i].span > position) return true;
    }
    return false;
}

void SendWindow::drop_front() {
    const Saved& message = saved_.front();
    const std::uint64_t end = message.position + message.span;
    // A resend under way jumps over what was dropped (AM-36).
    for (std::uint64_t at = una_; lost_count_ > 0 && at < end; ++at) unmark_lost(at);
    afoot_.arrived(una_, end);
    una_number_ = circle_.advance(una_number_, end - una_);
    una_ = end;
    cursor_ = std::max(cursor_, una_);
    if (message.kind != Kind::chunk) bytes_.free_up_to(message.copy);
    if (is_watched(message)) --watched_;
    if (carries_bytes(message)) --carrying_;
    if (unsent_message_ > 0) --unsent_message_;
    saved_.pop();
}

// All of them short, each one packet, and nobody waits for their end.
void SendWindow::drop_plain(std::uint64_t position) {
    const auto count = static_cast<std::size_t>(position - una_);
    for (std::size_t i = count; i-- > 0;) {
        if (saved_[i].copy.size == 0) continue;
        bytes_.free_up_to(saved_[i].copy);
        break;
    }
    afoot_.arrived(una_, position);
    una_number_ = circle_.advance(una_number_, count);
    una_ = position;
    cursor_ = std::max(cursor_, una_);
    unsent_message_ -= std::min(unsent_message_, count);
    saved_.pop(count);
}

bool SendWindow::on_nack(const Missing& missing) {
    if (una_ == high_) return false;
    return recovery_ == Recovery::go_back_n ? missing.round == round_ && go_back()
                                            : mark_missing(missing);
}

// Everything again, in a new round; NACKs that the old one draws yet change nothing.
bool SendWindow::go_back() {
    ++round_;
    cursor_ = una_;
    for (std::uint64_t at = una_; at < high_; ++at) mark_lost(at);
    return true;
}

// Whether the packet had left for the last time when the one that drew the NACK did. Rounds are
// known modulo 256; what is older than that waits for a keep-alive.
bool SendWindow::left_before(std::uint64_t position, const Missing& missing,
                             std::uint64_t end) const {
    const auto sent = static_cast<std::uint8_t>(round_ - round_sent_[round_place(position)]);
    const auto drew = static_cast<std::uint8_t>(round_ - missing.round);
    return sent > drew || (sent == drew && position < end);
}

bool SendWindow::mark_missing(const Missing& missing) {
    const std::uint64_t reach = std::min<std::uint64_t>(high_, una_ + missing.reach);
    const std::uint64_t end = una_ + missing.end;
    const std::uint64_t bits = missing.map.size() * 8;
    bool any = false;
    for (std::uint64_t at = una_; at < reach; ++at) {
        const std::uint64_t i = at - una_;
        if (i < bits && ((std::to_integer<unsigned>(missing.map[i / 8]) >> (i % 8)) & 1) != 0) {
            marked_ = true;
            there_.set(at);
            unmark_lost(at);
            afoot_.arrived(at);
        } else if (!there_.test(at) && !lost_.test(at) && left_before(at, missing, end)) {
            mark_lost(at);
            any = true;
        }
    }
    return any;
}

void SendWindow::count_afoot() {
    afoot_.begin_counting();
    for (std::uint64_t at = una_; at < high_; ++at) {
        if (!lost_.test(at) && !there_.test(at)) afoot_.left(at, 1);
    }
}

void SendWindow::reset() {
    una_ = high_ = next_ = cursor_ = leaving_ = 0;
    leaving_messages_ = 1;
    una_number_ = high_number_ = first_;
    watched_ = carrying_ = 0;
    marked_ = false;
    round_ = 0;
    lost_count_ = 0;
    unsent_message_ = 0;
    saved_.clear();
    bytes_.clear();
    afoot_.clear();
    lost_.clear_all();
    there_.clear_all();
}

void SendWindow::fingerprint(Instant now, Fingerprint& sink) const {
    // Frames on their way carry numbers and rounds, so those of una_ and of now are part of the
    // state.
    sink.add(una_number_.value());
    sink.add(high_ - una_);
    sink.add(next_ - una_);
    sink.add(cursor_ - una_);
    sink.add(round_);
    for (std::size_t i = 0; i < saved_.size(); ++i) {
        const Saved& message = saved_[i];
        sink.add(message.kind);
        sink.add(message.in_place);
        if (message.in_place) {
            sink.add(message.owner);
            sink.add(message.count);
        }
        sink.add(message.span);
        sink.add(message.id);
        sink.add(message.offset);
        if (message.kind == Kind::chunk) {
            sink.add(message.size);
        } else {
            sink.add_bytes(bytes_.view(message.copy));
        }
    }
    for (std::uint64_t at = una_; at < high_; ++at) {
        sink.add(lost_.test(at));
        if (recovery_ == Recovery::go_back_n) continue;
        sink.add(there_.test(at));
        sink.add(round_sent_[round_place(at)]);
    }
    afoot_.fingerprint(now, una_, sink);
}

}  // namespace wireproof::am
