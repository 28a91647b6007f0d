// The unacknowledged packets of one direction of one channel, and which of them leaves next.
// Positions count the packets of a session and do not wrap. The numbers on the wire are positions
// on the circle.
//
//      una ≤ high ≤ next          [una, high) has left, [high, next) has not
//
// In one resend round, packets leave in rising order; to go back, the sender begins a new round. So
// when a packet arrives, every missing packet that left before it is lost. No timer is needed to
// find this out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/base/ring.hpp"
#include "wireproof/base/seq_num.hpp"
#include "wireproof/proto/am/bit_window.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/send/packets_in_flight.hpp"
#include "wireproof/proto/am/send/save_bytes.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

struct PacketTag;
using Number = SeqNum<PacketTag>;

class SendWindow {
public:
    /// A message of `span` packets that waits for its acknowledgement. Or a row of `span` short
    /// messages, of one packet each: they follow one another in the save queue and differ only in
    /// their arguments.
    struct Saved {
        std::uint64_t position = 0;
        std::uint32_t span = 1;
        std::uint32_t id = 0;     // handler or transfer, as on the wire
        std::uint32_t owner = 0;  // place of its transfer in the table of stores, gets or get slots
        std::uint16_t count = 0;
        Kind kind = Kind::request;
        bool in_place = false;            // OPEN of a note; `owner` is then the Reason of its end
        SaveBytes::Place copy;            // of a short message or a row
        const std::byte* lent = nullptr;  // of a chunk: the user's memory
        std::size_t size = 0;             // of a chunk, in bytes
        std::uint64_t offset = 0;         // chunk: place in its transfer; note: its tag
    };
    static_assert(sizeof(Saved) <= 64, "a window of 1,024 takes 64 KiB");

    /// Short messages that leave in one packet: their entries in the save queue.
    struct Bundle {
        std::uint32_t messages = 1;
        ConstBytes entries;
    };

    /// The packet that leaves next.
    struct Departure {
        const Saved* message = nullptr;
        std::uint32_t number = 0;
        std::uint64_t offset = 0;
        ConstBytes data;  // if there are several messages: their entries
        std::uint32_t messages = 1;
        bool resent = false;
    };

    /// What a NACK says besides the expected number. Distances count from that number.
    struct Missing {
        std::uint8_t round = 0;   // of the packet that caused the NACK
        std::uint32_t end = 0;    // distance of that packet (this and the following: selective)
        std::uint32_t reach = 0;  // the map covers distances below it
        ConstBytes map = {};      // bit i: the packet at distance i has arrived; no bit: it has not
    };

    /// The memory for saved messages. A window with no saved message does not need it.
    struct Buffers {
        /// For a window of this many packets and bytes; 0: for none.
        Buffers(std::uint32_t window, std::size_t save_bytes);

        Ring<Saved> saved;
        SaveBytes bytes;
        BitWindow in_flight;
        BitWindow lost;
        BitWindow there;
        std::vector<std::uint8_t> round_sent;
    };

    SendWindow(const Config& config, Channel channel)
        : SendWindow(config, channel, Buffers(config.window_of(channel), config.save_bytes)) {}
    SendWindow(const Config& config, Channel channel, Buffers buffers);
    /// Only while nothing is saved. The buffers that it gives back hold nothing.
    void exchange(Buffers& buffers);

