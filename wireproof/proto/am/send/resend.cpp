// Resends after a NACK.
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

}  // namespace wireproof::am
