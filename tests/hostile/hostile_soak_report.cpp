#include <fmt/format.h>

#include <algorithm>

#include "tests/hostile/hostile_soak.hpp"

namespace wireproof::hostile {

std::string text_of(const HostileSoakResult& result, std::uint64_t seed) {
    std::string text = fmt::format(
        "{} hostile packets from seed {}, {} harmless ones between them;\n"
        "{} honest messages beside them, {} lost; the kernel dropped {} packets;\n"
        "memory checked {} times, {} connections begun again\n\n",
        result.hostile, seed, result.harmless, result.honest_messages, result.honest_lost,
        result.kernel_dropped, result.memory_checks, result.reconnected);
    text += fmt::format("{:<28}{:>10}    {:<20}{:>10}\n", "what became of them", "packets",
                        "sent as", "packets");
    for (std::size_t i = 0; i < std::max(result.received.size(), hostility_names.size()); ++i) {
        std::string line(38, ' ');
        if (i < result.received.size()) {
            line = fmt::format("{:<28}{:>10}", result.received[i].first, result.received[i].second);
        }
        if (i < hostility_names.size()) {
            line += fmt::format("    {:<20}{:>10}", hostility_names[i], result.sent_as[i]);
        }
        text += line + "\n";
    }
    return text;
}

}  // namespace wireproof::hostile