    /// AM-6: at most a window of packets is unacknowledged.
    std::uint32_t room() const { return window_ - static_cast<std::uint32_t>(next_ - una_); }
    bool empty() const { return una_ == next_; }
    /// Some note with bytes waits or is unacknowledged.
    bool carries_bytes() const { return carrying_ > 0; }
    /// Whether there is room for a short message of this many bytes.
    bool takes(std::size_t size) const { return room() > 0 && bytes_.takes(size); }
    /// If true, push() has room for a message of this many bytes. It may be false although there is
    /// room.
    bool takes_with_ease(std::size_t size) const {
        return room() > 0 && bytes_.takes_with_ease(BundleEntry::size + size);
    }
    /// Everything has left and nothing waits to be resent.
    bool settled() const { return lost_count_ == 0 && high_ == next_; }
    /// A packet may leave, unless a question must leave first.
    bool may_leave() const {
        return lost_count_ > 0 ? !in_flight_.full() : high_ != next_ && !in_flight_.closed();
    }
    /// Nothing may leave now, and no question is due.
    bool at_rest() const { return !may_leave() && !in_flight_.wants_answer(); }
    PacketsInFlight& in_flight() { return in_flight_; }
    const PacketsInFlight& in_flight() const { return in_flight_; }
    /// Counts packets in flight from now on, including those that have left; `seldom` as in
    /// PacketsInFlight::begin_counting().
    void count_in_flight(bool seldom = false);
    /// A question leaves: what has arrived of all that has left?
    void asked(Instant now) {
        if (in_flight_.counted()) in_flight_.asked(now, cursor_);
    }
    /// See PacketsInFlight::ask_again().
    void ask_again() { in_flight_.ask_again(cursor_); }
    /// The number that a question carries. It asks for the packets before this number. Those after
    /// it may still have to leave again in this round.
    std::uint32_t behind_latest() const {
        return circle_.advance(una_number_, cursor_ - una_).value();
    }
    /// A NACK arrived; its cause was a packet or question at that distance. Returns the round trip
    /// time if the NACK measures one.
    std::optional<Duration> answered(Instant now, std::uint32_t distance) {
        return in_flight_.answered(now, una_ + distance);
    }
    /// The number of the first packet that has not left.
    std::uint32_t first_unsent() const { return high_number_.value(); }
    /// The number of an acknowledgement that says nothing new.
    std::uint32_t first_unacknowledged() const { return una_number_.value(); }
    std::uint8_t round() const { return round_; }
    bool nothing_lost() const { return lost_count_ == 0; }
    /// A message waits, and the one before it has left and has an answer that comes at once or
    /// soon: a get, a short store, or a store of which everything has left.
    bool waits_for_answer() {
        if (high_ == una_ || high_ == next_) return false;
        const Saved& next = first_unsent_message();
        return next.position == high_ && is_answered(saved_[unsent_message_ - 1]);
    }
    /// The positions of the first unacknowledged packet and of the next packet to be saved.
    std::uint64_t una() const { return una_; }
    std::uint64_t next() const { return next_; }
    /// Packets that have not left.
    std::uint32_t waiting() const { return static_cast<std::uint32_t>(next_ - high_); }
    /// Packets that have left and are not acknowledged.
    std::uint32_t under_way() const { return static_cast<std::uint32_t>(high_ - una_); }

    /// Saves a short message under the next number. False: the window or the save queue is full.
    [[nodiscard]] bool push(Kind kind, std::uint32_t id, ConstBytes data, std::uint32_t owner = 0);
    /// The same, inline, for a caller that knows the kind.
    [[nodiscard]] inline bool push_here(Kind kind, std::uint32_t id, ConstBytes data,
                                        std::uint32_t owner = 0);
    /// Saves a store's OPEN with the store's first bytes. False: as above.
    [[nodiscard]] bool push_open(std::uint32_t transfer, const OpenBody& body, ConstBytes begin);
    /// Saves the OPEN of a note, and its bytes if they are not in place already. `awaited`: the
    /// caller waits for its end; always true for a note with bytes. False: as above.
    [[nodiscard]] bool push_note(const OpenBody& body, ConstBytes bytes, std::uint64_t tag,
                                 bool awaited);
    /// The note with that number, if it is not acknowledged yet.
    Saved* note(std::uint32_t number);

    /// Saves a chunk. The window borrows `data` until the chunk is acknowledged. There must be room
    /// for `packets`.
    void push_chunk(std::uint32_t id, std::uint32_t owner, ConstBytes data, std::uint64_t offset,
                    std::uint32_t packets);

    std::optional<Departure> next_departure();
    void departed();

    /// The same for the most frequent case: a request, reply, OPEN of a store or packet of a chunk
    /// that leaves for the first time while nothing is to be resent. Otherwise nullptr.
    const Saved* next_fast() {
        if (lost_count_ > 0 || high_ == next_ || in_flight_.closed() || in_flight_.wants_answer()) {
            return nullptr;
        }
        const Saved& message = first_unsent_message();
        return message.kind <= Kind::open ? &message : nullptr;
    }
    /// The packet of the chunk that leaves next, after next_fast() named this chunk.
    Departure fast_chunk_packet(const Saved& chunk) const;
    /// How many full packets of this chunk may leave now.
    std::size_t full_packets_waiting(const Saved& chunk) const;
    /// No message waits except the one that next_fast() named.
    bool single() const { return high_ + 1 == next_; }
    /// The messages that may leave together with the one that next_fast() named.
    Bundle fast_bundle() const {
        if (bundle_max_ == 0 || high_ + 1 >= next_) return {};
        return bundle_from(unsent_message_, high_, next_);
    }
    void fast_departed(std::uint32_t messages) {
        if (in_flight_.counted()) in_flight_.left(high_, messages);
        note_round(high_, messages);
        high_ += messages;
        high_number_ = circle_.advance(high_number_, messages);
        cursor_ = high_;
    }

