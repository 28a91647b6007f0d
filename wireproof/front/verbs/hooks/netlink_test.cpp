// What programs learn of the device by NETLINK_RDMA: the answers, and the sockets that bring them.
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <cstring>
#include <map>
#include <optional>
#include <random>

#include "wireproof/front/verbs/hooks/hooks_test_kit.hpp"
#include "wireproof/front/verbs/hooks/rdma_netlink.h"

namespace hooks_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint32_t asks = 4711;  // the number of the socket
constexpr std::uint32_t sequence = 77;
constexpr std::uint16_t list = NLM_F_REQUEST | NLM_F_DUMP;

template <class Value>
void append(Bytes& bytes, const Value& value) {
    const auto* const data = reinterpret_cast<const std::uint8_t*>(&value);
    bytes.insert(bytes.end(), data, data + sizeof value);
}

struct Attribute {
    std::uint16_t type;
    Bytes value;
};

Attribute number(std::uint16_t type, std::uint32_t value) {
    Attribute made{type, {}};
    append(made.value, value);
    return made;
}

Attribute client(const std::string& name) {
    Attribute made{RDMA_NLDEV_ATTR_CHARDEV_TYPE, {name.begin(), name.end()}};
    made.value.push_back(0);
    return made;
}

const Attribute adapter = number(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
const Attribute port = number(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
const Attribute of_queue_pairs = number(RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP);

Bytes request(unsigned command, std::uint16_t flags, const std::vector<Attribute>& attributes = {},
              unsigned of = RDMA_NL_NLDEV) {
    Bytes made;
    append(made, nlmsghdr{0, static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(of, command)), flags,
                          sequence, 0});
    for (const auto& [type, value] : attributes) {
        append(made, nlattr{static_cast<std::uint16_t>(sizeof(nlattr) + value.size()), type});
        made.insert(made.end(), value.begin(), value.end());
        made.resize(NLMSG_ALIGN(made.size()));
    }
    const auto length = static_cast<std::uint32_t>(made.size());
    std::memcpy(made.data(), &length, sizeof length);
    return made;
}

struct Message {
    nlmsghdr header{};
    Bytes content;

    std::optional<int> error() const {  // of NLMSG_ERROR and NLMSG_DONE
        int value = 0;
        if (content.size() < sizeof value) return std::nullopt;
        std::memcpy(&value, content.data(), sizeof value);
        return value;
    }
    std::map<unsigned, Bytes> attributes() const {
        std::map<unsigned, Bytes> found;
        for (std::size_t at = 0; at < content.size();) {
            nlattr attribute{};
            if (content.size() - at < sizeof attribute) throw std::runtime_error("a cut attribute");
            std::memcpy(&attribute, content.data() + at, sizeof attribute);
            if (attribute.nla_len < sizeof attribute || attribute.nla_len > content.size() - at) {
                throw std::runtime_error("the length of an attribute");
            }
            const auto from = content.begin() + static_cast<std::ptrdiff_t>(at);
            found[attribute.nla_type] = {from + sizeof attribute, from + attribute.nla_len};
            at += NLA_ALIGN(attribute.nla_len);
        }
        return found;
    }
};

std::vector<Message> messages_in(const Bytes& bytes) {
    std::vector<Message> found;
    for (std::size_t at = 0; at < bytes.size();) {
        Message message;
        if (bytes.size() - at < sizeof message.header) throw std::runtime_error("a cut message");
        std::memcpy(&message.header, bytes.data() + at, sizeof message.header);
        const std::size_t length = message.header.nlmsg_len;
        if (length < sizeof message.header || length > bytes.size() - at) {
            throw std::runtime_error("the length of a message");
        }
        const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        message.content = {from + sizeof message.header,
                           from + static_cast<std::ptrdiff_t>(length)};
        found.push_back(message);
        at += NLMSG_ALIGN(length);
    }
    return found;
}

std::uint64_t value_of(const Bytes& bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
    return value;
}

std::string text_of(const Bytes& bytes) {
    return {bytes.begin(), bytes.end() - 1};
}

rdma_facts facts_of_test() {
    rdma_facts facts{};
    facts.name = "wireproof0";
    facts.node_guid = 0xA2000000'00000017;
    facts.system_guid = 0xA2000000'00000018;
    facts.node_type = 1;
    facts.port_state = 4;
    facts.physical_state = 5;
    facts.subnet_prefix = 0xFE800000'00000000;
    facts.lid = 0x1234;
    facts.manager_lid = 0x5678;
    facts.lid_mask_count = 2;
    std::strcpy(facts.interface, "a_longest_name_");
    facts.interface_index = 9;
    facts.nodes[0] = {"uverbs", "uverbs0", true, 1, 0x103};
    facts.nodes[1] = {"rdma_cm", "rdma_cm", false, 4, 0x104};
    return facts;
}

/// The answers to all requests in the bytes.
std::vector<Message> answers(const Bytes& requests, const rdma_facts& facts = facts_of_test()) {
    std::vector<Message> all;
    std::size_t at = 0;
    rdma_answer answer{};
    while (const std::size_t taken = answer_rdma_request(&facts, asks, requests.data() + at,
                                                         requests.size() - at, &answer)) {
        EXPECT_LE(taken, requests.size() - at);
        EXPECT_LE(answer.length, sizeof answer.bytes / 2) << "the room is not generous";
        at += taken;
        for (auto& one : messages_in({answer.bytes, answer.bytes + answer.length})) {
            EXPECT_EQ(one.header.nlmsg_pid, asks);
            all.push_back(one);
        }
    }
    return all;
}

/// The error in the only answer; 0: an acknowledgement.
std::optional<int> error_of(const Bytes& requests) {
    const auto all = answers(requests);
    if (all.size() != 1 || all[0].header.nlmsg_type != NLMSG_ERROR) return std::nullopt;
    return all[0].error();
}

TEST(RdmaNetlink, TheAdapterIsListedAndAsked) {
    const auto listed = answers(request(RDMA_NLDEV_CMD_GET, list | NLM_F_ACK));
    ASSERT_EQ(listed.size(), 2u) << "the end of a list is its acknowledgement";
    EXPECT_EQ(listed[0].header.nlmsg_flags, NLM_F_MULTI);
    EXPECT_EQ(listed[0].header.nlmsg_seq, sequence);
    EXPECT_EQ(listed[1].header.nlmsg_type, NLMSG_DONE);
    EXPECT_EQ(listed[1].header.nlmsg_flags, NLM_F_MULTI);
    EXPECT_EQ(listed[1].error(), 0);
    const auto asked = answers(request(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST | NLM_F_ACK, {adapter}));
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_EQ(asked[0].header.nlmsg_flags, 0);
    EXPECT_EQ(asked[0].content, listed[0].content);
    EXPECT_EQ(asked[1].header.nlmsg_type, NLMSG_ERROR);
    EXPECT_EQ(asked[1].error(), 0);
    const auto shown = asked[0].attributes();
    EXPECT_EQ(text_of(shown.at(RDMA_NLDEV_ATTR_DEV_NAME)), "wireproof0");
    EXPECT_EQ(value_of(shown.at(RDMA_NLDEV_ATTR_DEV_INDEX)), 0u);
    EXPECT_EQ(value_of(shown.at(RDMA_NLDEV_ATTR_PORT_INDEX)), 1u);
    EXPECT_EQ(value_of(shown.at(RDMA_NLDEV_ATTR_NODE_GUID)), 0xA2000000'00000017u);
    EXPECT_EQ(value_of(shown.at(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID)), 0xA2000000'00000018u);
    EXPECT_EQ(shown.at(RDMA_NLDEV_ATTR_DEV_NODE_TYPE), Bytes{1});
    EXPECT_EQ(text_of(shown.at(RDMA_NLDEV_ATTR_DEV_PROTOCOL)), "roce");
}

TEST(RdmaNetlink, APortHasAnInterfaceOrALid) {
    const auto asked = request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST, {adapter, port});
    auto facts = facts_of_test();
    const auto ethernet = answers(asked, facts).at(0).attributes();
    EXPECT_EQ(text_of(ethernet.at(RDMA_NLDEV_ATTR_NDEV_NAME)), "a_longest_name_");
    EXPECT_EQ(value_of(ethernet.at(RDMA_NLDEV_ATTR_NDEV_INDEX)), 9u);
    EXPECT_EQ(ethernet.at(RDMA_NLDEV_ATTR_PORT_STATE), Bytes{4});
    EXPECT_EQ(ethernet.at(RDMA_NLDEV_ATTR_PORT_PHYS_STATE), Bytes{5});
    EXPECT_EQ(ethernet.count(RDMA_NLDEV_ATTR_LID), 0u);
    facts.is_infiniband = true;
    const auto infiniband = answers(asked, facts).at(0).attributes();
    EXPECT_EQ(value_of(infiniband.at(RDMA_NLDEV_ATTR_LID)), 0x1234u);
    EXPECT_EQ(value_of(infiniband.at(RDMA_NLDEV_ATTR_SM_LID)), 0x5678u);
    EXPECT_EQ(infiniband.at(RDMA_NLDEV_ATTR_LMC), Bytes{2});
    EXPECT_EQ(value_of(infiniband.at(RDMA_NLDEV_ATTR_SUBNET_PREFIX)), 0xFE800000'00000000u);
    EXPECT_EQ(infiniband.count(RDMA_NLDEV_ATTR_NDEV_NAME), 0u);
    EXPECT_EQ(answers(request(RDMA_NLDEV_CMD_PORT_GET, list, {adapter})).size(), 2u);
}

TEST(RdmaNetlink, CharacterFilesAreNamedByTheirKind) {
    const auto ask = [](const std::vector<Attribute>& attributes) {
        return request(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_REQUEST, attributes);
    };
    const auto verbs = answers(ask({adapter, client("uverbs")})).at(0).attributes();
    EXPECT_EQ(text_of(verbs.at(RDMA_NLDEV_ATTR_CHARDEV_NAME)), "uverbs0");
    EXPECT_EQ(value_of(verbs.at(RDMA_NLDEV_ATTR_CHARDEV)), 0x103u);
    EXPECT_EQ(value_of(verbs.at(RDMA_NLDEV_ATTR_CHARDEV_ABI)), 1u);
    EXPECT_EQ(text_of(verbs.at(RDMA_NLDEV_ATTR_DEV_NAME)), "wireproof0");
    const auto manager = answers(ask({client("rdma_cm")})).at(0).attributes();
    EXPECT_EQ(value_of(manager.at(RDMA_NLDEV_ATTR_CHARDEV)), 0x104u);
    EXPECT_EQ(manager.count(RDMA_NLDEV_ATTR_DEV_NAME), 0u);
    EXPECT_EQ(error_of(ask({client("uverbs")})), -EOPNOTSUPP);
    EXPECT_EQ(error_of(ask({adapter, client("umad")})), -EOPNOTSUPP);
    EXPECT_EQ(error_of(ask({adapter, client(std::string(1000, 'u'))})), -EOPNOTSUPP);
    EXPECT_EQ(error_of(ask({adapter})), -EINVAL);
}

TEST(RdmaNetlink, WhatIsNotKnownIsAnEmptyAnswer) {
    const auto summary = answers(request(RDMA_NLDEV_CMD_RES_GET, list)).at(0).attributes();
    EXPECT_TRUE(summary.at(RDMA_NLDEV_ATTR_RES_SUMMARY).empty());
    const auto counters =
        answers(request(RDMA_NLDEV_CMD_STAT_GET, NLM_F_REQUEST, {adapter, port})).at(0);
    EXPECT_TRUE(counters.attributes().at(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS).empty());
    for (const unsigned command :
         {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_CMD_RES_CQ_GET,
          RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_CMD_RES_CTX_GET,
          RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_CMD_STAT_GET}) {
        const auto end = answers(request(command, list, {adapter, of_queue_pairs}));
        ASSERT_EQ(end.size(), 1u) << command;
        EXPECT_EQ(end[0].header.nlmsg_type, NLMSG_DONE);
        EXPECT_EQ(error_of(request(command, NLM_F_REQUEST, {adapter, port, of_queue_pairs})),
                  -ENOENT);
    }
    EXPECT_EQ(error_of(request(RDMA_NLDEV_CMD_STAT_GET, list, {adapter})), -EINVAL);
}

TEST(RdmaNetlink, WhatChangesSomethingIsRefused) {
    for (const unsigned command :
         {RDMA_NLDEV_CMD_SET, RDMA_NLDEV_CMD_NEWLINK, RDMA_NLDEV_CMD_DELLINK,
          RDMA_NLDEV_CMD_SYS_SET, RDMA_NLDEV_CMD_STAT_SET, RDMA_NLDEV_CMD_STAT_DEL}) {
        EXPECT_EQ(error_of(request(command, NLM_F_REQUEST, {adapter, port})), -EPERM) << command;
    }
}

TEST(RdmaNetlink, WrongRequestsAreRefusedAndOthersAnswered) {
    const std::vector<Bytes> wrong = {
        request(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST),
        request(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST, {number(RDMA_NLDEV_ATTR_DEV_INDEX, 1)}),
        request(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST, {{RDMA_NLDEV_ATTR_DEV_INDEX, {0, 0}}}),
        request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST, {adapter}),
        request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST,
                {adapter, number(RDMA_NLDEV_ATTR_PORT_INDEX, 2)}),
        request(RDMA_NLDEV_CMD_PORT_GET, list),
        request(RDMA_NLDEV_CMD_UNSPEC, NLM_F_REQUEST),
        request(1023, NLM_F_REQUEST, {adapter}),
        request(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST, {adapter}, RDMA_NL_IWCM),
    };
    for (const Bytes& one : wrong) {
        EXPECT_EQ(error_of(one), -EINVAL) << &one - wrong.data();
        EXPECT_EQ(answers(one).at(0).header.nlmsg_flags, NLM_F_CAPPED);
    }
    EXPECT_TRUE(answers(request(RDMA_NLDEV_CMD_GET, 0, {adapter})).empty()) << "no request";
    EXPECT_EQ(error_of(request(RDMA_NLDEV_CMD_GET, NLM_F_ACK, {adapter})), 0);
    Bytes two = request(RDMA_NLDEV_CMD_SYS_GET, NLM_F_REQUEST);
    const Bytes second = request(RDMA_NLDEV_CMD_SET, NLM_F_REQUEST);
    two.insert(two.end(), second.begin(), second.end());
    const auto both = answers(two);
    ASSERT_EQ(both.size(), 2u);
    EXPECT_EQ(both[0].attributes().count(RDMA_NLDEV_SYS_ATTR_NETNS_MODE), 1u);
    EXPECT_EQ(both[1].error(), -EPERM);
}

/// The bytes alone in memory of their own, so that a sanitizer sees each read beyond them.
std::vector<Message> answers_alone(const Bytes& bytes) {
    return answers(Bytes(bytes));
}

TEST(RdmaNetlink, ACutRequestGetsNoAnswerAndACutAttributeAnError) {
    const Bytes whole = request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST, {adapter, port});
    for (std::size_t length = 0; length < whole.size(); ++length) {
        Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
        EXPECT_TRUE(answers_alone(cut).empty()) << length;
        if (length < sizeof(nlmsghdr)) continue;
        const auto said = static_cast<std::uint32_t>(length);
        std::memcpy(cut.data(), &said, sizeof said);
        const auto all = answers_alone(cut);
        ASSERT_EQ(all.size(), 1u) << length;
        EXPECT_EQ(all[0].error(), -EINVAL) << length;
    }
}

