// Contacts over TCP: two sides in two threads, and other programs that send something else.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "wireproof/ib.hpp"

namespace wireproof::ib {
namespace {

using namespace std::chrono_literals;

/// It only ends a test that hangs.
constexpr std::chrono::milliseconds patience(120'000);

/// A socket on a loopback port that the kernel chose.
struct Door {
    Door() : handle(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof at;
        EXPECT_EQ(::bind(handle, reinterpret_cast<sockaddr*>(&at), length), 0);
        EXPECT_EQ(::getsockname(handle, reinterpret_cast<sockaddr*>(&at), &length), 0);
        address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    }
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;
    ~Door() { ::close(handle); }

    int handle;
    std::string address;
};

std::string free_address() {
    return Door().address;
}

const Contact mine{.address = "10.0.0.1",
                   .queue_pair = 0x123456,
                   .psn = 0xFFFFFF,
                   .path_mtu = 4096,
                   .memory = 0xFFFF'FFFF'FFFF'0000,
                   .length = 65535,
                   .key = 0xFFFFFFFF,
                   .responder_resources = 16};

void expect_same(const Contact& got, const Contact& sent) {
    EXPECT_EQ(got.address, sent.address);
    EXPECT_EQ(got.queue_pair, sent.queue_pair);
    EXPECT_EQ(got.psn, sent.psn);
    EXPECT_EQ(got.path_mtu, sent.path_mtu);
    EXPECT_EQ(got.memory, sent.memory);
    EXPECT_EQ(got.length, sent.length);
    EXPECT_EQ(got.key, sent.key);
    EXPECT_EQ(got.responder_resources, sent.responder_resources);
}

TEST(Exchange, GivesEachSideTheOthersContactWhoeverComesFirst) {
    const Contact theirs{.address = "fe80::1%2", .queue_pair = 2, .psn = 0};
    for (const bool client_first : {true, false}) {
        const std::string address = free_address();
        std::optional<Result<Contact>> heard;
        std::thread client([&] {
            if (!client_first) std::this_thread::sleep_for(100ms);
            heard = exchange_as_client(address, theirs, patience);
        });
        if (client_first) std::this_thread::sleep_for(100ms);
        const auto got = exchange_as_server(address, mine, patience);
        client.join();
        ASSERT_TRUE(got) << got.error();
        ASSERT_TRUE(*heard) << heard->error();
        expect_same(*got, theirs);
        expect_same(**heard, mine);
    }
}

TEST(Exchange, EndsInOneLineWhenNobodyComes) {
    for (const auto exchange : {exchange_as_server, exchange_as_client}) {
        const auto got = exchange(free_address(), mine, 100ms);
        ASSERT_FALSE(got);
        EXPECT_NE(got.error().find("contact exchange: "), std::string::npos);
        EXPECT_FALSE(exchange("nowhere", mine, 100ms));
    }
}

/// The result of a client whose server sends `said`.
Result<Contact> heard(const std::string& said) {
    const Door door;
    EXPECT_EQ(::listen(door.handle, 1), 0);
    std::thread other([&] {
        const int connection = ::accept(door.handle, nullptr, nullptr);
        ::send(connection, said.data(), said.size(), MSG_NOSIGNAL);
        ::shutdown(connection, SHUT_WR);
        char rest[64];
        while (::recv(connection, rest, sizeof rest, 0) > 0) {
        }
        ::close(connection);
    });
    auto got = exchange_as_client(door.address, mine, patience);
    other.join();
    return got;
}

TEST(Exchange, AnOlderContactKeepsOneReadOrAtomic) {
    const std::string older = "wireproof-ib 1 10.0.0.1 2 3 1024 4 5 6";
    for (const auto& [end, resources] : std::vector<std::pair<std::string, std::size_t>>{
             {"\n", 1}, {" 1\n", 1}, {" 7\n", 7}, {" 16 and more\n", 16}}) {
        const auto got = heard(older + end);
        ASSERT_TRUE(got) << got.error();
        EXPECT_EQ(got->key, 6U);
        EXPECT_EQ(got->responder_resources, resources) << end;
    }
}

TEST(Exchange, DoesNotBelieveWhatIsNoContact) {
    for (const std::string& said :
         {std::string("GET / HTTP/1.0\n"), std::string("wireproof-ib 2 10.0.0.1 1 1 1024 0 0 0\n"),
          std::string("wireproof-ib 1 10.0.0.1 1 1 1024 0 0\n"),
          std::string("wireproof-ib 1 10.0.0.1 1 1 1024 0 0 0 some\n"),
          std::string("wireproof-ib 1 10.0.0.1 99999999999 1 1024 0 0 0\n"), std::string("\n"),
          std::string(100'000, 'x'), std::string()}) {
        const auto got = heard(said);
        EXPECT_FALSE(got) << said.substr(0, 60);
    }
}

}  // namespace
}  // namespace wireproof::ib
