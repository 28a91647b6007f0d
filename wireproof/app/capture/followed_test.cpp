// Tests of the classes that follow connections: the responder compared with that of proto/ib, and
// the responses with data.
#include <gtest/gtest.h>

#include <vector>

#include "wireproof/app/capture/followed_answers.hpp"
#include "wireproof/app/capture/followed_responder.hpp"
#include "wireproof/app/capture/sent_sequence.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::capture {
namespace {

using proto::ib::Operation;
using proto::ib::Transport;

constexpr std::size_t path_mtu = 256;
constexpr std::uint32_t queue_pair = 2;
constexpr std::uint64_t address = 0x10000;

proto::ib::Psn psn(std::uint32_t value) {
    return proto::ib::Psn(value & 0xFFFFFF);
}

/// A packet and its payload.
struct Request {
    Request(Transport transport, Operation operation, std::uint32_t number, std::uint32_t length) {
        packet.headers.bth.opcode = proto::ib::opcode_of(transport, operation);
        packet.headers.bth.dest_qp = queue_pair;
        packet.headers.bth.psn = psn(number);
        packet.headers.reth = {.address = address, .length = length};
        packet.headers.atomic.address = address;
        packet.opcode = proto::ib::find_opcode(packet.headers.bth.opcode);
        if (packet.opcode->payload != proto::ib::PayloadRule::none)
            packet.payload = payload(length);
    }
    static ConstBytes payload(std::uint32_t length) {
        static const std::vector<std::byte> zeros(4096);
        return ConstBytes(zeros).first(std::min<std::size_t>(length, zeros.size()));
    }

    proto::ib::Packet packet;
};

/// A queue pair of this project, with memory and receives for all requests.
class Responder {
public:
    Responder(Transport transport, std::uint32_t first)
        : memory_(1 << 16), port_({.path_mtu = path_mtu}) {
        const proto::ib::Access all{
            .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true};
        key_ = port_.memory()
                   .add_region({.address = address, .memory = memory_, .access = all})
                   .value();
        completions_ = port_.add_completion_queue(64);
        EXPECT_TRUE(port_.add_queue_pair({.transport = transport,
                                          .number = queue_pair,
                                          .send_completions = completions_,
                                          .receive_completions = completions_,
                                          .limits = {.sends = 1, .receives = 4, .pieces = 1}}));
        port_.modify(queue_pair, {.state = proto::ib::QueuePairState::init,
                                  .partition_index = 0,
                                  .port = 1,
                                  .access = all});
        proto::ib::QueuePairChange ready{.state = proto::ib::QueuePairState::rtr,
                                         .address = PeerId{0},
                                         .path_mtu = path_mtu,
                                         .dest_queue_pair = queue_pair,
                                         .receive_psn = psn(first)};
        if (transport == Transport::rc) {
            ready.max_dest_rd_atomic = 16;
            ready.min_rnr_timer = 0;
        }
        EXPECT_EQ(port_.modify(queue_pair, ready), proto::ib::ModifyStatus::done);
    }

    const proto::ib::QueuePairCounters& counters() const {
        return port_.queue_pair(queue_pair)->counters;
    }

