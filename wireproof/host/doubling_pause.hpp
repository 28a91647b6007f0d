// How many waits pass before a step is tried again that helped nothing: twice as many after each
// time that it helps nothing, half as many after each time that it helps.
#pragma once

#include <algorithm>
#include <cstdint>

namespace wireproof::host {

class DoublingPause {
public:
    static constexpr std::uint32_t least = 16;
    static constexpr std::uint32_t most = 1024;

    std::uint32_t waits() const { return waits_; }
    void lengthen() { waits_ = std::min(waits_ * 2, most); }
    void shorten() { waits_ = std::max(waits_ / 2, least); }

private:
    std::uint32_t waits_ = least;
};

}  // namespace wireproof::host
