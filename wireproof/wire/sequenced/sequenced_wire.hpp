// A wire around a carrier that may lose, duplicate, reorder and delay datagrams. The wire makes a
// link of it: the receiver gets a part of the frames that were sent, in order. They are all of one
// life of the peer, until the peer starts again (lives.hpp). Link protocols need that, because they
// cannot handle old frames. A datagram carries several frames, after a header of the wire's own
// (datagram_header.hpp).
//
// Some link protocols count the frames that arrive, so they must know of each frame that is
// missing. For them, `missing_max` makes the wire count frames: it returns a damaged frame without
// bytes in place of each frame that did not arrive between two others.
//
// When the peer has started again, no frame moves in either direction until the caller has taken
// the event. The engine must not take frames of the new life for frames of the old one, and the
// peer must not get frames that the engine sent to the old life.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/core/around_wire.hpp"
#include "wireproof/wire/sequenced/frame_packer.hpp"
#include "wireproof/wire/sequenced/lives.hpp"

namespace wireproof {

/// The counters of a sequenced wire. Each received datagram is counted once: as taken, or as
/// dropped for one of the reasons.
struct SequencedStats {
    std::uint64_t datagrams_sent = 0;
    std::uint64_t frames_sent = 0;
    std::uint64_t challenges_sent = 0;   // of the datagrams
    std::uint64_t frames_forgotten = 0;  // committed, but the peer's life ended before they left

    std::uint64_t datagrams_taken = 0;
    std::uint64_t frames_received = 0;
    std::uint64_t frames_malformed = 0;  // the datagram ended before them
    std::uint64_t frames_missing = 0;    // told as damaged frames without bytes
    std::uint64_t gaps_too_long = 0;     // this end started again, because too many were missing
    std::uint64_t new_lives = 0;

    std::uint64_t other_peer = 0;  // not from the peer of this link
    std::uint64_t not_ours = 0;    // without a header of this wire
    std::uint64_t damaged = 0;     // its check fails
    std::uint64_t other_link = 0;
    std::uint64_t stranger = 0;     // from a life of the peer that is not yet proven
    std::uint64_t former_life = 0;  // to a former life of this end
    std::uint64_t late = 0;         // duplicated or overtaken

    std::uint64_t dropped() const {
        return other_peer + not_ours + damaged + other_link + stranger + former_life + late +
               gaps_too_long;
    }
    friend bool operator==(const SequencedStats&, const SequencedStats&) = default;
};

struct SequencedConfig {
    std::uint32_t link = 0;  // both ends must have the same
    PeerId peer{};           // the number of the other end, in the carrier and here
    std::uint64_t seed = 0;  // of epochs: random, and different at each start
    /// The longest frame in bytes, even if datagrams may be longer: then a datagram has room for
    /// several.
    std::size_t frame_max = DatagramHeader::frame_limit;
    /// Retransmitted frames share datagrams of up to this many bytes, which every path carries: the
    /// datagram that was lost may have been too long.
    std::size_t resent_together_max = 576 - 28;
    std::uint32_t first_counter = 0xFFFFFF00;  // of datagrams; wraps early
    /// How many missing frames in a row the wire tells. If more are missing, this end starts again,
    /// and both ends get a new life. 0: it tells none. Both ends must have 0, or neither: with 0
    /// the counter counts datagrams, else frames.
    std::uint32_t missing_max = 0;
};

/// Has two ends, and is itself the lane to its peer. A datagram that 2^31 others have overtaken
/// would pass for a new one; no network delays a datagram for so long.
template <Wire W>
class SequencedWire : public AroundWire<SequencedWire<W>, W> {
    using Around = AroundWire<SequencedWire, W>;

public:
    using Config = SequencedConfig;

    SequencedWire(W carrier, const Config& config);

    SequencedWire& lane(PeerId peer) {
        WIREPROOF_CHECK(peer == config_.peer);
        return *this;
    }

    LaneCapabilities capabilities() const { return capabilities_; }
    TxFrame* claim();
    void commit();

    std::optional<RxFrame> receive(Instant now);
    void flush(Instant now);
    std::optional<std::pair<PeerId, WireEvent>> next_event();
    Instant next_deadline() const { return at_rest_ ? carrier_.next_deadline() : now_; }

    const SequencedStats& stats() const { return stats_; }
    const Lives& lives() const { return lives_; }
    W& inner() { return carrier_; }
    const W& inner() const { return carrier_; }