    void on_request(const Request& request) {
        const proto::ib::Piece all{address, 1 << 16, key_};
        while (port_.post_receive(queue_pair, {.pieces = std::span(&all, 1)}) ==
               proto::ib::PostStatus::accepted) {
        }
        proto::ib::Headers headers = request.packet.headers;
        headers.reth.rkey = headers.atomic.rkey = key_;
        TxFrame frame;
        frame.open(room_, {.frame_max = room_.size()});
        encode(headers, std::span(&request.packet.payload, 1), frame);
        port_.on_frame({}, {.bytes = frame.gather_in_place(), .integrity = Integrity::intact});
        std::vector<std::byte> answer_room(proto::ib::packet_max(path_mtu));
        TxFrame answer;
        do {
            answer.open(answer_room, {.frame_max = answer_room.size()});
        } while (port_.poll_transmit({}, answer));
        while (port_.poll(completions_)) {
        }
        while (port_.next_delivery()) {
        }
    }

private:
    std::vector<std::byte> memory_;
    std::vector<std::byte> room_ = std::vector<std::byte>(8192);
    proto::ib::Port port_;
    proto::ib::CompletionQueueId completions_{};
    std::uint32_t key_ = 0;
};

/// Messages of all kinds, packet by packet, with the PSNs of a sender.
std::vector<Request> traffic(Transport transport, std::uint32_t first, Random& random) {
    std::vector<Request> all;
    std::uint32_t next = first;
    const auto add = [&](Operation operation, std::uint32_t length, std::uint32_t numbers = 1) {
        all.emplace_back(transport, operation, next, length);
        next += numbers;
    };
    constexpr auto full = static_cast<std::uint32_t>(path_mtu);
    while (all.size() < 60) {
        switch (random.below(transport == Transport::rc ? 5 : 3)) {
            case 0: add(Operation::send_only, 8); break;
            case 1: add(Operation::write_only, full); break;
            case 2:
                add(Operation::send_first, full);
                for (std::uint64_t n = random.below(3); n > 0; --n) {
                    add(Operation::send_middle, full);
                }
                add(Operation::send_last, 4);
                break;
            case 3: {
                const auto length = static_cast<std::uint32_t>(random.below(2'000));
                add(Operation::read_request, length,
                    static_cast<std::uint32_t>(proto::ib::packets_of(length, path_mtu)));
                break;
            }
            default: add(Operation::fetch_add, 0); break;
        }
    }
    return all;
}

/// Some packets are lost, some are duplicated. A sender of RC goes back to a lost packet after a
/// few more packets.
std::vector<Request> over_a_network(Transport transport, const std::vector<Request>& sent,
                                    Random& random) {
    std::vector<Request> arrived;
    for (std::size_t i = 0; i < sent.size(); ++i) {
        if (i > 0 && random.chance(0.1)) {
            if (transport == Transport::uc) continue;
            for (std::size_t k = i + 1; k < std::min(i + 3, sent.size()); ++k) {
                arrived.push_back(sent[k]);
            }
        }
        arrived.push_back(sent[i]);
        if (i > 0 && random.chance(0.1)) arrived.push_back(sent[random.below(i)]);
    }
    return arrived;
}

TEST(FollowedResponder, MakesOfPacketsWhatTheEnginesResponderMakes) {
    for (const Transport transport : {Transport::rc, Transport::uc}) {
        Random random(3);
        std::uint64_t gaps = 0;
        std::uint64_t duplicates = 0;
        for (int world = 0; world < 200; ++world) {
            const std::uint32_t first = world % 2 == 0 ? 0xFFFFF0 : 5;
            FollowedResponder followed(transport);
            Responder responder(transport, first);
            PathMtuSet path_mtus;
            path_mtus.learn_exactly(path_mtu);
            bool in_gap = false;
            for (const Request& request :
                 over_a_network(transport, traffic(transport, first, random), random)) {
                const proto::ib::QueuePairCounters before = responder.counters();
                responder.on_request(request);
                const proto::ib::QueuePairCounters& after = responder.counters();
                const bool gap = after.gaps > before.gaps;
                const auto outcome = followed.on_request(request.packet, path_mtus);
                ASSERT_EQ(outcome.duplicate, after.duplicates > before.duplicates);
                ASSERT_EQ(outcome.abandoned, after.abandoned > before.abandoned);
                ASSERT_EQ(outcome.missing_from.has_value(), gap && !in_gap);
                in_gap = (in_gap || gap) && after.executed == before.executed;
                gaps += outcome.missing_from ? 1U : 0U;
                duplicates += outcome.duplicate ? 1U : 0U;
            }
        }
        EXPECT_GT(gaps, 200U);
        EXPECT_GT(duplicates, 300U);
    }
}

TEST(FollowedResponder, APathMtuThatIsNotKnownIsLearntFromTheNextPsn) {
    for (const std::size_t mtu : proto::ib::path_mtus) {
        PathMtuSet path_mtus;
        FollowedResponder followed(Transport::rc);
        SentSequence sent;
        std::uint32_t next = 0xFFFFFD;
        for (int i = 0; i < 3; ++i) {
            const Request read(Transport::rc, Operation::read_request, next, 9'000);
            EXPECT_FALSE(sent.goes_back(read.packet, path_mtus));
            const auto outcome = followed.on_request(read.packet, path_mtus);
            EXPECT_FALSE(outcome.duplicate || outcome.missing_from) << mtu;
            next += static_cast<std::uint32_t>(proto::ib::packets_of(9'000, mtu));
        }
        EXPECT_EQ(path_mtus.least(), mtu);
        EXPECT_EQ(path_mtus.largest(), mtu);
    }
}

TEST(FollowedResponder, WhatFollowsARefusalOnItsWayIsNoGap) {
    PathMtuSet path_mtus;
    FollowedResponder followed(Transport::rc);
    const auto take = [&](std::uint32_t number) {
        return followed.on_request(Request(Transport::rc, Operation::send_only, number, 4).packet,
                                   path_mtus);
    };
    for (std::uint32_t i = 0; i < 6; ++i) EXPECT_FALSE(take(i).missing_from);
    followed.on_refusal(psn(3));
    EXPECT_FALSE(take(6).missing_from);
    for (std::uint32_t i = 3; i < 9; ++i) {
        const auto outcome = take(i);
        EXPECT_FALSE(outcome.duplicate || outcome.missing_from) << i;
    }
    EXPECT_TRUE(take(8).duplicate);
    EXPECT_EQ(take(10).missing_from, psn(9));
}

struct Answers {
    Answers() { path_mtus.learn_exactly(path_mtu); }
    std::optional<FollowedAnswers::AskedAgain> read(std::uint32_t number, std::uint32_t packets) {
        return answers.on_request(Request(Transport::rc, Operation::read_request, number,
                                          packets * static_cast<std::uint32_t>(path_mtu))
                                      .packet,
                                  path_mtus);
    }
    FollowedAnswers::Outcome answer(std::uint32_t number) {
        return answers.on_answer(psn(number), path_mtus);
    }
    FollowedAnswers::Outcome acknowledge(std::uint32_t number) {
        return answers.on_acknowledge(psn(number), path_mtus);
    }

    PathMtuSet path_mtus;
    FollowedAnswers answers;
};

TEST(FollowedAnswers, AMissingResponseIsReportedOnceAndMayBeRequestedAgain) {
    for (const std::uint32_t first : {100U, 0xFFFFFEU}) {
        Answers answers;
        EXPECT_FALSE(answers.read(first, 6));
        EXPECT_FALSE(answers.answer(first).lost);
        const auto lost = answers.answer(first + 3).lost;
        ASSERT_TRUE(lost);
        EXPECT_EQ(lost->from, psn(first + 1));
        EXPECT_EQ(lost->to, psn(first + 2));
        EXPECT_FALSE(answers.answer(first + 5).lost);
        const auto again = answers.read(first + 1, 5);
        ASSERT_TRUE(again);
        EXPECT_EQ(again->request, psn(first));
        for (std::uint32_t i = 1; i < 6; ++i) {
            const auto outcome = answers.answer(first + i);
            EXPECT_FALSE(outcome.lost || outcome.duplicate) << i;
        }
        EXPECT_TRUE(answers.answer(first + 5).duplicate);
    }
}

TEST(FollowedAnswers, WhatIsAcknowledgedBehindAReadShowsThatItsResponsesAreLost) {
    Answers answers;
    answers.read(10, 2);
    answers.read(12, 2);
    EXPECT_FALSE(answers.answer(10).lost);
    EXPECT_FALSE(answers.acknowledge(10).lost);
    const auto lost = answers.acknowledge(14).lost;
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->from, psn(11));
    EXPECT_EQ(lost->to, psn(13));
    EXPECT_FALSE(answers.acknowledge(15).lost);
}

TEST(FollowedAnswers, TheAnswerOfALaterReadShowsThatAnEarlierOneIsLost) {
    Answers answers;
    answers.read(10, 2);
    answers.read(12, 2);
    const auto lost = answers.answer(12).lost;
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->from, psn(10));
    EXPECT_EQ(lost->to, psn(11));
}

}  // namespace
}  // namespace wireproof::capture
