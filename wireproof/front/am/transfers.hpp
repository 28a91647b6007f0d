// The callbacks of transfers: of those that are under way, and of those that have ended but whose
// callback waits for the next turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "wireproof/am.hpp"

namespace wireproof::am {

class Transfers {
public:
    struct Transfer {
        Done done = {};                            // may be empty
        std::uint16_t handler = 0;                 // of a store
        std::optional<std::uint32_t> notice = {};  // the peer's, when the store was posted
    };
    /// The callbacks that wait for one turn. A window bounds the transfers under way likewise.
    static constexpr std::size_t owed_most = 1024;
    /// The tag of a transfer of which nobody wants to know the end.
    static constexpr std::uint64_t nobody_waits = ~std::uint64_t{0};

    /// Returns the tag of the transfer.
    std::uint64_t add(Transfer transfer);
    /// The transfer has ended, or was never posted. For nobody_waits, the result is empty.
    Transfer take(std::uint64_t tag);

    /// A transfer has ended with ok without a turn. The next turn runs `done`.
    void end_later(Done done) { ended_.push_back(std::move(done)); }
    bool any_ended() const { return !ended_.empty(); }
    /// True: so many callbacks wait for the turn that no more transfers should end without one.
    bool owes_most() const { return ended_.size() >= owed_most; }
    /// Runs the callbacks of the transfers that had ended before the call. Returns how many.
    std::size_t run_ended();

    /// Ends all: those of end_later() with ok, the others with `status`. No callback may add one.
    void end_all(Status status);

private:
    std::vector<Transfer> under_way_;  // by tag
    std::vector<std::uint64_t> free_;  // tags
    std::deque<Done> ended_;
};

}  // namespace wireproof::am
