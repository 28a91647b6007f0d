#include "wireproof/lab/worlds/link_world_costs.hpp"

namespace wireproof::lab {

std::string broken_bound(const LinkWorldResult& world, const LinkCostTerms& terms) {
    const std::uint64_t trouble = world.faults + terms.events + world.downs;
    if (trouble == 0) {
        if (world.resent > 0) return "messages are resent, although nothing was lost";
        if (world.naks > 0) return "notices of damage, although nothing was damaged";
        if (world.timeouts > 0) return "a timer expired, although nothing was lost";
        if (world.resets > 0) return "the link began again, although nothing was lost";
    }
    constexpr std::uint64_t few = 4;
    if (world.naks > 3 * trouble + few) return "more notices of damage than the faults explain";
    // While a link begins again, it answers nothing.
    if (!terms.echoes && world.timeouts > trouble + trouble / 4 + world.resets + few) {
        return "more timers expired than the faults explain";
    }
    // A notice that is repeated may begin a replay again, because its head may be lost, too.
    if (world.replays > 2 * (world.naks + world.timeouts)) {
        return "more replays than the notices and timers explain";
    }
    // CXL-5: one entry more is for acknowledgements.
    if (world.resent > (terms.window + 1) * world.replays)
        return "more frames resent than were kept";
    if (world.resets > 2 * trouble) return "the link began again more often than there was trouble";
    // On demand, the NOPs that follow a flit carry an acknowledgement, too. A Nak leaves up to four
    // times, and each copy draws an explicit NOP and an acknowledgement. A handshake has a few.
    const std::uint64_t drawn =
        3 * world.numbered + 10 * trouble + 20 * world.naks + 20 * (1 + world.downs);
    if (terms.rests && world.acks > drawn) {
        return "more acknowledgements than there were messages to acknowledge";
    }
    return {};
}

}  // namespace wireproof::lab
