// Datagram queue pairs of two devices in one program, and services that name them.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "wireproof/front/ib/device_test_kit.hpp"

namespace wireproof::ib::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t datagram_service = datagram_service_of_port(7177);
constexpr std::uint32_t qkey = 0x1234;

std::span<const std::byte> span_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}
/// The text without the zeros after it.
std::string text_in(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data())};
}

class Datagrams : public Devices {
protected:
    void open(const QueuePairOptions& options = {.transport = Transport::datagram, .qkey = qkey}) {
        a.emplace(1, 1024, options);
        b.emplace(2, 1024, options);
    }
    static AddressHandle address_of(End& from, const End& to, std::uint32_t key = qkey) {
        return *AddressHandle::create(from.device, to.pair.contact().address, to.pair.number(),
                                      key);
    }
};

TEST_F(Datagrams, ArriveAtTheFirstByteOfAReceiveAndNameTheirSender) {
    open();
    a->put(0, "over to you");
    b->memory[11] = std::byte{'!'};
    ASSERT_EQ(b->pair.post_receive(7, b->region->piece(0, 100)), Status::ok);
    ASSERT_EQ(a->pair.send_to(1, a->region->piece(0, 11), address_of(*a, *b), 77), Status::ok);
    const Completion sent = next(*a);
    EXPECT_EQ(sent.id, 1U);
    EXPECT_EQ(sent.status, WorkStatus::success);
    EXPECT_EQ(sent.operation, Operation::send);
    EXPECT_FALSE(sent.sender);
    const Completion came = next(*b);
    EXPECT_EQ(came.id, 7U);
    EXPECT_EQ(came.operation, Operation::receive);
    EXPECT_EQ(came.length, 11U);
    EXPECT_EQ(came.immediate, 77U);
    EXPECT_EQ(b->text(0, 12), "over to you!");
    ASSERT_TRUE(came.sender);
    EXPECT_EQ(came.sender->host(), host(1));
    EXPECT_EQ(came.sender->queue_pair(), a->pair.number());
    EXPECT_EQ(came.sender->qkey(), qkey);

    // The sender in a completion is enough to answer.
    ASSERT_EQ(a->pair.post_receive(8, a->region->piece(200, 100)), Status::ok);
    ASSERT_EQ(b->pair.send_inline_to(2, span_of("thanks"), *came.sender), Status::ok);
    const Completion answer = next(*a);
    EXPECT_EQ(answer.id, 8U);
    EXPECT_EQ(answer.length, 6U);
    EXPECT_EQ(a->text(200, 6), "thanks");
    ASSERT_TRUE(answer.sender);
    EXPECT_EQ(answer.sender->host(), host(2));
}

TEST_F(Datagrams, AreAsLongAsThePathMtuAndMayBeEmptyOrScattered) {
    open({.transport = Transport::datagram, .pieces = 31, .qkey = qkey});
    for (std::size_t i = 0; i < 1024; ++i) a->memory[i] = static_cast<std::byte>(i * 7 + i / 251);
    const std::array<Piece, 2> pieces{b->region->piece(0, 1000), b->region->piece(2000, 24)};
    ASSERT_EQ(b->pair.post_receive(1, pieces), Status::ok);
    ASSERT_EQ(b->pair.post_receive(2, Piece()), Status::ok);
    const AddressHandle to = address_of(*a, *b);
    EXPECT_EQ(a->pair.send_to(1, a->region->piece(0, 1025), to), Status::too_long);
    ASSERT_EQ(a->pair.send_to(1, a->region->piece(0, 1024), to), Status::ok);
    ASSERT_EQ(a->pair.send_to(2, Piece(), to), Status::ok);
    EXPECT_EQ(next(*b).length, 1024U);
    EXPECT_EQ(std::memcmp(b->memory.data(), a->memory.data(), 1000), 0);
    EXPECT_EQ(std::memcmp(b->memory.data() + 2000, a->memory.data() + 1000, 24), 0);
    const Completion empty = next(*b);
    EXPECT_EQ(empty.id, 2U);
    EXPECT_EQ(empty.length, 0U);
    ASSERT_EQ(b->pair.post_receive(3, b->region->all()), Status::ok);
    b->pair.disconnect();
    const Completion flushed = next(*b);
    EXPECT_EQ(flushed.status, WorkStatus::flushed);
    EXPECT_EQ(flushed.length, 0U);
    EXPECT_FALSE(flushed.sender);
}

