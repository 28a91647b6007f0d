// Random bytes as a capture, for all code of inspect: the reader, link layers and tunnels, packets,
// and the code that follows connections.
#include "fuzz/input.hpp"

#include "wireproof/app/capture/capture_walk.hpp"
#include "wireproof/app/capture/connection_events.hpp"
#include "wireproof/base/check.hpp"

namespace wireproof::capture {
namespace {

// The events use each packet, also with a wrong ICRC, because the fuzzer does not find right ones.
void follow(ConstBytes file, std::size_t piece) {
    CaptureWalk walk(capture_in(file, piece));
    ConnectionEvents events;
    while (true) {
        auto seen = walk.next();
        if (!seen) {
            WIREPROOF_CHECK(!seen.error().message.empty());
            break;
        }
        if (!*seen) break;
        fuzz::touch((*seen)->datagram.packet);
        if (!(*seen)->packet) continue;
        fuzz::touch((*seen)->packet->payload);
        const std::size_t direction = events.on_packet(**seen).direction;
        WIREPROOF_CHECK(direction < events.directions().size());
    }
    const CaptureWalk::Counts& counts = walk.counts();
    WIREPROOF_CHECK(counts.icrc_bad + counts.malformed <= counts.packets);
    for (const ConnectionEvent& event : events.events()) {
        WIREPROOF_CHECK(event.direction < events.directions().size() && !event.what.empty());
    }
}

}  // namespace
}  // namespace wireproof::capture

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    wireproof::capture::follow(bytes, SIZE_MAX);
    wireproof::capture::follow(bytes, 5);
    return 0;
}
