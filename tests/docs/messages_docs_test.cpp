// The length of the longest message, as the pages for programs that use Active Messages state it.
#include "tests/docs/document.hpp"

#include "wireproof/proto/am/config.hpp"

namespace wireproof::am {
namespace {

constexpr double headers_of_ip_and_udp = 28;

TEST(MessagesPages, HaveTheLengthOfTheLongestMessage) {
    const Config udp;
    const Config shared_memory = Config::shared_memory();
    const double mtu = static_cast<double>(udp.packet_max) + headers_of_ip_and_udp;
    for (const char* name :
         {"start/service.md", "guide/messages/c-api.md", "guide/messages/python.md"}) {
        docs::Document(name).expect_figures(
            "([\\d,]+)(?: bytes)? on UDP over IPv4 with an MTU of (\\d+),(?: and)? ([\\d,]+) on "
            "shared memory",
            {static_cast<double>(udp.message_max), mtu,
             static_cast<double>(shared_memory.message_max)});
    }
    docs::Document("guide/messages/jobs.md")
        .expect_figures("in a job ([\\d,]+) with an MTU of (\\d+) over IPv4",
                        {static_cast<double>(udp.message_max), mtu});
}

}  // namespace
}  // namespace wireproof::am