TEST_F(Datagrams, ThatNobodyTakesAreDropped) {
    open();
    ASSERT_EQ(b->pair.post_receive(1, b->region->piece(0, 4)), Status::ok);
    ASSERT_EQ(a->pair.send_to(1, a->region->piece(0, 4), address_of(*a, *b, qkey + 1)), Status::ok);
    ASSERT_EQ(a->pair.send_to(2, a->region->piece(0, 5), address_of(*a, *b)), Status::ok);
    a->put(0, "fits");
    ASSERT_EQ(a->pair.send_to(3, a->region->piece(0, 4), address_of(*a, *b)), Status::ok);
    EXPECT_EQ(next(*b).length, 4U);
    EXPECT_EQ(b->text(0, 4), "fits");
    EXPECT_FALSE(b->completions.poll());
    EXPECT_FALSE(b->pair.failed());
    // If the highest bit is set, the datagram carries the sender's own Q_Key, which is also the
    // receiver's.
    ASSERT_EQ(b->pair.post_receive(2, b->region->piece(0, 4)), Status::ok);
    ASSERT_EQ(a->pair.send_to(4, a->region->piece(0, 4), address_of(*a, *b, 0x80000000)),
              Status::ok);
    EXPECT_EQ(next(*b).id, 2U);
}

TEST_F(Datagrams, AndConnectionsDoNotMix) {
    open();
    End reliable(3, 1024, {});
    const AddressHandle to = address_of(*a, *b);
    EXPECT_EQ(a->pair.send(1, Piece()), Status::not_supported);
    EXPECT_EQ(a->pair.send_inline(1, {}), Status::not_supported);
    EXPECT_EQ(a->pair.write(1, Piece(), b->remote(0)), Status::not_supported);
    EXPECT_EQ(a->pair.read(1, Piece(), b->remote(0)), Status::not_supported);
    EXPECT_EQ(a->pair.connect(b->pair.contact()), Status::not_supported);
    const auto met = a->pair.connect(host(2), service_of_port(1));
    ASSERT_FALSE(met);
    EXPECT_EQ(met.error(),
              "connection to " + host(2) + ": a queue pair for datagrams has no connection");
    EXPECT_EQ(reliable.pair.send_to(1, Piece(), to), Status::not_supported);
    EXPECT_EQ(reliable.pair.send_inline_to(1, {}, to), Status::not_supported);
    EXPECT_EQ(b->pair.send_to(1, Piece(), to), Status::bad_contact) << "of another device";
    const auto shared = SharedReceiveQueue::create(a->domain);
    const auto error = [&](const QueuePairOptions& options) {
        const auto pair = QueuePair::create(a->domain, a->completions, a->completions, options);
        return pair ? "none" : pair.error();
    };
    EXPECT_EQ(error({.transport = Transport::datagram, .pieces = 32}), "pieces is 32, not 1 to 31");
    const auto pair = QueuePair::create(a->domain, a->completions, a->completions, *shared,
                                        {.transport = Transport::datagram});
    ASSERT_FALSE(pair);
    EXPECT_EQ(pair.error(), "a queue pair for datagrams cannot use shared receives");
}

TEST_F(Datagrams, GoToAddressesThatAHostCanHave) {
    open();
    EXPECT_FALSE(AddressHandle::create(a->device, "nowhere", 2, qkey));
    EXPECT_FALSE(AddressHandle::create(a->device, "::1", 2, qkey)) << "the other family";
    const auto large = AddressHandle::create(a->device, host(2), 1 << 24, qkey);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error(), "queue_pair is 16777216, not 0 to 16777215");
    const auto named = AddressHandle::create(a->device, host(2), 0xFFFFFE, qkey);
    ASSERT_TRUE(named);
    EXPECT_EQ(named->host(), host(2));
    EXPECT_EQ(named->queue_pair(), 0xFFFFFEU);
    EXPECT_EQ(named->qkey(), qkey);
}

TEST_F(Datagrams, LeaveNoFreeMemoryToTheEngineWhenTheirPairHasGone) {
    open();
    const AddressHandle to = address_of(*a, *b);
    {
        auto gone = QueuePair::create(b->domain, b->completions, b->completions,
                                      {.transport = Transport::datagram, .qkey = qkey});
        ASSERT_TRUE(gone);
        ASSERT_EQ(gone->post_receive(1, b->region->all()), Status::ok);
    }
    ASSERT_EQ(b->pair.post_receive(2, b->region->all()), Status::ok);
    ASSERT_EQ(a->pair.send_to(3, a->region->piece(0, 4), to), Status::ok);
    EXPECT_EQ(next(*b).id, 2U);
}

TEST_F(Datagrams, AreClosedInAForkedChild) {
    open();
    const AddressHandle to = address_of(*a, *b);
    auto listener = DatagramListener::open(a->device, datagram_service);
    ASSERT_TRUE(listener);
    EXPECT_EQ(in_child([&] {
                  const bool closed =
                      a->pair.send_to(1, Piece(), to) == Status::closed &&
                      a->pair.post_receive(1, Piece()) == Status::closed &&
                      !AddressHandle::create(a->device, host(2), 2, qkey) &&
                      !AddressHandle::resolve(a->device, host(2), datagram_service) &&
                      !DatagramListener::open(a->device, datagram_service + 1) &&
                      !listener->poll() && !listener->wait();
                  listener = Result<DatagramListener>::failure("gone");
                  a.reset();
                  return closed ? 7 : 1;
              }),
              7);
}