    bool prepare_to_sleep() { return at_rest_ && Around::prepare_to_sleep(); }

private:
    // A flood of datagrams without frames must not stop the rest of the program.
    static constexpr int datagrams_in_a_row_max = 256;

    static LaneCapabilities capabilities_for(LaneCapabilities carrier, const Config& config);

    auto& carrier_lane() { return carrier_.lane(config_.peer); }
    std::optional<RxFrame> next_frame();
    void open(const RxFrame& datagram);
    bool current(const DatagramHeader& header);
    bool later(const DatagramHeader& header);
    void start_again();
    bool counts_frames() const { return config_.missing_max > 0; }
    std::uint32_t step(std::size_t frames) const {
        return counts_frames() ? static_cast<std::uint32_t>(frames) : 1;
    }
    bool send_rest();
    bool send_datagram(Lives::Epochs epochs, FramePacker& frames);

    Config config_;
    W carrier_;
    LaneCapabilities capabilities_;
    Lives lives_;
    SequencedStats stats_;

    TxFrame frame_;
    std::vector<std::byte> room_;
    FramePacker packer_;
    FramePacker nothing_{0};
    std::uint32_t next_counter_;

    RxFrame datagram_;  // the datagram whose frames are returned
    FrameUnpacker unpacker_;
    std::uint32_t expected_ = 0;  // the counter of the datagram that follows the newest one taken
    std::uint64_t missing_ = 0;   // frames to be told before those of `datagram_`
    bool handed_up_ = false;      // a frame was returned, of any life
    bool event_due_ = false;
    bool at_rest_ = true;  // nothing waits here to be received
    Instant now_;          // the latest time that the caller gave
};

template <Wire W>
SequencedWire<W>::SequencedWire(W carrier, const Config& config)
    : config_(config),
      carrier_(std::move(carrier)),
      capabilities_(capabilities_for(carrier_lane().capabilities(), config)),
      lives_(config.seed),
      room_(capabilities_.frame_max),
      packer_(carrier_lane().capabilities().frame_max),
      next_counter_(config.first_counter) {}

template <Wire W>
LaneCapabilities SequencedWire<W>::capabilities_for(LaneCapabilities carrier,
                                                    const Config& config) {
    WIREPROOF_CHECK(carrier.frame_max > DatagramHeader::size(1) && config.frame_max > 0);
    const std::size_t longest =
        std::min(carrier.frame_max - DatagramHeader::size(1), DatagramHeader::frame_limit);
    return {.frame_max = std::min(longest, config.frame_max),
            .carries_intact = carrier.carries_intact};
}

template <Wire W>
TxFrame* SequencedWire<W>::claim() {
    // commit() may have to send the datagram that is full, so the carrier must have room for it.
    if (event_due_ || carrier_lane().claim() == nullptr) return nullptr;
    frame_.open(room_, capabilities_);
    return &frame_;
}

template <Wire W>
void SequencedWire<W>::commit() {
    const bool resent = frame_.resent() || packer_.resent();
    const std::size_t most =
        resent ? config_.resent_together_max : std::numeric_limits<std::size_t>::max();
    if (!packer_.has_room(frame_.size(), most)) {
        const bool left = send_datagram(lives_.epochs(), packer_);
        WIREPROOF_CHECK(left);
    }
    packer_.add(frame_);
    ++stats_.frames_sent;
}

template <Wire W>
bool SequencedWire<W>::send_datagram(Lives::Epochs epochs, FramePacker& frames) {
    TxFrame* const out = carrier_lane().claim();
    if (out == nullptr) return false;
    const std::uint32_t counter = next_counter_;
    next_counter_ += step(frames.frames());
    frames.close({.link = config_.link, .from = epochs.from, .to = epochs.to, .counter = counter},
                 *out);
    carrier_lane().commit();
    ++stats_.datagrams_sent;
    return true;
}

// False: the carrier has no room for all that must leave.
template <Wire W>
bool SequencedWire<W>::send_rest() {
    if (const auto challenge = lives_.challenge()) {
        if (!send_datagram(*challenge, nothing_)) return false;
        ++stats_.challenges_sent;
        lives_.challenge_left();
    }
    if (packer_.empty() && !lives_.sign_due()) return true;
    if (!send_datagram(lives_.epochs(), packer_)) return false;
    lives_.sign_left();
    return true;
}

/// If the carrier has no room even after its own flush, the rest leaves at a later flush.
template <Wire W>
void SequencedWire<W>::flush(Instant now) {
    now_ = now;
    const bool all = send_rest();
    carrier_.flush(now);
    if (!all && send_rest()) carrier_.flush(now);
}

template <Wire W>
std::optional<RxFrame> SequencedWire<W>::receive(Instant now) {
    now_ = now;
    at_rest_ = false;
    for (int datagrams = 0; !event_due_ && datagrams < datagrams_in_a_row_max; ++datagrams) {
        if (const auto frame = next_frame()) return frame;
        const auto datagram = carrier_.receive(now);
        if (!datagram) {
            at_rest_ = true;
            return std::nullopt;
        }
        open(*datagram);
    }
    return event_due_ ? std::nullopt : next_frame();
}

template <Wire W>
std::optional<RxFrame> SequencedWire<W>::next_frame() {
    if (missing_ > 0) {
        --missing_;
        handed_up_ = true;
        ++stats_.frames_missing;
        return RxFrame{
            .bytes = {}, .from = config_.peer, .integrity = Integrity::damaged, .lent = {}};
    }
    if (unpacker_.left() == 0) return std::nullopt;
    const auto bytes = unpacker_.next();
    if (!bytes) {
        stats_.frames_malformed += unpacker_.left();
        if (counts_frames()) missing_ += unpacker_.left();
        unpacker_.drop_rest();
        return missing_ > 0 ? next_frame() : std::nullopt;
    }
    handed_up_ = true;
    ++stats_.frames_received;
    return RxFrame{
        .bytes = *bytes, .from = datagram_.from, .integrity = datagram_.integrity, .lent = {}};
}

// A dropped datagram is counted for the first reason that applies.
template <Wire W>
void SequencedWire<W>::open(const RxFrame& datagram) {
    if (datagram.from != config_.peer) {
        ++stats_.other_peer;
        return;
    }
    // Datagrams of this wire are in one piece on every carrier.
    if (!datagram.lent.empty() || !DatagramHeader::stands_before(datagram.bytes)) {
        ++stats_.not_ours;
        return;
    }
    const auto header = DatagramHeader::decode(datagram.bytes);
    if (!header) {
        ++stats_.damaged;
        return;
    }
    if (header->link != config_.link) {
        ++stats_.other_link;
        return;
    }
    if (!current(*header)) return;
    ++stats_.datagrams_taken;
    datagram_ = datagram;
    unpacker_ = FrameUnpacker(*header, datagram.bytes);
}

// False: the datagram is dropped and counted.
template <Wire W>
bool SequencedWire<W>::current(const DatagramHeader& header) {
    switch (lives_.judge(header.from, header.to)) {
        case Lives::Judgement::stranger: ++stats_.stranger; return false;
        case Lives::Judgement::former: ++stats_.former_life; return false;
        case Lives::Judgement::current: return later(header);
        case Lives::Judgement::first: break;
        case Lives::Judgement::new_life:
            stats_.frames_forgotten += packer_.frames();
            packer_.clear();
            ++stats_.new_lives;
            event_due_ = handed_up_;
            break;
    }
    expected_ = header.counter + step(header.frames);
    return true;
}

// PCIE-39, HIPPI-37: the link protocols get no datagram that was duplicated or overtaken. If frames
// count, a datagram without frames has no place in the sequence.
template <Wire W>
bool SequencedWire<W>::later(const DatagramHeader& header) {
    if (counts_frames() && header.frames == 0) return true;
    const std::uint32_t ahead = header.counter - expected_;
    if (static_cast<std::int32_t>(ahead + 1) <= 0) {
        ++stats_.late;
        return false;
    }
    if (counts_frames() && ahead > config_.missing_max) {
        start_again();
        return false;
    }
    expected_ = header.counter + step(header.frames);
    missing_ = counts_frames() ? ahead : 0;
    return true;
}

// Too many frames are missing for the engine to count them. The engines of both ends start again.
template <Wire W>
void SequencedWire<W>::start_again() {
    lives_.start_again();
    stats_.frames_forgotten += packer_.frames();
    packer_.clear();
    ++stats_.gaps_too_long;
    event_due_ = handed_up_;
}

template <Wire W>
std::optional<std::pair<PeerId, WireEvent>> SequencedWire<W>::next_event() {
    if (std::exchange(event_due_, false)) return std::pair(config_.peer, WireEvent::new_life);
    while (const auto event = carrier_.next_event()) {
        if (event->first == config_.peer) return event;
    }
    return std::nullopt;
}

}  // namespace wireproof
