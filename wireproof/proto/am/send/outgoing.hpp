// The sending end of one channel: messages kept until they are acknowledged, transfers that are cut
// into chunks, the round trip time, the limit of packets in flight, and the time of the next
// question.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wireproof/core/congestion/control.hpp"
#include "wireproof/core/rtt_estimator.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/header_words.hpp"
#include "wireproof/proto/am/send/bulk_sender.hpp"
#include "wireproof/proto/am/send/long_packets.hpp"
#include "wireproof/proto/am/send/resend_backoff.hpp"
#include "wireproof/proto/am/send/send_window.hpp"

namespace wireproof::am {

class Outgoing {
public:
    /// The memory that a channel needs while messages or transfers are active.
    struct Buffers {
        Buffers(const Config& config, Channel channel);
        SendWindow::Buffers window;
        std::vector<BulkSender::Transfer> bulk;
    };

    Outgoing(const Config& config, Channel channel, Buffers buffers);

    Channel channel() const { return channel_; }

    SendWindow window;
    Flows flows;                  // of the packets that leave
    Duration keepalive_interval;  // until the next question
    bool keepalive_due = false;   // a question is to leave
    RttEstimator rtt;             // from packets of this end to their acknowledgements
    BulkSender bulk;  // request channel: stores; reply channel: gets that this end serves
    ResendBackoff backoff;

    /// How long after the last departure or acknowledgement the sender asks the peer.
    Duration rto() const {
        if (!controlled_) return rtt.limit();
        return std::max(rtt.limit(), std::min(congestion_.rtt() * 2, longest_rto_));
    }

    /// Acknowledgements have freed so many packets.
    [[gnu::always_inline]] void freed(Instant now, std::uint32_t packets) {
        rtt.freed(now, packets);
        steer(now);
        keepalive_interval = rto();
        keepalive_due = false;
    }

    // NACKs (resend.cpp).

    struct Resend {
        bool any = false;  // a packet leaves again
        std::optional<SessionEnded> gives_up = {};
    };
    /// Resends the packets that the peer misses. If the same packet is missing each time, the
    /// sender waits longer before each resend, and finally gives up. `progress`: the NACK has
    /// acknowledged something.
    Resend resend_missing(Instant now, const Header& nack, const SendWindow::Missing& missing,
                          bool progress);

    // How many packets may be in flight (outgoing.cpp).

    /// Adapts the limit to what the peer has said about packets in flight. `overran`: this many
    /// were too many for the peer's host; 0: its host had room.
    void steer(Instant now, std::uint32_t overran = 0) {
        if (overran > 0 || window.in_flight().steered()) steer_counted(now, overran);
    }
    /// AM-54: the peer has told how many packets reached it with a mark. Returns how many of them
    /// are new. Call it before on_answer().
    std::uint32_t take_marks(std::uint32_t told);
    /// A NACK arrived. Its cause left at this distance from the number that the NACK expects.
    void on_answer(Instant now, std::uint32_t distance, std::uint32_t overran);
    /// A timer has expired; the peer has been silent for `silence`.
    void on_silence(Instant now, std::uint32_t unanswered, Duration silence);
    /// Packets have left. Returns when refill() is due; never: more may leave.
    Instant next_refill(Instant now) {
        return controlled_ ? window.in_flight().next_refill(now) : never;
    }
    void refill(Instant now) { window.in_flight().refill(now); }
    /// If the peer misses another packet now, or none, new packets may leave again.
    void follow_missing();
    /// A transfer begins. Its first long packet has, or will have, this position.
    void begin_long(std::uint64_t first);
    /// Long packets are in flight, and it is not known whether the path carries them.
    bool tries_long() const { return long_.under_way; }

    /// The buffers hold nothing: an active transfer always has chunks in the window.
    bool at_rest() const { return window.empty(); }
    /// Only while at_rest().
    void exchange(Buffers& buffers) {
        window.exchange(buffers.window);
        bulk.exchange(buffers.bulk);
    }

    /// For a new session.
    void reset();
    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    void steer_counted(Instant now, std::uint32_t overran);
    bool allow_packets();
    void forget_path();

    Channel channel_;
    Recovery recovery_;
    std::uint32_t all_;           // packets of the window
    std::uint32_t first_flight_;  // limit while the path is not known; equal to all_: no limit
    Duration longest_rto_;
    bool controlled_;  // Config::congestion
    congestion::Algorithm algorithm_;
    congestion::Control congestion_;
    std::uint32_t marks_told_ = 0;  // modulo nack_marks_modulus
    std::uint32_t new_marks_ = 0;   // since the last steer()
    LongPackets long_;
};

}  // namespace wireproof::am
