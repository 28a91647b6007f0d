// A key-value store over active messages. The values are in the memory of the server. The client
// writes and reads them there with store and get. The server only tells it the place.
//
//   put:  request(reserve, key)  -> reply(place);   store(value): its handler records the length
//   get:  request(find, key)     -> reply(place);   get(value)
#include <wireproof/am.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>

using namespace wireproof::am;

namespace {

// Handlers: three of the server, then one of the client.
constexpr std::uint16_t reserve = 1;
constexpr std::uint16_t find = 2;
constexpr std::uint16_t committed = 3;
constexpr std::uint16_t place = 4;

constexpr std::size_t value_max = 256;  // bytes
constexpr std::size_t slots = 64;

// A thread may get no processor for a while.
constexpr std::chrono::minutes patience(2);

/// The place of a value. The server sends it as the bytes of a message. This works because both
/// ends have the same byte order.
struct Place {
    std::uint64_t address = 0;
    std::uint32_t slot = 0;
    std::uint32_t length = 0;  // bytes; 0: there is no value
};

class Server {
public:
    Server(Endpoint& endpoint, std::uint64_t base) : base_(base) {
        endpoint.handle(reserve, [this](const Message& m) {
            const auto slot = slot_of_.try_emplace(key_of(m), slot_of_.size()).first->second;
            answer(m, slot, slot < slots ? value_max : 0);
        });
        endpoint.handle(committed,
                        [this](const Message& m) { lengths_[m.argument()] = m.memory().size(); });
        endpoint.handle(find, [this](const Message& m) {
            const auto slot = slot_of_.find(key_of(m));
            if (slot == slot_of_.end() || slot->second >= slots) return answer(m, 0, 0);
            answer(m, slot->second, lengths_[slot->second]);
        });
    }

private:
    static std::string key_of(const Message& m) {
        return {reinterpret_cast<const char*>(m.bytes().data()), m.bytes().size()};
    }
    void answer(const Message& m, std::size_t slot, std::size_t length) const {
        const Place at{base_ + slot * value_max, static_cast<std::uint32_t>(slot),
                       static_cast<std::uint32_t>(length)};
        m.reply(place, std::as_bytes(std::span(&at, 1)));
    }

    std::uint64_t base_;
    std::map<std::string, std::size_t> slot_of_;  // by key
    std::array<std::size_t, slots> lengths_{};    // of complete values
};

class Client {
public:
    explicit Client(Endpoint& endpoint) : endpoint_(endpoint) {
        endpoint.handle(place, [this](const Message& m) {
            if (m.bytes().size() != sizeof(Place)) return;
            std::memcpy(&place_.emplace(), m.bytes().data(), sizeof(Place));
        });
    }

    bool put(const std::string& key, const std::string& value) {
        const auto where = ask(reserve, key);
        if (!where || value.size() > where->length) return false;
        const auto bytes = std::as_bytes(std::span(value));
        return endpoint_.store(1, where->address, bytes, committed, where->slot) == Status::ok;
    }
    std::optional<std::string> get(const std::string& key) {
        const auto where = ask(find, key);
        if (!where || where->length == 0) return std::nullopt;
        std::string value(where->length, '\0');
        const auto bytes = std::as_writable_bytes(std::span(value));
        if (endpoint_.get(1, where->address, bytes) != Status::ok) return std::nullopt;
        return value;
    }

private:
    std::optional<Place> ask(std::uint16_t handler, const std::string& key) {
        place_.reset();
        const auto bytes = std::as_bytes(std::span(key));
        if (endpoint_.request(1, handler, bytes) != Status::ok) return std::nullopt;
        endpoint_.wait([this] { return place_.has_value(); }, patience);
        return place_;
    }

    Endpoint& endpoint_;
    std::optional<Place> place_;
};

int fail(const std::string& why) {
    std::fprintf(stderr, "key_value: %s\n", why.c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    options.peers.assign(2, argc > 1 ? argv[1] : "shm:key-value");
    options.peer_timeout = patience;
    auto client_end = Endpoint::open(options);
    options.self = 1;
    auto server_end = Endpoint::open(options);
    if (!client_end || !server_end) return fail((client_end ? server_end : client_end).error());

    const auto memory = server_end->allocate(slots * value_max);
    if (!memory) return fail(memory.error());
    const auto base = server_end->register_memory(*memory, {.get = true, .store = true});
    if (!base) return fail(base.error());
    const Server server(*server_end, *base);
    std::atomic<bool> done{false};
    std::thread serving([&] { server_end->wait([&] { return done.load(); }); });

    Client client(*client_end);
    const bool put =
        client.put("one", "first") && client.put("two", "second") && client.put("one", "1st");
    for (const char* const key : {"one", "two", "three"}) {
        std::printf("%s is %s\n", key, client.get(key).value_or("nothing").c_str());
    }
    done = true;
    server_end->wake();
    serving.join();
    return put ? 0 : fail("a value was not put");
}
