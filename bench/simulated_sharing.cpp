// Prints how flows of SP AM with congestion control share a simulated link: alone, with random
// loss, with each other, and with models of TCP. It needs no network and no rights.
//
//   bench/simulated_sharing [loss|path]      without an argument: both algorithms
//
// Each row is a link (Mbit/s, round trip, queue in round trips) and the flows on it. The columns
// are the share of the link that each flow has, in per cent of its rate, and the mean length of the
// queue in round trips. The first seconds do not count. The same program always prints the same.
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/lab/sharing/store_flow.hpp"
#include "wireproof/lab/sharing/tcp_flow.hpp"

namespace {

using namespace wireproof;

struct Link {
    std::uint64_t megabits = 100;
    std::int64_t milliseconds = 2;
    std::size_t round_trips = 1;  // that the queue holds
};

struct Flow {
    std::optional<lab::Tcp> tcp;  // none: SP AM
    Duration start{};
};

struct Row {
    const char* name;
    std::vector<Flow> flows;
    double loss = 0;
    std::int64_t from = 1'000;  // ms
    std::int64_t until = 6'000;
};

const std::vector<Row> rows = {
    {"alone", {{}}},
    {"alone, loss 1 %", {{}}, 0.01},
    {"alone, loss 5 %", {{}}, 0.05},
    {"two, the second after 0.5 s", {{}, {{}, Duration::milliseconds(500)}}, 0, 2'500, 8'000},
    {"beside Reno", {{}, {lab::Tcp::reno}}, 0, 4'000, 20'000},
    {"beside CUBIC", {{}, {lab::Tcp::cubic}}, 0, 4'000, 20'000},
    {"beside CUBIC, which began 2 s before",
     {{{}, Duration::milliseconds(2'000)}, {lab::Tcp::cubic}},
     0,
     4'000,
     20'000},
    {"beside BBR", {{}, {lab::Tcp::bbr}}, 0, 4'000, 20'000},
};

void print(const Link& link, const Row& row, am::Congestion congestion) {
    const std::uint64_t rate = link.megabits * 125'000;  // bytes per second
    const Duration round_trip = Duration::milliseconds(link.milliseconds);
    const auto product = static_cast<std::size_t>(static_cast<double>(rate) * round_trip.seconds());
    lab::SharedLink shared({.bytes_per_second = rate,
                            .round_trip = round_trip,
                            .queue = std::max<std::size_t>(product * link.round_trips, 12'000),
                            .loss = row.loss});
    std::uint16_t number = 0;
    for (const Flow& flow : row.flows) {
        std::unique_ptr<lab::LinkFlow> made;
        if (flow.tcp) {
            made = std::make_unique<lab::TcpFlow>(*flow.tcp, number);
        } else {
            am::Config config = am::Config::ethernet();
            config.congestion = congestion;
            made = std::make_unique<lab::StoreFlow>(config, number);
        }
        shared.add(std::move(made), Instant(flow.start));
        ++number;
    }
    shared.run_until(Instant(Duration::milliseconds(row.from)));
    double queued = 0;
    constexpr int samples = 200;
    std::vector<double> rates(row.flows.size());
    for (int i = 1; i <= samples; ++i) {
        const Instant end(Duration::milliseconds(row.from + (row.until - row.from) * i / samples));
        const std::vector<double> part = shared.rates_until(end);
        for (std::size_t flow = 0; flow < rates.size(); ++flow) rates[flow] += part[flow] / samples;
        queued += shared.queued() / samples;
    }
    std::printf("%4u Mbit/s %2d ms %2zu rt  %-38s", static_cast<unsigned>(link.megabits),
                static_cast<int>(link.milliseconds), link.round_trips, row.name);
    for (const double each : rates)
        std::printf(" %3.0f %%", each * 100 * 1472 / 1424 / static_cast<double>(rate));
    std::printf("%s  queue %.2f\n", rates.size() == 1 ? "      " : "",
                queued / static_cast<double>(product));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 2 ||
        (argc == 2 && std::strcmp(argv[1], "loss") != 0 && std::strcmp(argv[1], "path") != 0)) {
        std::fputs("usage: simulated_sharing [loss|path]\n", stderr);
        return 2;
    }
    for (const auto& [name, congestion] :
         {std::pair{"loss", am::Congestion::by_loss}, std::pair{"path", am::Congestion::by_path}}) {
        if (argc == 2 && std::strcmp(argv[1], name) != 0) continue;
        std::printf("congestion control by %s\n", name);
        for (const std::uint64_t megabits : {100U, 1'000U}) {
            for (const std::int64_t milliseconds : {2, 20}) {
                for (const std::size_t round_trips : {1U, 10U}) {
                    for (const Row& row : rows) {
                        print({megabits, milliseconds, round_trips}, row, congestion);
                    }
                }
            }
        }
    }
}
