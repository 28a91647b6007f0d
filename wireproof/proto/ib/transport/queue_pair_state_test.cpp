// Compares the table of steps between states with a plain list of required and allowed attributes.
#include "wireproof/proto/ib/transport/queue_pair_state.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace wireproof::proto::ib {
namespace {

using State = QueuePairState;
using Words = std::set<std::string>;

const std::map<std::string, Attribute> attributes = {
    {"cur", Attribute::current_state},
    {"pkey", Attribute::partition_index},
    {"port", Attribute::port},
    {"access", Attribute::access},
    {"qkey", Attribute::qkey},
    {"av", Attribute::address},
    {"mtu", Attribute::path_mtu},
    {"dest", Attribute::dest_queue_pair},
    {"rq_psn", Attribute::receive_psn},
    {"sq_psn", Attribute::send_psn},
    {"dest_rd", Attribute::max_dest_rd_atomic},
    {"rd", Attribute::max_rd_atomic},
    {"rnr_timer", Attribute::min_rnr_timer},
    {"timeout", Attribute::timeout},
    {"retry", Attribute::retry_count},
    {"rnr_retry", Attribute::rnr_retry},
    {"alt", Attribute::alternate_path},
    {"mig", Attribute::migration_state},
    {"notify", Attribute::drained_notify},
};

void give(QueuePairChange& change, const std::string& word, State current) {
    if (word == "cur") change.current_state = current;
    if (word == "pkey") change.partition_index = std::uint16_t{0};
    if (word == "port") change.port = std::uint8_t{1};
    if (word == "access") change.access = Access{};
    if (word == "qkey") change.qkey = 1U;
    if (word == "av") change.address = PeerId{1};
    if (word == "mtu") change.path_mtu = std::size_t{1024};
    if (word == "dest") change.dest_queue_pair = 5U;
    if (word == "rq_psn") change.receive_psn = Psn(1);
    if (word == "sq_psn") change.send_psn = Psn(2);
    const auto small = std::uint8_t{3};
    if (word == "dest_rd") change.max_dest_rd_atomic = small;
    if (word == "rd") change.max_rd_atomic = small;
    if (word == "rnr_timer") change.min_rnr_timer = small;
    if (word == "timeout") change.timeout = small;
    if (word == "retry") change.retry_count = small;
    if (word == "rnr_retry") change.rnr_retry = small;
    if (word == "alt") change.alternate_path = true;
    if (word == "mig") change.migration_state = true;
    if (word == "notify") change.drained_notify = true;
}

struct Step {
    Words required = {};
    Words optional = {};
};
using Steps = std::map<std::pair<State, State>, Step>;

Steps steps_of(Transport transport) {
    const bool rc = transport == Transport::rc;
    Steps steps = {
        {{State::reset, State::init}, {{"pkey", "port", "access"}, {}}},
        {{State::init, State::init}, {{}, {"pkey", "port", "access"}}},
        {{State::init, State::rtr}, {{"av", "mtu", "dest", "rq_psn"}, {"alt", "access", "pkey"}}},
        {{State::rtr, State::rts}, {{"sq_psn"}, {"cur", "alt", "access", "mig"}}},
        {{State::rts, State::rts}, {{}, {"cur", "access", "alt", "mig"}}},
        {{State::rts, State::sqd}, {{}, {"notify"}}},
        {{State::sqd, State::rts}, {{}, {"cur", "access", "alt", "mig"}}},
        {{State::sqd, State::sqd}, {{}, {"av", "alt", "access", "pkey", "mig"}}},
        {{State::sqe, State::rts}, {{}, {"cur", "access"}}},
    };
    if (rc) {
        steps[{State::init, State::rtr}].required.insert({"dest_rd", "rnr_timer"});
        steps[{State::rtr, State::rts}].required.insert({"timeout", "retry", "rnr_retry", "rd"});
        for (const auto from : {State::rtr, State::rts, State::sqd}) {
            steps[{from, State::rts}].optional.insert("rnr_timer");
        }
        steps[{State::sqd, State::sqd}].optional.insert(
            {"port", "timeout", "retry", "rnr_retry", "rd", "dest_rd", "rnr_timer"});
        steps[{State::sqe, State::rts}].optional.clear();
    }
    for (const State from : {State::reset, State::init, State::rtr, State::rts, State::sqd,
                             State::sqe, State::error}) {
        steps[{from, State::reset}];
        if (from != State::reset) steps[{from, State::error}];
    }
    return steps;
}

// UC-24
TEST(QueuePairState, TakesEveryStepOfTheTableWithItsAttributesAndNoOther) {
    for (const Transport transport : {Transport::uc, Transport::rc}) {
        const Steps steps = steps_of(transport);
        for (int from = 0; from < 7; ++from) {
            for (int to = 0; to < 7; ++to) {
                const auto current = static_cast<State>(from);
                const auto next = static_cast<State>(to);
                const auto what = std::string(name_of(transport)) + " " +
                                  std::string(name_of(current)) + " " + std::string(name_of(next));
                const auto try_with = [&](const Words& words) {
                    QueuePairChange change{.state = next};
                    for (const auto& word : words) give(change, word, current);
                    return check_change(transport, current, change, wire_circle);
                };
                const auto found = steps.find({current, next});
                if (found == steps.end()) {
                    EXPECT_EQ(try_with({}), ModifyStatus::no_such_step) << what;
                    continue;
                }
                const Step& step = found->second;
                EXPECT_EQ(try_with(step.required), ModifyStatus::done) << what;
                for (const auto& [word, attribute] : attributes) {
                    Words words = step.required;
                    const bool required = words.erase(word) > 0;
                    if (required) {
                        EXPECT_EQ(try_with(words), ModifyStatus::attribute_missing) << what << word;
                        continue;
                    }
                    words.insert(word);
                    EXPECT_EQ(try_with(words), step.optional.contains(word)
                                                   ? ModifyStatus::done
                                                   : ModifyStatus::attribute_not_allowed)
                        << what << " " << word;
                }
            }
        }
    }
}

TEST(QueuePairState, RefusesValuesThatNoFieldHolds) {
    const auto check = [](const QueuePairChange& change) {
        return check_change(Transport::rc, State::sqd, change, wire_circle);
    };
    EXPECT_EQ(check({.timeout = std::uint8_t{31}}), ModifyStatus::done);
    EXPECT_EQ(check({.timeout = std::uint8_t{32}}), ModifyStatus::bad_value);
    EXPECT_EQ(check({.retry_count = std::uint8_t{8}}), ModifyStatus::bad_value);
    EXPECT_EQ(check({.rnr_retry = std::uint8_t{8}}), ModifyStatus::bad_value);
    EXPECT_EQ(check({.min_rnr_timer = std::uint8_t{32}}), ModifyStatus::bad_value);
    QueuePairChange rtr{.state = State::rtr,
                        .address = PeerId{},
                        .path_mtu = std::size_t{1024},
                        .dest_queue_pair = 1U,
                        .receive_psn = Psn(0xFFFFFF)};
    const auto check_rtr = [&] {
        return check_change(Transport::uc, State::init, rtr, wire_circle);
    };
    EXPECT_EQ(check_rtr(), ModifyStatus::done);
    rtr.receive_psn = Psn(0x1000000);
    EXPECT_EQ(check_rtr(), ModifyStatus::bad_value);
    rtr.receive_psn = Psn(0);
    rtr.path_mtu = std::size_t{1000};
    EXPECT_EQ(check_rtr(), ModifyStatus::bad_value);
    rtr.path_mtu = std::size_t{4096};
    rtr.dest_queue_pair = 0x1000000U;
    EXPECT_EQ(check_rtr(), ModifyStatus::bad_value);
}

}  // namespace
}  // namespace wireproof::proto::ib
