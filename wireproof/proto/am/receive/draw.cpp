// What the caller draws, in the general case.
#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {

std::optional<Delivery> Receiver::draw(const Others& others) {
    while (true) {
        if (auto drawn = deliveries.take_of_frame()) return drawn;
        if (place_early(others) || pass_held(Channel::request, others) ||
            pass_held(Channel::reply, others)) {
            continue;
        }
        if (!deliveries.unpacks()) return std::nullopt;
        (void)unpack_next(others);
    }
}

}  // namespace wireproof::am
