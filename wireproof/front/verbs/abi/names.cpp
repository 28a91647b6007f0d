// Texts and rates of libibverbs. Programs print them.
#include <algorithm>
#include <array>

#include "wireproof/front/verbs/abi/api.hpp"

namespace {

template <std::size_t size>
const char* text_of_name(const std::array<const char*, size>& texts, int value, int first = 0) {
    const bool known = value >= first && value - first < static_cast<int>(size);
    return known ? texts[static_cast<std::size_t>(value - first)] : "unknown";
}

constexpr std::array node_types = {"InfiniBand channel adapter",
                                   "InfiniBand switch",
                                   "InfiniBand router",
                                   "iWARP NIC",
                                   "usNIC",
                                   "usNIC UDP",
                                   "unspecified"};
constexpr std::array port_states = {"no state change (NOP)", "down", "init", "armed", "active",
                                    "active defer"};
constexpr std::array events = {"CQ error",
                               "local work queue catastrophic error",
                               "invalid request local work queue error",
                               "local access violation work queue error",
                               "communication established",
                               "send queue drained",
                               "path migrated",
                               "path migration request error",
                               "local catastrophic error",
                               "port active",
                               "port error",
                               "LID change",
                               "P_Key change",
                               "SM change",
                               "SRQ catastrophic error",
                               "SRQ limit reached",
                               "last WQE reached",
                               "client reregistration",
                               "GID table change",
                               "WQ fatal"};
constexpr std::array statuses = {"success",
                                 "local length error",
                                 "local QP operation error",
                                 "local EE context operation error",
                                 "local protection error",
                                 "Work Request Flushed Error",
                                 "memory management operation error",
                                 "bad response error",
                                 "local access error",
                                 "remote invalid request error",
                                 "remote access error",
                                 "remote operation error",
                                 "transport retry counter exceeded",
                                 "RNR retry counter exceeded",
                                 "local RDD violation error",
                                 "remote invalid RD request",
                                 "aborted error",
                                 "invalid EE context number",
                                 "invalid EE context state",
                                 "fatal error",
                                 "response timeout error",
                                 "general error",
                                 "TM error",
                                 "TM software rendezvous"};

struct Rate {
    ibv_rate rate;
    int multiple;  // of 2.5 Gbit/s; 0: the rate is no multiple
    int megabits;  // per second
};

constexpr std::array rates = {
    Rate{IBV_RATE_2_5_GBPS, 1, 2500},       Rate{IBV_RATE_5_GBPS, 2, 5000},
    Rate{IBV_RATE_10_GBPS, 4, 10000},       Rate{IBV_RATE_20_GBPS, 8, 20000},
    Rate{IBV_RATE_30_GBPS, 12, 30000},      Rate{IBV_RATE_40_GBPS, 16, 40000},
    Rate{IBV_RATE_60_GBPS, 24, 60000},      Rate{IBV_RATE_80_GBPS, 32, 80000},
    Rate{IBV_RATE_120_GBPS, 48, 120000},    Rate{IBV_RATE_28_GBPS, 11, 28125},
    Rate{IBV_RATE_50_GBPS, 20, 53125},      Rate{IBV_RATE_400_GBPS, 160, 425000},
    Rate{IBV_RATE_600_GBPS, 240, 637500},   Rate{IBV_RATE_800_GBPS, 320, 850000},
    Rate{IBV_RATE_1200_GBPS, 480, 1275000}, Rate{IBV_RATE_14_GBPS, 0, 14062},
    Rate{IBV_RATE_56_GBPS, 0, 56250},       Rate{IBV_RATE_112_GBPS, 0, 112500},
    Rate{IBV_RATE_168_GBPS, 0, 168750},     Rate{IBV_RATE_25_GBPS, 0, 25781},
    Rate{IBV_RATE_100_GBPS, 0, 103125},     Rate{IBV_RATE_200_GBPS, 0, 206250},
    Rate{IBV_RATE_300_GBPS, 0, 309375},
};

/// The rate whose `member` has this value, or null.
template <class Member>
const Rate* find_name(Member member, int value) {
    const auto found = std::ranges::find_if(rates, [&](const Rate& one) {
        return value != 0 && static_cast<int>(one.*member) == value;
    });
    return found == rates.end() ? nullptr : &*found;
}

}  // namespace

const char* ibv_node_type_str(ibv_node_type type) {
    return text_of_name(node_types, type, IBV_NODE_CA);
}

const char* ibv_port_state_str(ibv_port_state state) {
    return text_of_name(port_states, state);
}

const char* ibv_event_type_str(ibv_event_type event) {
    return text_of_name(events, event);
}

const char* ibv_wc_status_str(ibv_wc_status status) {
    return text_of_name(statuses, status);
}

int ibv_rate_to_mult(ibv_rate rate) {
    const Rate* const found = find_name(&Rate::rate, rate);
    return found != nullptr && found->multiple != 0 ? found->multiple : -1;
}

ibv_rate mult_to_ibv_rate(int multiple) {
    const Rate* const found = find_name(&Rate::multiple, multiple);
    return found != nullptr ? found->rate : IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
    const Rate* const found = find_name(&Rate::rate, rate);
    return found != nullptr ? found->megabits : -1;
}

ibv_rate mbps_to_ibv_rate(int megabits) {
    const Rate* const found = find_name(&Rate::megabits, megabits);
    return found != nullptr ? found->rate : IBV_RATE_MAX;
}
