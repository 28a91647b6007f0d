// The engine of a HIPPI-6400 link between two ends. It cuts messages on four virtual channels into
// micropackets of 32 bytes. The sender keeps these until they are acknowledged. The same number
// twice from the receiver means "resend". Credits keep a channel from overrunning its buffers.
//
// Rules and states: README.md. All memory is allocated at construction. Only one thread may use a
// Link at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/core/link_deliveries.hpp"
#include "wireproof/proto/hippi/config.hpp"
#include "wireproof/proto/hippi/credits.hpp"
#include "wireproof/proto/hippi/incoming_channel.hpp"
#include "wireproof/proto/hippi/outgoing_channel.hpp"
#include "wireproof/proto/hippi/receive_sequence.hpp"
#include "wireproof/proto/hippi/retransmit_buffer.hpp"
#include "wireproof/proto/hippi/start_up.hpp"

namespace wireproof::hippi {

/// Counters since construction. They do not influence the engine.
struct Stats : LinkStats {
    std::uint64_t nulls = 0;  // this and the next five count what was sent
    std::uint64_t status_nulls = 0;
    std::uint64_t credit_units = 0;
    std::uint64_t inits = 0;
    std::uint64_t resets_asked = 0;        // RESET
    std::uint64_t start_answers = 0;       // INIT-ACK, RESET-ACK
    std::uint64_t notices_guarded = 0;     // second copies of a notice, ignored
    std::uint64_t protocol_errors = 0;     // numbers, credits or messages that break the rules
    std::uint64_t ecrc_errors = 0;         // messages with a wrong ECRC
    std::uint64_t messages_discarded = 0;  // messages that arrived marked as bad
    std::uint64_t admin_units = 0;         // received; they carry nothing for this engine

    friend bool operator==(const Stats&, const Stats&) = default;
};

/// HIPPI-27: within a life of the link, each message arrives once, in the order of its channel.
class Link {
public:
    using Delivery = LinkDelivery;

    explicit Link(const Config& config);

    /// Sends on channel 0, or on one of the four channels.
    [[nodiscard]] SubmitStatus submit(ConstBytes message) { return submit(0, message); }
    [[nodiscard]] SubmitStatus submit(std::uint8_t channel, ConstBytes message);
    std::size_t message_max() const { return config_.message_max; }
    bool has_room() const { return has_room(0); }
    bool has_room(std::uint8_t channel) const { return !outgoing_[channel].full(); }
    /// The channel of the message that arrived last.
    std::uint8_t delivered_channel() const { return delivered_channel_; }

    // The calls of an engine (core/engine.hpp). Frames are refused until all deliveries are taken.
    RxVerdict on_frame(Instant now, const RxFrame& frame);
    std::optional<Delivery> next_delivery();
    void on_deadline(Instant now);
    void on_wire_event(Instant now, WireEvent event);
    bool poll_transmit(Instant now, TxFrame& out);
    Instant next_deadline() const;
    void fingerprint(Instant now, Fingerprint& sink) const;

    bool running() const { return start_up_.running(); }
    std::size_t outstanding() const { return sent_.outstanding(); }
    std::uint32_t retries() const { return sent_.retries(); }
    const Credits& credits() const { return credits_; }
    const Config& config() const { return config_; }
    const Stats& stats() const { return stats_; }
    Unanswered unanswered() const { return sent_.unanswered(); }

private:
    struct Parts;

    RxVerdict judge(Instant now, const RxFrame& frame);
    RxVerdict on_start_frame(const Control& control, const Parts& parts);
    RxVerdict on_null(Instant now, const Control& control);
    RxVerdict on_numbered(Instant now, const Control& control, const Parts& parts);
    RxVerdict on_message_unit(const Control& control, const Parts& parts);
    bool apply_rseq(Instant now, const Control& control);
    RxVerdict break_off(RxVerdict verdict);

    void end_life(StartUp::State next);
    void forget_life();

    void send_start(const StartUp::Departure& departure, TxFrame& out);
    void send_null(Type type, TxFrame& out);
    void send_unit(const Unit& unit, TxFrame& out);
    std::optional<Unit> next_new_unit();
    void finish(TxFrame& out, ConstBytes data, const Control& control);

    Config config_;
    StartUp start_up_;
    RetransmitBuffer sent_;
    ReceiveSequence received_;
    Credits credits_;
    std::vector<OutgoingChannel> outgoing_;
    std::vector<IncomingChannel> incoming_;
    std::uint8_t turn_ = 0;      // the channel whose turn it is
    LinkDeliveries deliveries_;  // without bytes: a copied engine delivers its own
    std::uint8_t delivered_channel_ = 0;
    Stats stats_;
};

static_assert(LinkEngine<Link>);

}  // namespace wireproof::hippi
