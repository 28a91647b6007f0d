// Two devices in one program. One sends a message and retransmits it, because the other does not
// poll for a while. Then it does more Reads than the number that the other remembers after it has
// answered them.
#include <unistd.h>
#include <wireproof/ib.hpp>

#include <array>
#include <cstdio>
#include <string>

using namespace wireproof::ib;
using namespace std::chrono_literals;

namespace {

// The addresses depend on the process, because several processes may run this at the same time.
std::string host(int which) {
    const auto pid = static_cast<unsigned>(::getpid());
    return "127.76." + std::to_string(pid / 120 % 250) + "." +
           std::to_string(pid % 120 * 2 + static_cast<unsigned>(which));
}

struct Side {
    explicit Side(Device opened) : device(opened), domain(device), completions(device, 64) {}

    Device device;
    ProtectionDomain domain;
    CompletionQueue completions;
    std::array<std::byte, 64> memory{};
};

int fail(const std::string& why) {
    std::fprintf(stderr, "repeats: %s\n", why.c_str());
    return 1;
}

/// Waits for one completion on `here` and polls `there` meanwhile.
bool completes(Side& here, Side& there) {
    std::optional<Completion> completion;
    const bool came = here.device.wait(
        [&] {
            there.device.poll();
            completion = here.completions.poll();
            return completion.has_value();
        },
        20s);
    return came && completion->status == WorkStatus::success;
}

}  // namespace

int main() {
    auto first = Device::open({.address = host(1)});
    auto second = Device::open({.address = host(2)});
    if (!first || !second) return fail((first ? second : first).error());
    Side asker(*first);
    Side answerer(*second);
    const Access all{.local_write = true, .remote_write = true, .remote_read = true};
    auto target = answerer.domain.register_memory(answerer.memory, all);
    auto landing = asker.domain.register_memory(asker.memory, all);
    auto asks = QueuePair::create(asker.domain, asker.completions, asker.completions);
    auto answers = QueuePair::create(answerer.domain, answerer.completions, answerer.completions);
    if (!target || !landing || !asks || !answers) return fail("no memory or no queue pair");
    if (asks->connect(answers->contact()) != Status::ok ||
        answers->connect(asks->contact()) != Status::ok) {
        return fail("no connection");
    }

    // The sender retransmits after 67 ms without an answer, so at least twice before the other side
    // polls.
    if (answers->post_receive(1, target->all()) != Status::ok ||
        asks->send(2, landing->all()) != Status::ok) {
        return fail("no work is taken");
    }
    asker.device.wait([] { return false; }, 250ms);
    if (!completes(answerer, asker) || !completes(asker, answerer)) return fail("no message");

    for (unsigned read = 1; read <= 40; ++read) {
        answerer.memory[0] = static_cast<std::byte>(read);
        const Remote there{target->address(), target->key()};
        if (asks->read(read, landing->piece(0, 1), there) != Status::ok) return fail("no read");
        if (!completes(asker, answerer)) return fail("no answer to read " + std::to_string(read));
        if (asker.memory[0] != static_cast<std::byte>(read)) return fail("wrong bytes");
    }
    std::puts("a repeated message and 40 reads");
}
