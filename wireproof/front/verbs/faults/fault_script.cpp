#include "wireproof/front/verbs/faults/fault_script.hpp"

#include <array>

#include "wireproof/base/toml_text.hpp"
#include "wireproof/proto/ib/packet/aeth_codes.hpp"
#include "wireproof/proto/ib/packet/opcode.hpp"

namespace wireproof::verbs {
namespace {

using namespace toml_text;

constexpr std::int64_t psn_max = 0xFFFFFF;
constexpr std::int64_t numbers_max = 1 << 24;
constexpr std::int64_t delay_max = 10'000'000;  // us: 10 s
constexpr std::int64_t link_max = 86'400'000;   // ms: a day
constexpr std::array<std::string_view, 2> ways = {"sent", "received"};
constexpr std::array<std::string_view, 4> fates = {"lose", "damage", "duplicate", "delay"};
constexpr std::array<std::string_view, 2> queue_names = {"send", "receive"};
/// The names of verbs, in the order of EventFault::What.
constexpr std::array<std::string_view, 5> event_names = {"DEVICE_FATAL", "QP_FATAL", "QP_REQ_ERR",
                                                         "QP_ACCESS_ERR", "SRQ_LIMIT_REACHED"};
/// The names of verbs. The first status is success, which is no fault.
constexpr std::array<std::string_view, proto::ib::completion_status_names.size() - 1> status_names =
    {"LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_PROT_ERR",     "WR_FLUSH_ERR",
     "MW_BIND_ERR", "BAD_RESP_ERR",  "REM_INV_REQ_ERR",  "REM_ACCESS_ERR",
     "REM_OP_ERR",  "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR"};

/// The kinds of packets, with the names that `wireproof inspect` shows.
std::vector<std::string_view> packet_kinds() {
    std::vector<std::string_view> names = {"ACK",
                                           "RNR NAK",
                                           "NAK sequence",
                                           "NAK invalid request",
                                           "NAK remote access",
                                           "NAK remote operational"};
    for (unsigned byte = 0; byte < 256; ++byte) {
        const proto::ib::Opcode* const opcode =
            proto::ib::find_opcode(static_cast<std::uint8_t>(byte));
        if (opcode == nullptr || opcode->verb == proto::ib::Verb::acknowledge) continue;
        if (std::find(names.begin(), names.end(), opcode->name) == names.end()) {
            names.push_back(opcode->name);
        }
    }
    return names;
}

void microseconds(Section& section, std::string_view key, Duration& value) {
    section.whole(key, 0, delay_max,
                  [&](std::int64_t given) { value = Duration::microseconds(given); });
}

void milliseconds(Section& section, std::string_view key, Duration& value) {
    section.whole(key, 0, link_max,
                  [&](std::int64_t given) { value = Duration::milliseconds(given); });
}

/// Reads `3` or `[3, 5]` into both numbers.
template <class Number>
void range(Section& section, std::string_view key, std::int64_t least, std::int64_t most,
           Number& first, Number& last) {
    const toml::node* const node = section.take(key);
    if (node == nullptr) return;
    const auto both = section.range(*node, key, least, most);
    if (!both) return;
    first = static_cast<Number>(both->first);
    last = static_cast<Number>(both->second);
}

void queue_pair(Section& section, std::optional<std::uint32_t>& value) {
    section.whole("queue_pair", 1, numbers_max,
                  [&](std::int64_t given) { value = static_cast<std::uint32_t>(given); });
}

void read_chances(Section& section, FaultChances& chances) {
    section.probability("loss", chances.rates.loss);
    section.probability("duplicate", chances.rates.duplicate);
    section.probability("reorder", chances.rates.reorder);
    section.number("hold_max", chances.rates.hold_max, 1, 1024);
    section.probability("damage", chances.damage);
    section.probability("delay", chances.delay);
    microseconds(section, "delay_us", chances.delay_time);
    section.probability("burst", chances.burst);
    section.number("burst_packets", chances.burst_packets, 1, 1024);
}

void read_rule(Section& section, PacketRule& rule) {
    static const std::vector<std::string_view> names = packet_kinds();
    if (const auto way = section.word("way", ways)) rule.way = static_cast<Way>(*way);
    if (const auto kind = section.word("opcode", names)) rule.rule.kind = names[*kind];
    queue_pair(section, rule.queue_pair);
    range(section, "psn", 0, psn_max, rule.rule.number_first, rule.rule.number_last);
    range(section, "nth", 1, whole_max, rule.rule.nth_first, rule.rule.nth_last);
    range(section, "attempt", 1, numbers_max, rule.attempt_first, rule.attempt_last);
    Fate& fate = rule.rule.fate;
    const bool has_fate = section.take("fate") != nullptr;
    if (const auto what = section.word("fate", fates)) {
        fate.lost = *what == 0;
        fate.damaged = *what == 1;
        fate.duplicated = *what == 2;
    }
    section.number("behind", fate.held_behind, 1, 1024);
    microseconds(section, "delay_us", rule.delay);
    if (!has_fate) section.miss("fate");
    const bool delays = !fate.lost && !fate.damaged && !fate.duplicated;
    if (has_fate && delays && fate.held_behind == 0 && rule.delay == Duration()) {
        section.miss("delay_us");
    }
}

/// Reads `at_ms` or `at_packet` of something that happens once.
template <class Planned>
void read_time(Section& section, Planned& planned) {
    milliseconds(section, "at_ms", planned.at);
    section.whole("at_packet", 1, whole_max, [&](std::int64_t given) {
        planned.at_packet = static_cast<std::uint64_t>(given);
    });
}

void read_down(Section& section, LinkDown& down) {
    read_time(section, down);
    const bool lasts = section.take("for_ms") != nullptr;
    milliseconds(section, "for_ms", down.lasts);
    if (!lasts) section.miss("for_ms");
}

void read_event(Section& section, EventFault& fault) {
    const bool has_what = section.take("what") != nullptr;
    if (const auto what = section.word("what", event_names)) {
        fault.what = static_cast<EventFault::What>(*what);
    }
    queue_pair(section, fault.queue_pair);
    read_time(section, fault);
    if (!has_what) section.miss("what");
}

void read_completion(Section& section, CompletionFault& fault) {
    if (const auto of = section.word("of", queue_names)) {
        fault.of = static_cast<CompletionFault::Of>(*of);
    }
    queue_pair(section, fault.queue_pair);
    section.number("nth", fault.nth, 1, whole_max);
    if (const auto status = section.word("status", status_names)) {
        fault.status = static_cast<proto::ib::CompletionStatus>(*status + 1);
    } else if (section.take("status") == nullptr) {
        section.miss("status");
    }
}

template <class One, class Read>
void read_all(Section& root, std::string_view key, std::vector<One>& all, Complaints& complaints,
              Read&& read) {
    root.tables(key, [&](Section& section) {
        One one;
        read(section, one);
        if (all.size() == FaultScript::rules_max) {
            complaints.add(section.at(), "there may be 64 of [[" + std::string(key) + "]]");
        } else {
            all.push_back(std::move(one));
        }
    });
}

}  // namespace

Expected<FaultScript> read_fault_script(std::string_view text, const std::string& name) {
    Complaints complaints;
    FaultScript script;
    const bool good = read_toml(text, complaints, [&](Section& root) {
        root.table("sent", [&](Section& section) { read_chances(section, script.sent); });
        root.table("received", [&](Section& section) { read_chances(section, script.received); });
        read_all(root, "packet", script.rules, complaints, read_rule);
        read_all(root, "link_down", script.downs, complaints, read_down);
        read_all(root, "completion", script.completions, complaints, read_completion);
        read_all(root, "event", script.events, complaints, read_event);
        root.finish();
    });
    if (!good) return complaints.in(name);
    return script;
}

}  // namespace wireproof::verbs
