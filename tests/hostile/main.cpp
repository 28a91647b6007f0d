// Sends random and altered packets to a device on the loopback network. The device also has an
// honest connection.
#include <charconv>
#include <cstdio>
#include <exception>
#include <string_view>

#include "tests/hostile/hostile_soak.hpp"

#include "wireproof/app/common/interrupt.hpp"

namespace wireproof::hostile {
namespace {

constexpr auto usage =
    "wireproof_hostile rc|uc|ib PACKETS [SEED]\n"
    "Sends PACKETS hostile packets to a device on the loopback network. ib: to queue pairs of RC\n"
    "and of UC. Exit code 0: the device wrote no memory that it was not permitted to write, it\n"
    "completed no work that was not posted, and it counted each packet once. Exit code 1: it did\n"
    "one of these, or there is no socket. Exit code 2: the command line is wrong.\n";

bool read(std::string_view word, std::uint64_t& number) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc() && end == word.data() + word.size();
}

bool read(std::string_view word, std::optional<proto::ib::Transport>& transport) {
    if (word == "rc") transport = proto::ib::Transport::rc;
    if (word == "uc") transport = proto::ib::Transport::uc;
    return transport || word == "ib";
}

int run(const HostileSoakConfig& config) {
    app::catch_interrupts();
    const HostileSoakResult result = run_hostile_soak(config);
    std::fputs(text_of(result, config.seed).c_str(), stdout);
    if (result.violation.empty()) return 0;
    std::fprintf(stderr, "%s\n", result.violation.c_str());
    return 1;
}

}  // namespace
}  // namespace wireproof::hostile

int main(int argc, char** argv) {
    using namespace wireproof::hostile;
    HostileSoakConfig config;
    if (argc < 3 || argc > 4 || !read(argv[1], config.transport) ||
        !read(argv[2], config.packets) || config.packets == 0 ||
        (argc == 4 && !read(argv[3], config.seed))) {
        std::fputs(usage, stderr);
        return 2;
    }
    try {
        return run(config);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