TEST(DatagramServices, NameAQueuePairAndItsKey) {
    const QueuePairOptions options{.transport = Transport::datagram, .qkey = qkey};
    End passive(51, 1024, options);
    auto listener = DatagramListener::open(passive.device, datagram_service);
    ASSERT_TRUE(listener) << listener.error();
    EXPECT_FALSE(DatagramListener::open(passive.device, datagram_service)) << "somebody listens";
    ASSERT_EQ(passive.pair.post_receive(1, passive.region->all()), Status::ok);
    std::string told;
    std::thread other([&] {
        End active(52, 1024, options);
        const auto resolved = AddressHandle::resolve(active.device, host(51), datagram_service,
                                                     span_of("which one?"), patience);
        if (!resolved) {
            told = resolved.error();
            return;
        }
        told = text_in(resolved->told);
        EXPECT_EQ(resolved->address.host(), host(51));
        EXPECT_EQ(resolved->address.qkey(), qkey);
        EXPECT_EQ(active.pair.send_inline_to(2, span_of("found"), resolved->address), Status::ok);
        EXPECT_TRUE(active.completions.wait(patience));
    });
    auto asked = listener->wait(patience);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->address(), host(52));
    EXPECT_EQ(asked->told().size(), 180U);
    EXPECT_EQ(text_in(asked->told()), "which one?");
    const End reliable(53, 1024, {});
    auto own = QueuePair::create(passive.domain, passive.completions, passive.completions);
    const auto why = [&](const QueuePair& pair, std::span<const std::byte> tell) {
        const auto answered = asked->answer(pair, tell);
        return answered ? "" : answered.error();
    };
    const std::string from = "question from " + host(52) + ": ";
    EXPECT_EQ(why(reliable.pair, {}), from + "the queue pair is of another device");
    EXPECT_EQ(why(*own, {}), from + "the queue pair is not one for datagrams");
    EXPECT_EQ(why(passive.pair, std::vector<std::byte>(137)),
              from + "there are too many private bytes");
    EXPECT_EQ(why(passive.pair, span_of("this one")), "");
    EXPECT_EQ(why(passive.pair, {}), from + "answered before");
    const auto came = passive.completions.wait(patience);
    ASSERT_TRUE(came);
    EXPECT_EQ(passive.text(0, came->length), "found");
    EXPECT_EQ(came->sender->host(), host(52));
    other.join();
    EXPECT_EQ(told, "this one");
}

TEST(DatagramServices, AreRefusedInOneLine) {
    End passive(54, 1024, {.transport = Transport::datagram});
    auto listener = DatagramListener::open(passive.device, datagram_service);
    ASSERT_TRUE(listener);
    std::vector<std::string> reasons;
    std::atomic<bool> over = false;
    std::thread other([&] {
        End active(55, 1024, {.transport = Transport::datagram});
        const auto ask = [&](std::uint64_t whom, std::string_view tell) {
            const auto resolved =
                AddressHandle::resolve(active.device, host(54), whom, span_of(tell), patience);
            reasons.push_back(resolved ? "" : resolved.error());
        };
        ask(datagram_service_of_port(1), "");
        ask(datagram_service, "no");
        ask(datagram_service, "forgotten");
        ask(datagram_service, std::string(181, 'x'));
        const auto silent =
            AddressHandle::resolve(active.device, host(56), datagram_service, {}, 50ms);
        reasons.push_back(silent ? "" : silent.error().substr(0, 60));
        over = true;
    });
    int questions = 0;
    while (!over) {
        auto asked = listener->wait(10ms);
        if (asked && ++questions == 1) asked->reject(span_of("because"));
    }
    other.join();
    EXPECT_EQ(questions, 2);
    const std::string place = " of " + host(54) + ": ";
    const std::string here = "service " + std::to_string(datagram_service) + place;
    ASSERT_EQ(reasons.size(), 5U);
    EXPECT_EQ(reasons[0], "service " + std::to_string(datagram_service_of_port(1)) + place +
                              "refused: nobody listens there");
    EXPECT_EQ(reasons[1], here + "refused by its user");
    EXPECT_EQ(reasons[2], reasons[1]) << "a question that goes unanswered";
    EXPECT_EQ(reasons[3], here + "there are too many private bytes");
    EXPECT_NE(reasons[4].find("no answer"), std::string::npos) << reasons[4];
}

}  // namespace
}  // namespace wireproof::ib::test
