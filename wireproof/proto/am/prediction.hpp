// Whether only short messages and their acknowledgements are to be expected.
#pragma once

#include "wireproof/proto/am/config.hpp"

namespace wireproof::am {

/// It holds only while Connection::can_predict() is true. The rest of the state implies it, so a
/// fingerprint does not contain it.
class Prediction {
public:
    explicit Prediction(const Config& config) : possible_(config.takes_fast_paths()) {}

    /// The fast paths may be taken.
    bool possible() const { return possible_; }
    bool holds() const { return holds_; }
    /// Something else is to be expected, or perhaps.
    void end() { holds_ = false; }
    void begin_if(bool predictable) { holds_ = possible_ && predictable; }

private:
    bool possible_;
    bool holds_ = false;
};

}  // namespace wireproof::am
