// All that the sending end of one channel has: what is kept until it is acknowledged, the transfers
// that chunks are cut from, how long an answer takes, how much may be under way, and when the peer
// is to be asked. Connection says what of it leaves, and applies what comes back.
#pragma once

#include <cstdint>
#include <vector>

#include "wireproof/core/congestion_window.hpp"
#include "wireproof/core/rtt_estimator.hpp"
#include "wireproof/proto/am/fast/short_header.hpp"
#include "wireproof/proto/am/send/bulk_sender.hpp"
#include "wireproof/proto/am/send/long_packets.hpp"
#include "wireproof/proto/am/send/resend_backoff.hpp"
#include "wireproof/proto/am/send/send_window.hpp"

namespace wireproof::am {

class SendChannel {
public:
    /// Its memory, which it needs while something is under way.
    struct Buffers {
        Buffers(const Config& config, Channel channel);
        SendWindow::Buffers window;
        std::vector<BulkSender::Transfer> bulk;
    };

    SendChannel(const Config& config, Channel channel, Buffers buffers);

    SendWindow window;
    ShortAddresses addresses;     // of what leaves
    Duration keepalive_interval;  // to the next question
    bool keepalive_due = false;   // that question is to leave
    RttEstimator rtt;             // of our packets and their acknowledgements
    BulkSender bulk;              // request channel: stores; reply channel: gets that we serve
    ResendBackoff backoff;

    /// So long after the last packet left or was acknowledged the peer is asked.
    Duration rto() const { return rtt.limit(); }

    // How much may be under way (send_channel.cpp).

    /// What was heard of the packets under way decides how many may be. `overran`: so many were too
    /// many for the peer's host.
    void steer(Instant now, std::uint32_t overran = 0) {
        if (overran > 0 || window.in_flight().steered()) steer_counted(now, overran);
    }
    /// A NACK came that was drawn by what left at that distance from the number it expects.
    void on_answer(Instant now, std::uint32_t distance, std::uint32_t overran);
    /// A timer ran out, the peer was silent for so long, and so many questions are unanswered.
    void on_silence(Instant now, std::uint32_t unanswered, Duration silence);
    /// Once the packet that the peer misses is another, or none, nothing is held for it.
    void follow_missing();
    /// A transfer begins; its first long packet is, or will be, the one at that position.
    void begin_long(std::uint64_t first);
    /// Nobody knows yet whether the path carries packets as long as those under way.
    bool tries_long() const { return long_.under_way; }

    /// Nothing lies in the buffers. A transfer has chunks in the window as long as it is under way.
    bool at_rest() const { return window.empty(); }
    /// While at_rest().
    void exchange(Buffers& buffers) {
        window.exchange(buffers.window);
        bulk.exchange(buffers.bulk);
    }

    /// A new session.
    void reset();
    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    void steer_counted(Instant now, std::uint32_t overran);
    bool allow_packets();
    void forget_path();

    std::uint32_t all_;           // packets of the window
    std::uint32_t first_flight_;  // so many of a path that is not known; all of them: no limit
    bool controlled_;             // Config::congestion
    CongestionWindow congestion_;
    LongPackets long_;
};

}  // namespace wireproof::am