    /// AM-12: messages leave the window when they are acknowledged. Frees all that `expected`
    /// acknowledges, and calls `done` for each message whose end the caller awaits: all except
    /// requests, plain replies and notes that are not awaited. False: no effect, because the number
    /// is stale, was never sent or lies inside a chunk (AM-37).
    template <class Done>
    bool on_ack(std::uint32_t expected, Done&& done) {
        if (!circle_.holds(expected)) return false;
        const std::uint64_t position = una_ + circle_.steps_after(Number(expected), una_number_);
        if (position > high_) return false;
        if (watched_ == 0 && lost_count_ == 0) {  // there is no chunk
            if (position == next_) {
                drop_all();
            } else {
                drop_short(position);
            }
            return true;
        }
        if (watched_ > 0 && lies_in_chunk(position)) return false;
        while (!saved_.empty() && saved_.front().position < position) {
            if (end_of(saved_.front()) > position) {  // a row, whose end nobody awaits
                drop_begin(position);
                break;
            }
            const Saved message = saved_.front();
            drop_front();
            if (is_watched(message)) done(message);
        }
        return true;
    }

    /// The message that leaves next, if some has not left and nothing is to be resent.
    const Saved& first_waiting() { return single() ? saved_.back() : first_unsent_message(); }
    /// The caller awaits the end of some message.
    bool is_awaited() const { return watched_ > 0; }
    /// The number acknowledges everything, and the caller awaits the end of no message: the answer
    /// to a single message, or the end of a burst. on_ack() then only needs drop_all().
    bool ends_all(std::uint32_t expected) const {
        return expected == high_number_.value() && settled() && watched_ == 0;
    }
    [[gnu::always_inline]] void drop_all() {
        if (in_flight_.counted()) in_flight_.arrived(una_, next_);
        bytes_.clear();
        saved_.clear();
        una_ = cursor_ = next_;
        una_number_ = high_number_;
        unsent_message_ = 0;
    }

    /// Called after on_ack() with the same number. True: more packets are to be resent than before.
    /// Several NACKs for one gap cause one resend (AM-38).
    bool on_nack(const Missing& missing) {
        (void)note_arrived(missing);
        return note_lost(missing, {});
    }
    // The two halves of on_nack(), in this order. True: the peer has a packet that was not known to
    // have arrived (selective recovery).
    bool note_arrived(const Missing& missing);
    /// Limits what note_lost() may mark for a resend. `without_first`: not the first missing
    /// packet. `most`: another packet only while fewer than this many are marked; in go-back-N at
    /// least all of the first message. A missing packet that is not marked is no longer in flight.
    struct Resendable {
        std::uint32_t most = ~std::uint32_t{0};
        bool without_first = false;
    };
    bool note_lost(const Missing& missing, Resendable resendable);
    /// The position of the first packet that is not known to have arrived; that of first_unsent()
    /// if there is none.
    std::uint64_t first_missing() const;
    /// The packet that next_departure() named last is the first missing one.
    bool left_first_missing() const { return leaving_ == first_missing(); }
    /// The packet waits to be resent.
    bool is_lost(std::uint64_t position) const { return lost_.test(position); }

    const Ring<Saved>& saved() const { return saved_; }
    /// The data of a message; of a row, those of its first message.
    ConstBytes data_of(const Saved& message) const { return data_at(message, message.position); }
    /// The data of the message at this position.
    ConstBytes data_at(const Saved& message, std::uint64_t position) const {
        if (message.kind == Kind::chunk) return {message.lent, message.size};
        return bytes_.view(place_at(message, position)).subspan(entry_size(message.kind));
    }
    /// The handler that a note names.
    HandlerId handler_of_note(const Saved& note) const {
        const auto body = OpenBody::decode(data_of(note).first<OpenBody::size>());
        return static_cast<HandlerId>(body.handler);
    }
    /// The data of the message that next_fast() named.
    ConstBytes data_of_next(const Saved& message) const { return data_at(message, high_); }

