// The packets that have arrived in one direction of one channel, and what the receiver owes for
// them. This is state and not a queue: at most one NACK and one ACK wait to leave, however much
// arrived (AM-39).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/base/lazy_bytes.hpp"
#include "wireproof/base/seq_num.hpp"
#include "wireproof/proto/am/arrival.hpp"
#include "wireproof/proto/am/bit_window.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/send/send_window.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

class ReceiveWindow {
public:
    enum class Place : std::uint8_t { expected, ahead, behind, stale };

    struct Placement {
        Place place = Place::stale;
        std::uint32_t distance = 0;  // packets from the expected one, if not behind
    };

    /// What is known of a message of which packets have arrived, but which was not passed yet.
    struct Message {
        Kind kind = Kind::ack;  // `ack`: nothing is known
        std::uint32_t span = 0;
        std::uint32_t arrived = 0;  // packets
        std::uint32_t id = 0;
        std::uint64_t base = 0;  // of a chunk: its place in the transfer
        std::uint32_t slot = 0;  // of a short message that is held
        std::size_t size = 0;
        bool in_place = false;  // an OPEN without chunks
        bool awaited = false;   // the sender of this OPEN waits for the acknowledgement

        bool known() const { return kind != Kind::ack; }
        bool complete() const { return known() && arrived == span; }
        // Field by field: a blank copy would be written first, and its reading would wait for that.
        void forget() {
            kind = Kind::ack;
            span = arrived = id = slot = 0;
            base = size = 0;
            in_place = awaited = false;
        }
    };

    /// A NACK that waits to leave. `round` is that of the packet that caused it. A packet that left
    /// before `end` in that round, or in an earlier one, has arrived or is lost.
    struct PendingNack {
        std::uint8_t round = 0;
        std::uint64_t end = 0;  // position
        bool demanded = false;  // by a KEEPALIVE: leaves even if no packet is missing
    };

    /// A CHUNK packet that arrived before the OPEN that says where its bytes go.
    struct Early {
        bool kept = false;
        std::uint64_t message = 0;  // position of the first packet of its chunk
        std::uint32_t slot = 0;
        std::size_t size = 0;
        std::uint32_t id = 0;
        std::uint16_t count = 0;
        std::uint8_t round = 0;
        std::uint64_t offset = 0;
    };

    /// The memory for messages of which packets have arrived. A window in which nothing is ahead
    /// does not need it.
    struct Buffers {
        /// For a window of this many packets; 0: for none.
        Buffers(const Config& config, std::uint32_t window);

        BitWindow arrived;
        std::vector<Message> messages;
        std::vector<Early> early;
        LazyBytes held;
        std::vector<std::uint32_t> free_small;
        std::vector<std::uint32_t> free_large;
    };

    ReceiveWindow(const Config& config, Channel channel)
        : ReceiveWindow(config, channel, Buffers(config, config.window_of(channel))) {}
    ReceiveWindow(const Config& config, Channel channel, Buffers buffers);
    /// The buffers hold nothing.
    bool holds_nothing() const { return nothing_ahead() && early_count_ == 0; }
    /// Only while holds_nothing(). The buffers that it gives back hold nothing.
    void exchange(Buffers& buffers);

    /// Packets of this round arrived, up to this distance, and there are no buffers for them. Once
    /// there are buffers, the receiver asks the sender for them.
    void put_off(std::uint8_t round, std::uint32_t distance);
    bool puts_off() const { return put_off_.has_value(); }
    void ask_for_put_off();

    std::uint32_t expected() const { return expected_number_.value(); }
    /// The next number; a number that is not on the circle stays the same.
    std::uint32_t number_after(std::uint32_t number) const {
        return circle_.holds(number) ? circle_.advance(Number(number), 1).value() : number;
    }
    /// Nothing has arrived of the expected message, or of any after it.
    bool nothing_ahead() const { return highest_ == expected_; }
    Placement placement_of(std::uint32_t number) const;

    /// A distance counts packets from the expected packet to this packet, or to the first of this
    /// message.
    bool has(std::uint32_t distance) const { return arrived_.test(expected_ + distance); }
    Message& message(std::uint32_t distance) { return messages_[place_of(distance)]; }
    const Message& message(std::uint32_t distance) const { return messages_[place_of(distance)]; }
    void mark(std::uint32_t distance);
    std::uint32_t window() const { return window_; }

