// Numbers that only name something, for example trainings of a line. Each end counts its own, and
// hears the peer's. An engine only compares them and counts on, modulo some number. So two states
// of a link act alike if, in one of them, all numbers that an end counted are shifted by the same
// amount, at both ends and in all frames. A search takes such states as one.
#pragma once

#include <cstdint>

#include "wireproof/lab/search/search.hpp"

namespace wireproof::lab {

/// The labels of an end, or of a frame that it sent.
struct Labels {
    static constexpr std::uint16_t none = 0xFFFF;

    std::uint16_t own = none;    // that the end counted
    std::uint16_t peers = none;  // that it heard

    friend bool operator==(Labels, Labels) = default;
};

/// What an end or a frame is apart from its labels, and these labels.
struct Labelled {
    FingerprintTable::Id kind = 0;
    Labels labels;
};

/// How far the labels of a state are from those of another one.
struct LabelShift {
    std::uint32_t own = 0;
    std::uint32_t peers = 0;
    std::uint32_t count = 1;  // labels count modulo this

    LabelShift(Labels from, Labels to, std::uint32_t label_count)
        : own((to.own + label_count - from.own) % label_count),
          peers((to.peers + label_count - from.peers) % label_count),
          count(label_count) {}

    Labels of_end(Labels labels) const { return {of(labels.own, own), of(labels.peers, peers)}; }
    Labels of_frame_of_peer(Labels labels) const {
        return {of(labels.own, peers), of(labels.peers, own)};
    }

private:
    std::uint16_t of(std::uint16_t label, std::uint32_t by) const {
        return label == Labels::none ? label : static_cast<std::uint16_t>((label + by) % count);
    }
};

}  // namespace wireproof::lab