TEST(RdmaNetlink, AnyBytesGetWellFormedAnswers) {
    std::mt19937 engine(17);
    const auto random = [&] { return static_cast<unsigned>(engine()); };
    std::size_t shown = 0;
    for (int round = 0; round < 4'000; ++round) {
        Bytes bytes;
        for (unsigned i = 0; i <= random() % 3; ++i) {
            const auto flags = static_cast<std::uint16_t>(NLM_F_REQUEST | (random() & 0x304));
            const Bytes one = request(random() % 28, flags, {adapter, port, client("uverbs")});
            bytes.insert(bytes.end(), one.begin(), one.end());
        }
        for (unsigned i = 0; i < random() % 4; ++i) {
            bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
        }
        bytes.resize(random() % (bytes.size() + 1));
        for (const Message& message : answers_alone(bytes)) {
            if (message.header.nlmsg_type < NLMSG_MIN_TYPE) {
                EXPECT_TRUE(message.error().has_value());
            } else {
                shown += message.attributes().size();
            }
        }
    }
    EXPECT_GT(shown, 1000u);
}

class HooksNetlink : public Hooks {
protected:
    ~HooksNetlink() override { close(fd_); }
    void SetUp() override {
        if (fd_ == -1) GTEST_SKIP() << "no sockets of NETLINK_USERSOCK: " << std::strerror(errno);
    }