    /// The arguments of a request or reply that is single(); of a row, those of its last message.
    ConstBytes single_arguments(const Saved& message) const {
        const std::size_t size = message.count;
        const std::size_t end = message.copy.at + std::size_t{message.copy.size};
        return bytes_.view(end - size, size);
    }

    /// Whether this is a row of several messages.
    static bool is_row(const Saved& message) {
        return message.span > 1 && message.kind <= Kind::reply;
    }

    /// Forgets everything, for a new session.
    void reset();
    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    bool lies_in_chunk(std::uint64_t position) const;
    /// Whether the caller awaits the end of this message.
    static bool is_watched(const Saved& message) {
        if (message.in_place) return message.count != 0;
        return is_watched(message.kind, message.owner);
    }
    static bool is_watched(Kind kind, std::uint32_t owner) {
        return kind != Kind::request && (kind != Kind::reply || owner != 0);
    }
    static bool is_answered(const Saved& message) {
        return message.in_place ? message.count != 0
                                : message.kind == Kind::chunk || message.kind == Kind::get_request;
    }
    static bool carries_bytes(const Saved& message) {
        return message.in_place && message.copy.size > OpenBody::size;
    }
    /// Bytes before the saved arguments: the entry of a bundle.
    std::size_t entry_size(Kind kind) const {
        return bundle_max_ > 0 && kind <= Kind::reply ? BundleEntry::size : 0;
    }
    static bool may_join(const Saved& message) {
        return message.id != 0 && message.kind <= Kind::reply;
    }
    static std::uint64_t end_of(const Saved& message) { return message.position + message.span; }
    /// Bytes in the save queue for each message of a row.
    static std::uint32_t size_in_row(const Saved& row) {
        return static_cast<std::uint32_t>(BundleEntry::size) + row.count;
    }
    /// The place of the message at this position.
    static SaveBytes::Place place_at(const Saved& message, std::uint64_t position) {
        if (!is_row(message)) return message.copy;
        const std::uint32_t each = size_in_row(message);
        const auto place = static_cast<std::uint32_t>(position - message.position);
        return {message.copy.at + place * each, each, 0};
    }
    Bundle bundle_from(std::size_t first, std::uint64_t from, std::uint64_t end) const;
    static std::uint32_t joining(const Saved& row, std::uint64_t from, std::uint64_t end,
                                 std::size_t room);
    void fingerprint_row(const Saved& row, Fingerprint& sink) const;
    void drop_front();
    void drop_begin(std::uint64_t position);
    void pass_unacknowledged(std::uint64_t position);
    void drop_short(std::uint64_t position);
    const Saved& first_unsent_message() {
        while (true) {
            const Saved& message = saved_[unsent_message_];
            if (end_of(message) > high_) return message;
            ++unsent_message_;
        }
    }
    std::size_t round_place(std::uint64_t position) const {
        return static_cast<std::size_t>(position & (round_sent_.size() - 1));
    }
    void note_round(std::uint64_t first, std::uint32_t messages) {
        round_sent_[round_place(first)] = round_;
        if (messages > 1) note_rounds(first + 1, messages - 1);
    }
    void note_rounds(std::uint64_t first, std::uint32_t messages);
    /// Whether the message continues this row.
    inline bool is_next_of(const Saved& row, Kind kind, std::uint32_t id, std::uint16_t count,
                           const SaveBytes::Place& place) const;
    inline std::byte* take_bytes(Kind kind, std::uint32_t id, std::uint16_t count, std::size_t size,
                                 SaveBytes::Place& place);
    static inline void keep_place(Saved& message, const SaveBytes::Place& place);
    inline void pass_next(std::uint32_t span);
    inline Saved* save_open(std::uint32_t transfer, const OpenBody& body, ConstBytes bytes);
    inline Saved& append(Kind kind, std::uint32_t id, std::uint32_t owner, std::uint32_t span);
    void mark_lost(std::uint64_t position);
    void unmark_lost(std::uint64_t position);
    std::uint64_t next_lost();
    std::uint64_t end_of_lost(std::uint64_t position) const;
    std::size_t message_at(std::uint64_t position);
    bool left_before(std::uint64_t position, const Missing& missing, std::uint64_t end) const;
    bool go_back(std::uint32_t most);
    bool mark_missing(const Missing& missing, Resendable resendable);

    Circle circle_;
    Number first_;
    std::uint32_t window_;
    std::size_t data_max_;
    std::size_t bundle_max_;
    Recovery recovery_;

