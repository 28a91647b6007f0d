#include "wireproof/front/verbs/objects/attributes.hpp"

#include <array>

#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/objects/memory.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::verbs {
namespace {

using proto::ib::QueuePairChange;
using proto::ib::QueuePairCore;
using proto::ib::QueuePairState;

constexpr std::array states = {
    std::pair{IBV_QPS_RESET, QueuePairState::reset}, std::pair{IBV_QPS_INIT, QueuePairState::init},
    std::pair{IBV_QPS_RTR, QueuePairState::rtr},     std::pair{IBV_QPS_RTS, QueuePairState::rts},
    std::pair{IBV_QPS_SQD, QueuePairState::sqd},     std::pair{IBV_QPS_SQE, QueuePairState::sqe},
    std::pair{IBV_QPS_ERR, QueuePairState::error},
};

bool is_state(ibv_qp_state state) {
    return state <= IBV_QPS_ERR;
}

/// One attribute: its bit in the mask, the function that copies it into a change (false: a bad
/// value), and the function that copies it into the answer to a query.
struct Row {
    int bit;
    bool (*take)(const ibv_qp_attr& from, QueuePairChange& to);
    void (*show)(const QueuePairCore& from, const proto::ib::Psns& psns, ibv_qp_attr& to);
};

void show_nothing(const QueuePairCore&, const proto::ib::Psns&, ibv_qp_attr&) {}

const std::array rows = {
    Row{IBV_QP_STATE,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            if (!is_state(from.qp_state)) return false;
            to.state = state_of(from.qp_state);
            return true;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.qp_state = shown(from.state());
        }},
    Row{IBV_QP_CUR_STATE,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            if (!is_state(from.cur_qp_state)) return false;
            to.current_state = state_of(from.cur_qp_state);
            return true;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.cur_qp_state = shown(from.state());
        }},
    Row{IBV_QP_EN_SQD_ASYNC_NOTIFY,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.drained_notify = from.en_sqd_async_notify != 0;
            return true;
        },
        show_nothing},
    Row{IBV_QP_ACCESS_FLAGS,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            // As kernel drivers do, the device reads only the rights that it knows.
            to.access = known_access_of(from.qp_access_flags);
            return true;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.qp_access_flags = flags_of(from.attributes().access);
        }},
    Row{IBV_QP_PKEY_INDEX,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.partition_index = from.pkey_index;
            return true;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.pkey_index = from.attributes().partition_index;
        }},
    Row{IBV_QP_PORT,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.port = from.port_num;
            return from.port_num == limits::port;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.port_num = from.attributes().port;
        }},
    Row{IBV_QP_QKEY,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.qkey = from.qkey;
            return true;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.qkey = from.attributes().qkey;
        }},
    Row{IBV_QP_AV, [](const ibv_qp_attr&, QueuePairChange&) { return true; }, show_nothing},
    Row{IBV_QP_PATH_MTU,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.path_mtu = bytes_of(from.path_mtu);
            return to.path_mtu != 0;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.path_mtu = mtu_of(from.attributes().path_mtu);
        }},
    Row{IBV_QP_TIMEOUT,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.timeout = from.timeout;
            return true;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.timeout = from.attributes().timeout;
        }},
    Row{IBV_QP_RETRY_CNT,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.retry_count = from.retry_cnt;
            return true;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.retry_cnt = from.attributes().retry_count;
        }},
    Row{IBV_QP_RNR_RETRY,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.rnr_retry = from.rnr_retry;
            return true;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.rnr_retry = from.attributes().rnr_retry;
        }},
    Row{IBV_QP_RQ_PSN,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            // Programs give random words. As adapters do, the device takes the lower 24 bits.
            to.receive_psn = proto::ib::Psn(from.rq_psn & 0xFFFFFF);
            return true;
        },
        [](const QueuePairCore&, const proto::ib::Psns& psns, ibv_qp_attr& to) {
            to.rq_psn = static_cast<std::uint32_t>(psns.receive.value());
        }},
    Row{IBV_QP_MAX_QP_RD_ATOMIC,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.max_rd_atomic = from.max_rd_atomic;
            return from.max_rd_atomic <= limits::own_outstanding_reads;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.max_rd_atomic = from.attributes().max_rd_atomic;
        }},
    // The device does not support alternate paths.
    Row{IBV_QP_ALT_PATH, [](const ibv_qp_attr&, QueuePairChange&) { return false; }, show_nothing},
    Row{IBV_QP_MIN_RNR_TIMER,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.min_rnr_timer = from.min_rnr_timer;
            return true;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.min_rnr_timer = from.attributes().min_rnr_timer;
        }},
    Row{IBV_QP_SQ_PSN,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.send_psn = proto::ib::Psn(from.sq_psn & 0xFFFFFF);
            return true;
        },
        [](const QueuePairCore&, const proto::ib::Psns& psns, ibv_qp_attr& to) {
            to.sq_psn = static_cast<std::uint32_t>(psns.send.value());
        }},
    Row{IBV_QP_MAX_DEST_RD_ATOMIC,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.max_dest_rd_atomic = from.max_dest_rd_atomic;
            return from.max_dest_rd_atomic <= limits::outstanding_reads;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.max_dest_rd_atomic = from.attributes().max_dest_rd_atomic;
        }},
    Row{IBV_QP_PATH_MIG_STATE, [](const ibv_qp_attr&, QueuePairChange&) { return false; },
        show_nothing},
    Row{IBV_QP_DEST_QPN,
        [](const ibv_qp_attr& from, QueuePairChange& to) {
            to.dest_queue_pair = from.dest_qp_num;
            return true;
        },
        [](const QueuePairCore& from, const proto::ib::Psns&, ibv_qp_attr& to) {
            to.dest_qp_num = from.attributes().dest_queue_pair;
        }},
};

}  // namespace

QueuePairState state_of(ibv_qp_state state) {
    return states[state].second;
}

ibv_qp_state shown(QueuePairState state) {
    for (const auto& [shown, one] : states) {
        if (one == state) return shown;
    }
    return IBV_QPS_UNKNOWN;
}

std::size_t bytes_of(ibv_mtu mtu) {
    const bool known = mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096;
    return known ? proto::ib::path_mtus[static_cast<std::size_t>(mtu - IBV_MTU_256)] : 0;
}

ibv_mtu mtu_of(std::size_t bytes) {
    int mtu = IBV_MTU_4096;
    while (mtu > IBV_MTU_256 && bytes_of(static_cast<ibv_mtu>(mtu)) > bytes) --mtu;
    return static_cast<ibv_mtu>(mtu);
}

std::optional<QueuePairChange> change_of(const ibv_qp_attr& attributes, int mask) {
    QueuePairChange change;
    for (const Row& row : rows) {
        if ((mask & row.bit) == 0) continue;
        mask &= ~row.bit;
        if (!row.take(attributes, change)) return std::nullopt;
    }
    if (mask != 0) return std::nullopt;  // bits of no attribute in the table
    return change;
}

ibv_qp_attr shown(const QueuePairCore& core, const proto::ib::Psns& psns) {
    ibv_qp_attr attributes{};
    for (const Row& row : rows) row.show(core, psns, attributes);
    attributes.path_mig_state = IBV_MIG_MIGRATED;
    return attributes;
}

}  // namespace wireproof::verbs