    std::vector<Message> received() const {
        Bytes all(8192);
        sockaddr_nl from{};
        socklen_t size = sizeof from;
        const ssize_t bytes = recvfrom(fd_, all.data(), all.size(), MSG_DONTWAIT,
                                       reinterpret_cast<sockaddr*>(&from), &size);
        EXPECT_EQ(size, sizeof from);
        EXPECT_EQ(from.nl_family, AF_NETLINK);
        all.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
        return messages_in(all);
    }
    std::uint32_t own_number() const {
        sockaddr_nl own{};
        socklen_t size = sizeof own;
        EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &size), 0);
        return own.nl_pid;
    }

    const Bytes asked_ = request(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST, {adapter});
    int fd_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
};

TEST_F(HooksNetlink, EveryWayToSendIsAnsweredWithWhatTheFilesSay) {
    fake.address = "127.0.0.9";
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    Bytes request = asked_;
    iovec parts[] = {{request.data(), 10}, {request.data() + 10, request.size() - 10}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const auto bytes = static_cast<ssize_t>(request.size());
    for (int way = 0; way < 4; ++way) {
        if (way == 3) {
            message.msg_name = &kernel;
            message.msg_namelen = sizeof kernel;
        }
        errno = ENOTTY;
        const ssize_t sent = way == 0 ? send(fd_, request.data(), request.size(), 0)
                             : way == 1
                                 ? sendto(fd_, request.data(), request.size(), 0,
                                          reinterpret_cast<sockaddr*>(&kernel), sizeof kernel)
                                 : sendmsg(fd_, &message, 0);
        EXPECT_EQ(sent, bytes) << way;
        EXPECT_EQ(errno, ENOTTY) << "a call that succeeds leaves errno";
        pollfd wait = {fd_, POLLIN, 0};
        ASSERT_EQ(poll(&wait, 1, 0), 1) << way;
        const auto all = received();
        ASSERT_EQ(all.size(), 1u) << way;
        EXPECT_EQ(all[0].header.nlmsg_pid, own_number());
        const auto shown = all[0].attributes();
        EXPECT_EQ(value_of(shown.at(RDMA_NLDEV_ATTR_NODE_GUID)), 0xA2000000'00000017u);
        EXPECT_EQ(text_in(device + "/node_guid"), "a200:0000:0000:0017\n");
    }
    fake.is_infiniband = true;
    const Bytes of_port =
        hooks_test::request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST, {adapter, port});
    EXPECT_GT(send(fd_, of_port.data(), of_port.size(), 0), 0);
    EXPECT_EQ(value_of(received().at(0).attributes().at(RDMA_NLDEV_ATTR_LID)), 0x2Au);
    EXPECT_EQ(text_in(device + "/ports/1/lid"), "0x2a\n");
}

TEST_F(HooksNetlink, TheNumbersOfCharacterFilesAreTheirs) {
    for (const auto& [kind, path] : {std::pair{"uverbs", node}, std::pair{"rdma_cm", rdma_cm}}) {
        std::vector<Attribute> attributes = {client(kind)};
        if (path == node) attributes.push_back(adapter);
        const Bytes asked = request(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_REQUEST, attributes);
        ASSERT_GT(send(fd_, asked.data(), asked.size(), 0), 0);
        struct stat file {};
        ASSERT_EQ(stat(path, &file), 0);
        EXPECT_EQ(value_of(received().at(0).attributes().at(RDMA_NLDEV_ATTR_CHARDEV)), file.st_rdev)
            << kind;
    }
}

TEST_F(HooksNetlink, OtherSocketsAndReceiversAreTheSystems) {
    Bytes request = asked_;
    sockaddr_nl other{};
    other.nl_family = AF_NETLINK;
    other.nl_pid = own_number() + 1'000'000;
    EXPECT_EQ(sendto(fd_, request.data(), request.size(), 0, reinterpret_cast<sockaddr*>(&other),
                     sizeof other),
              -1);
    EXPECT_EQ(errno, ECONNREFUSED);
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends.data()), 0);
    EXPECT_EQ(send(ends[0], "text", 5, 0), 5);
    std::array<char, 5> text{};
    EXPECT_EQ(recv(ends[1], text.data(), text.size(), 0), 5);
    EXPECT_STREQ(text.data(), "text");
    close(ends[0]);
    close(ends[1]);
    EXPECT_EQ(send(-1, "text", 5, 0), -1);
    EXPECT_EQ(errno, EBADF);
    const Bytes too_long(5000);
    EXPECT_EQ(send(fd_, too_long.data(), too_long.size(), 0), -1);
    EXPECT_EQ(errno, EMSGSIZE);
}

TEST_F(HooksNetlink, ADuplicateInAForkedChildIsAnsweredToo) {
    const int second = dup(fd_);
    EXPECT_EQ(in_child([&] {
                  if (send(second, asked_.data(), asked_.size(), 0) == -1) return 1;
                  return received().size() == 1 ? 0 : 2;
              }),
              0);
    close(second);
}

}  // namespace
}  // namespace hooks_test
