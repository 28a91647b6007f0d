// Two processes on one machine, each with its own device. The writer puts a message into the memory
// of the answerer and tells it so with immediate data. The answerer changes the message, and the
// writer reads it back.
//
//     remote_write [WRITER [ANSWERER [MEETING]]]
//
// WRITER and ANSWERER are the addresses of the devices. MEETING is the address:port where the two
// exchange their contacts over TCP.
#include <sys/wait.h>
#include <unistd.h>
#include <wireproof/ib.hpp>

#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string>

using namespace wireproof::ib;
using namespace std::chrono_literals;

namespace {

struct Places {
    std::string writer = "127.71.0.1";
    std::string answerer = "127.71.0.2";
    std::string meeting = "127.0.0.1:7471";
};

constexpr std::string_view message = "written from afar";
using Memory = std::array<std::byte, 64>;
// The other process may get no processor for a while.
constexpr auto patience = 2min;
const QueuePairOptions patient{.ack_timeout = 10s};

int fail(const char* who, std::string_view why) {
    std::fprintf(stderr, "remote_write: %s: %.*s\n", who, static_cast<int>(why.size()), why.data());
    return 1;
}

/// Offers memory. Changes the text that the writer puts there to capital letters.
int answer(const Places& places) {
    auto device = Device::open({.address = places.answerer});
    if (!device) return fail("answer", device.error());
    Memory memory{};
    const ProtectionDomain domain(*device);
    CompletionQueue completions(*device, 16);
    const auto region = domain.register_memory(
        memory, {.local_write = true, .remote_write = true, .remote_read = true});
    auto pair = QueuePair::create(domain, completions, completions, patient);
    if (!region || !pair) return fail("answer", "no memory or no queue pair");
    // One receive for the immediate data, one for the goodbye.
    if (pair->post_receive(1, Piece()) != Status::ok ||
        pair->post_receive(2, Piece()) != Status::ok) {
        return fail("answer", "cannot receive");
    }
    const auto peer = exchange_as_server(places.meeting, pair->contact(*region), patience);
    if (!peer) return fail("answer", peer.error());
    if (pair->connect(*peer) != Status::ok) return fail("answer", "no connection");

    const auto written = completions.wait(patience);
    if (!written || written->status != WorkStatus::success) return fail("answer", "nothing came");
    for (std::size_t i = 0; i < written->immediate.value_or(0) && i < memory.size(); ++i) {
        memory[i] = static_cast<std::byte>(std::toupper(std::to_integer<int>(memory[i])));
    }
    // Tell the writer that the text is changed. The device answers the Read until the goodbye.
    if (pair->send(3, Piece()) != Status::ok) return fail("answer", "cannot send");
    for (int ended = 0; ended < 2; ++ended) {
        const auto one = completions.wait(patience);
        if (!one || one->status != WorkStatus::success) return fail("answer", "no goodbye");
    }
    // If the acknowledgement of the goodbye is lost, the device must acknowledge it again.
    if (!device->wait([&] { return device->idle(); }, patience))
        return fail("answer", "never idle");
    return 0;
}

int ask(const Places& places) {
    auto device = Device::open({.address = places.writer});
    if (!device) return fail("ask", device.error());
    Memory memory{};
    std::memcpy(memory.data(), message.data(), message.size());
    const ProtectionDomain domain(*device);
    CompletionQueue completions(*device, 16);
    const auto region = domain.register_memory(memory, {.local_write = true});
    auto pair = QueuePair::create(domain, completions, completions, patient);
    if (!region || !pair) return fail("ask", "no memory or no queue pair");
    if (pair->post_receive(1, Piece()) != Status::ok) return fail("ask", "cannot receive");
    const auto peer = exchange_as_client(places.meeting, pair->contact(), patience);
    if (!peer) return fail("ask", peer.error());
    if (pair->connect(*peer) != Status::ok) return fail("ask", "no connection");

    const Remote there{peer->memory, peer->key};
    const Piece here = region->piece(0, message.size());
    if (pair->write(2, here, there, static_cast<std::uint32_t>(message.size())) != Status::ok) {
        return fail("ask", "cannot write");
    }
    for (int ended = 0; ended < 2; ++ended) {  // the Write, and the message of the answerer
        const auto one = completions.wait(patience);
        if (!one || one->status != WorkStatus::success) return fail("ask", "no answer");
    }
    if (pair->read(3, here, there) != Status::ok) return fail("ask", "cannot read");
    const auto read = completions.wait(patience);
    if (!read || read->status != WorkStatus::success) return fail("ask", "cannot read");
    if (pair->send(4, Piece()) != Status::ok) return fail("ask", "cannot send");
    const auto parted = completions.wait(patience);
    if (!parted || parted->status != WorkStatus::success) return fail("ask", "no goodbye");
    const std::string text(reinterpret_cast<const char*>(memory.data()), message.size());
    std::printf("%s\n", text.c_str());
    return text == "WRITTEN FROM AFAR" ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 4) {
        std::fprintf(stderr, "usage: remote_write [WRITER [ANSWERER [MEETING]]]\n");
        return 2;
    }
    Places places;
    if (argc > 1) places.writer = argv[1];
    if (argc > 2) places.answerer = argv[2];
    if (argc > 3) places.meeting = argv[3];
    const pid_t child = ::fork();
    if (child < 0) return fail("main", "cannot fork");
    if (child == 0) return answer(places);
    const int asked = ask(places);
    int answered = 0;
    ::waitpid(child, &answered, 0);
    return asked != 0 || answered != 0 ? 1 : 0;
}