    std::uint64_t una_ = 0;
    Number una_number_;  // of una_, on the circle
    std::uint64_t high_ = 0;
    Number high_number_;
    std::uint64_t next_ = 0;
    std::uint64_t cursor_ = 0;   // position after the packet that left last
    std::uint64_t leaving_ = 0;  // packet that next_departure() named
    std::uint32_t leaving_messages_ = 1;
    std::uint8_t round_ = 0;
    std::uint32_t lost_count_ = 0;
    std::size_t unsent_message_ = 0;  // index in saved_ of the message at high_
    std::size_t watched_ = 0;         // messages in saved_ whose end the caller awaits
    std::size_t carrying_ = 0;        // of these, notes with bytes
    bool marked_ = false;             // some bit of lost_ or there_ may be set
    Ring<Saved> saved_;
    SaveBytes bytes_;
    PacketsInFlight in_flight_;
    BitWindow lost_;                        // packets to be resent
    BitWindow there_;                       // packets that NACKs said have arrived (selective)
    std::vector<std::uint8_t> round_sent_;  // at position mod its size: its last one (selective)
};

[[gnu::always_inline]] inline SendWindow::Saved& SendWindow::append(Kind kind, std::uint32_t id,
                                                                    std::uint32_t owner,
                                                                    std::uint32_t span) {
    WIREPROOF_CHECK(span <= room());
    Saved& message = saved_.add();
    message.position = next_;
    message.span = span;
    message.kind = kind;
    message.id = id;
    message.owner = owner;
    message.count = 0;
    message.in_place = false;
    message.offset = 0;
    pass_next(span);
    return message;
}

/// Takes the numbers of a saved message. Nothing is known about them yet.
[[gnu::always_inline]] inline void SendWindow::pass_next(std::uint32_t span) {
    if (marked_) {
        lost_.clear(next_, next_ + span);
        there_.clear(next_, next_ + span);
    }
    next_ += span;
}

/// Reserves room in the save queue and writes the message's entry. nullptr: there is no room or no
/// number.
[[gnu::always_inline]] inline std::byte* SendWindow::take_bytes(Kind kind, std::uint32_t id,
                                                                std::uint16_t count,
                                                                std::size_t size,
                                                                SaveBytes::Place& place) {
    if (room() == 0) return nullptr;
    const std::size_t before = entry_size(kind);
    if (!bytes_.take(before + size, place)) return nullptr;
    const Bytes room = bytes_.room(place);
    if (before > 0) {
        const BundleEntry entry{static_cast<std::uint16_t>(id), count};
        entry.encode(room.first<BundleEntry::size>());
    }
    return room.data() + before;
}

// Field by field: a copy of the whole struct would wait for the fields just written.
[[gnu::always_inline]] inline void SendWindow::keep_place(Saved& message,
                                                          const SaveBytes::Place& place) {
    message.copy.at = place.at;
    message.copy.size = place.size;
    message.copy.mark = place.mark;
}

// A message whose end is awaited has no handler: it is a refusal.
[[gnu::always_inline]] inline bool SendWindow::is_next_of(const Saved& row, Kind kind,
                                                          std::uint32_t id, std::uint16_t count,
                                                          const SaveBytes::Place& place) const {
    return entry_size(kind) > 0 && id != 0 && row.kind == kind && row.id == id &&
           row.count == count && row.copy.at + row.copy.size == place.at;
}

[[gnu::always_inline]] inline bool SendWindow::push_here(Kind kind, std::uint32_t id,
                                                         ConstBytes data, std::uint32_t owner) {
    const auto count = static_cast<std::uint16_t>(kind <= Kind::reply ? data.size() : 0);
    WIREPROOF_CHECK(owner == 0 || id == 0 || kind > Kind::reply);  // is_next_of() relies on it
    SaveBytes::Place place;
    std::byte* const to = take_bytes(kind, id, count, data.size(), place);
    if (to == nullptr) return false;
    copy_short(to, data.data(), data.size());
    if (!saved_.empty() && is_next_of(saved_.back(), kind, id, count, place)) {
        Saved& row = saved_.back();
        ++row.span;
        row.copy.size += place.size;
        row.copy.mark = place.mark;
        pass_next(1);
        return true;
    }
    Saved& message = append(kind, id, owner, 1);
    message.count = count;
    keep_place(message, place);
    if (is_watched(kind, owner)) ++watched_;
    return true;
}

}  // namespace wireproof::am
