// The unacknowledged packets of one direction of one channel, and which of them leaves next.
// Positions count packets of the session without wrapping; numbers on the wire are positions on the
// circle.
//
//      una ≤ high ≤ next          [una, high) has left, [high, next) has not
//
// Packets of one resend round leave in rising order: to go back is to begin a new round. So a
// packet that arrives proves lost whatever left before it and is not there, and no timer is needed
// to tell.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/base/ring.hpp"
#include "wireproof/base/seq_num.hpp"
#include "wireproof/proto/am/bit_window.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/save_bytes.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

struct PacketTag;
using Number = SeqNum<PacketTag>;

class SendWindow {
public:
    /// A message of `span` packets that waits for its acknowledgement.
    struct Saved {
        std::uint64_t position = 0;
        std::uint32_t span = 1;
        Kind kind = Kind::request;
        std::uint32_t id = 0;     // handler or transfer, as on the wire
        std::uint32_t owner = 0;  // whose transfer: place in the table of stores, gets or get slots
        std::uint16_t count = 0;
        SaveBytes::Place copy;     // of a short message
        ConstBytes lent;           // of a chunk: the user's memory
        std::uint64_t offset = 0;  // of a chunk in its transfer
    };

    /// The packet that leaves next.
    struct Departure {
        const Saved* message = nullptr;
        std::uint32_t number = 0;
        std::uint64_t offset = 0;
        ConstBytes data;
        bool resent = false;
    };

    /// What a NACK names besides the number expected, from which the distances count.
    struct Missing {
        std::uint8_t round = 0;   // of the packet that drew it
        std::uint32_t end = 0;    // distance of that packet (selective, as all that follows)
        std::uint32_t reach = 0;  // how far the map speaks
        ConstBytes map = {};      // bit i set: the packet at distance i is there; no bit: it is not
    };

    SendWindow(const Config& config, Channel channel);

    std::uint32_t room() const { return window_ - static_cast<std::uint32_t>(next_ - una_); }
    bool empty() const { return una_ == next_; }
    /// Everything has left and nothing waits to be resent.
    bool settled() const { return lost_count_ == 0 && high_ == next_; }
    /// The number of the first packet that has not left.
    std::uint32_t first_unsent() const { return circle_.advance(first_, high_).value(); }
    std::uint8_t round() const { return round_; }
    std::uint32_t in_flight() const { return static_cast<std::uint32_t>(next_ - una_); }

    /// Saves a short message under the next number. False: the window or the save queue is full.
    [[nodiscard]] bool push(Kind kind, std::uint32_t id, std::uint16_t count, ConstBytes data,
                            std::uint32_t owner = 0);

    /// Saves a chunk; `data` is lent until it is acknowledged. There must be room for `packets`.
    void push_chunk(std::uint32_t id, std::uint32_t owner, ConstBytes data, std::uint64_t offset,
                    std::uint32_t packets);

    std::optional<Departure> next_departure();
    void departed();

    /// Frees what `expected` acknowledges and hands each message to `done`. False, and no effect: a
    /// number that is stale, was never sent, or lies inside a chunk (AM-37).
    template <class Done>
    bool on_ack(std::uint32_t expected, Done&& done) {
        const auto position = acknowledged_position(expected);
        if (!position) return false;
        while (!saved_.empty() && saved_.front().position < *position) {
            const Saved message = saved_.front();
            drop_front();
            done(message);
        }
        return true;
    }

    /// After on_ack of the same number. True: packets will be resent that were not going to be.
    /// Many NACKs drawn by one gap resend it once (AM-38).
    bool on_nack(const Missing& missing);

    const Ring<Saved>& saved() const { return saved_; }
    ConstBytes data_of(const Saved& message) const {
        return message.kind == Kind::chunk ? message.lent : bytes_.view(message.copy);
    }

    /// Forgets everything: a new session.
    void reset();
    void fingerprint(Fingerprint& sink) const;

private:
    std::optional<std::uint64_t> acknowledged_position(std::uint32_t expected) const;
    void drop_front();
    Saved& append(Kind kind, std::uint32_t id, std::uint32_t owner, std::uint32_t span);
    void mark_lost(std::uint64_t position);
    void unmark_lost(std::uint64_t position);
    std::uint64_t next_lost();
    const Saved& message_at(std::uint64_t position);
    bool left_before(std::uint64_t position, const Missing& missing, std::uint64_t end) const;
    bool go_back();
    bool mark_missing(const Missing& missing);

    Circle circle_;
    Number first_;
    std::uint32_t window_;
    std::size_t data_max_;
    Recovery recovery_;

    std::uint64_t una_ = 0;
    std::uint64_t high_ = 0;
    std::uint64_t next_ = 0;
    std::uint64_t cursor_ = 0;   // behind the packet that left last
    std::uint64_t leaving_ = 0;  // the packet that next_departure named
    std::uint8_t round_ = 0;
    std::uint32_t lost_count_ = 0;
    std::size_t unsent_message_ = 0;  // index in saved_ of the message that high_ stands in
    Ring<Saved> saved_;
    SaveBytes bytes_;
    BitWindow lost_;                        // to be resent
    BitWindow there_;                       // NACKs said that they arrived (selective)
    std::vector<std::uint8_t> round_sent_;  // at position mod window: its last one (selective)
};

}  // namespace wireproof::am