    /// Keeps body and payload of a short message that arrived ahead. False: no slot is free.
    [[nodiscard]] bool hold(Message& message, const Body& body, ConstBytes payload);
    ConstBytes held(const Message& message) const;
    void free_slot(std::uint32_t slot);

    /// The expected message is complete: passes it and owes an acknowledgement for it.
    void pass();
    /// Exactly the first `packets` packets of the expected message have arrived, and nothing after
    /// them.
    bool begun_in_order(std::uint32_t packets) const { return highest_ == expected_ + packets; }
    /// The expected message is a short one and has arrived; nothing after it has.
    void pass_short() {
        expected_number_ = circle_.advance(expected_number_, 1);
        highest_ = ++expected_;
        ++owed_;
    }

    void owe_ack() { ack_due_ = true; }
    /// Packets passed since the last packet with acks left.
    std::uint32_t owed() const { return owed_; }
    bool ack_due() const { return ack_due_ || owed_ >= mark_; }
    /// A packet with the current acks has left, so that no ACK is needed (AM-13).
    void acknowledged() {
        owed_ = 0;
        ack_due_ = false;
    }

    /// Keeps an early packet, number `place` of the chunk at `distance`. False: no slot is free.
    [[nodiscard]] bool keep_early(std::uint32_t distance, std::uint32_t place, const Early& packet,
                                  ConstBytes data);
    /// The next early packet of the expected message. The caller frees its slot.
    std::optional<Early> take_early(std::uint32_t chunk_packets);
    ConstBytes data_of(const Early& packet) const {
        return held_.bytes().subspan(slot_begin(packet.slot), packet.size);
    }

    /// `distance` is that of the packet that caused the NACK.
    void owe_nack(std::uint8_t round, std::uint32_t distance, bool demanded);
    /// The distance of the number in a KEEPALIVE: packets up to it have left.
    std::uint32_t distance_sent(std::uint32_t number) const;
    bool nack_due() const { return pending_nack_.has_value(); }
    /// The NACK to send; nothing if it would say nothing new.
    const std::optional<PendingNack>& pending_nack();
    void nack_left();
    /// The rest of a selective NACK: the length of the map in bytes, and the map of what has
    /// arrived.
    std::size_t map_bytes() const;
    void write_map(Bytes map) const;
    std::uint32_t nack_end() const {
        return pending_nack_->end > expected_
                   ? static_cast<std::uint32_t>(pending_nack_->end - expected_)
                   : 0;
    }

    void reset();
    void fingerprint(Fingerprint& sink) const;

private:
    static constexpr std::size_t small_size = 64;
    std::size_t place_of(std::uint64_t distance) const {
        return static_cast<std::size_t>((expected_ + distance) & (messages_.size() - 1));
    }
    static std::size_t held_bytes(const Config& config, std::uint32_t window);
    std::size_t slot_begin(std::uint32_t slot) const;
    void forget_arrived();
    std::optional<std::uint32_t> fill_slot(const Body& body, ConstBytes payload);
    bool says_something_new() const;

    Circle circle_;
    Number first_;
    std::uint32_t window_;
    std::uint32_t mark_;  // a quarter of the window: then an ACK leaves (AM-14)
    Recovery recovery_;
    std::size_t large_size_;

    std::uint64_t expected_ = 0;
    Number expected_number_;     // the same on the circle
    std::uint64_t highest_ = 0;  // end of the furthest packet that arrived
    std::uint32_t owed_ = 0;
    bool ack_due_ = false;
    std::optional<PendingNack> pending_nack_;
    std::optional<PendingNack> told_;  // the NACK that left last
    std::uint32_t untold_ = 0;         // causes of a NACK since then that said nothing new
    std::optional<PendingNack> put_off_;
    bool marked_ = false;  // packets arrived ahead or in part since exchange()
    BitWindow arrived_;
    std::vector<Message> messages_;  // at position modulo their number, a power of two
    std::vector<Early> early_;       // likewise; only in selective recovery
    std::uint32_t early_count_ = 0;
    // Small and large slots for packets that are held. Their memory is used only from the first one
    // on.
    std::uint32_t small_slots_;
    std::uint32_t large_slots_;
    LazyBytes held_;
    std::vector<std::uint32_t> free_small_;
    std::vector<std::uint32_t> free_large_;  // numbered after the small ones
};

}  // namespace wireproof::am
