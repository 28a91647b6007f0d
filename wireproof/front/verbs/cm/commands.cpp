#include "wireproof/front/verbs/cm/commands.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

namespace wireproof::verbs {
namespace {

/// The bytes of a command, and the number of bytes that its answer may have.
struct Call {
    const CmCaller& caller;
    ConstBytes in;
    std::size_t room;

    RdmaCm& cm() const { return caller.rdma_cm; }
    const std::shared_ptr<CmChannel>& channel() const { return caller.channel; }
};

/// Reads a command. A command may be shorter, but not shorter than `least`; its other bytes are
/// then 0. Returns false if it is too short.
template <class Command>
bool read(const Call& call, Command& command, std::size_t least = sizeof(Command)) {
    if (call.in.size() < least) return false;
    std::memcpy(&command, call.in.data(), std::min(call.in.size(), sizeof command));
    return true;
}

std::byte* memory_at(std::uint64_t address) {
    return std::bit_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

int write_answer(std::uint64_t address, ConstBytes answer) {
    return copy_program(memory_at(address), answer.data(), answer.size()) ? 0 : EFAULT;
}

/// Writes as much of the answer as the program has room for.
template <class Answer>
int write_answer(const Call& call, std::uint64_t address, const Answer& answer) {
    const auto bytes = std::as_bytes(std::span(&answer, 1));
    return write_answer(address, bytes.first(std::min(bytes.size(), call.room)));
}

/// The IP address in a command. `room` is a field that is large enough for any kind of sockaddr.
template <class Room>
std::optional<CmName> name_in(const Room& room, std::size_t size) {
    return size <= sizeof room ? cm_name_of(&room, size) : std::nullopt;
}

int create_id(const Call& call) {
    rdma_ucm_create_id command{};
    rdma_ucm_create_id_resp answer{};
    if (!read(call, command)) return EINVAL;
    if (call.room < sizeof answer) return ENOSPC;
    const int error =
        call.cm().create(call.channel(), command.uid, command.ps, command.qp_type, answer.id);
    if (error != 0) return error;
    const int written = write_answer(call, command.response, answer);
    std::uint32_t taken = 0;
    if (written != 0) call.cm().destroy(call.channel(), answer.id, taken);
    return written;
}

int destroy_id(const Call& call) {
    rdma_ucm_destroy_id command{};
    rdma_ucm_destroy_id_resp answer{};
    if (!read(call, command)) return EINVAL;
    if (call.room < sizeof answer) return ENOSPC;
    const int error = call.cm().destroy(call.channel(), command.id, answer.events_reported);
    return error != 0 ? error : write_answer(call, command.response, answer);
}

int bind_ip(const Call& call) {
    rdma_ucm_bind_ip command{};
    if (!read(call, command, offsetof(rdma_ucm_bind_ip, id) + sizeof command.id)) return EINVAL;
    const auto name = name_in(command.addr, sizeof command.addr);
    return name ? call.cm().bind(call.channel(), command.id, *name) : EINVAL;
}

int bind(const Call& call) {
    rdma_ucm_bind command{};
    if (!read(call, command) || command.reserved != 0) return EINVAL;
    const auto name = name_in(command.addr, command.addr_size);
    return name ? call.cm().bind(call.channel(), command.id, *name) : EINVAL;
}

int resolve_ip(const Call& call) {
    rdma_ucm_resolve_ip command{};
    if (!read(call, command)) return EINVAL;
    std::optional<CmName> source;
    if (command.src_addr.sin6_family != 0) {
        source = name_in(command.src_addr, sizeof command.src_addr);
        if (!source) return EINVAL;
    }
    const auto destination = name_in(command.dst_addr, sizeof command.dst_addr);
    if (!destination) return EINVAL;
    return call.cm().resolve_address(call.channel(), command.id, source, *destination,
                                     Duration::milliseconds(command.timeout_ms));
}

int resolve_address(const Call& call) {
    rdma_ucm_resolve_addr command{};
    if (!read(call, command) || command.reserved != 0) return EINVAL;
    std::optional<CmName> source;
    if (command.src_size != 0) {
        source = name_in(command.src_addr, command.src_size);
        if (!source) return EINVAL;
    }
    const auto destination = name_in(command.dst_addr, command.dst_size);
    if (!destination) return EINVAL;
    return call.cm().resolve_address(call.channel(), command.id, source, *destination,
                                     Duration::milliseconds(command.timeout_ms));
}

int resolve_route(const Call& call) {
    rdma_ucm_resolve_route command{};
    if (!read(call, command)) return EINVAL;
    return call.cm().resolve_route(call.channel(), command.id);
}

/// Gives the answer that `describe` makes for the identifier to the program. Older programs have
/// room for the first `least` bytes of the answer only.
template <class Answer, class Describe>
int query(const Call& call, const rdma_ucm_query& command, std::size_t least, Describe&& describe) {
    if (call.room < least) return ENOSPC;
    Answer answer{};
    const int error =
        call.cm().with(call.channel(), command.id,
                       [&](const CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
                           return describe(one, answer);
                       });
    return error != 0 ? error : write_answer(call, command.response, answer);
}

int query_route(const Call& call) {
    rdma_ucm_query command{};
    if (!read(call, command)) return EINVAL;
    return query<rdma_ucm_query_route_resp>(
        call, command, offsetof(rdma_ucm_query_route_resp, ibdev_index),
        [&](const CmIdentifier& one, rdma_ucm_query_route_resp& answer) {
            describe_route(one, call.cm().own_gid(), answer);
            return 0;
        });
}

int query_path(const Call& call, const rdma_ucm_query& command) {
    struct Answer {
        std::uint32_t paths;
        std::uint32_t reserved;
        ib_path_rec_data path;
    };
    static_assert(offsetof(Answer, path) == sizeof(rdma_ucm_query_path_resp));
    Answer answer{};
    if (call.room < offsetof(Answer, path)) return ENOSPC;
    const int error = call.cm().with(
        call.channel(), command.id,
        [&](const CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
            answer.paths = describe_path(one, call.cm().own_gid(), answer.path) ? 1 : 0;
            return 0;
        });
    if (error != 0) return error;
    const std::size_t path = answer.paths > 0 ? sizeof answer.path : 0;
    const auto bytes = std::as_bytes(std::span(&answer, 1)).first(offsetof(Answer, path) + path);
    return write_answer(command.response, bytes.first(std::min(bytes.size(), call.room)));
}

int query(const Call& call) {
    rdma_ucm_query command{};
    if (!read(call, command)) return EINVAL;
    constexpr std::size_t least = offsetof(rdma_ucm_query_addr_resp, ibdev_index);
    using Answer = rdma_ucm_query_addr_resp;
    switch (command.option) {
        case RDMA_USER_CM_QUERY_ADDR:
            return query<Answer>(call, command, least, [](const CmIdentifier& one, Answer& answer) {
                describe_addresses(one, answer);
                return 0;
            });
        case RDMA_USER_CM_QUERY_PATH: return query_path(call, command);
        case RDMA_USER_CM_QUERY_GID:
            return query<Answer>(call, command, least,
                                 [&](const CmIdentifier& one, Answer& answer) {
                                     describe_gids(one, call.cm().own_gid(), answer);
                                     return 0;
                                 });
        default: return ENOSYS;
    }
}

int connect(const Call& call) {
    rdma_ucm_connect command{};
    if (!read(call, command, offsetof(rdma_ucm_connect, ece))) return EINVAL;
    return call.cm().connect(call.channel(), command.id, command.conn_param);
}

int listen(const Call& call) {
    rdma_ucm_listen command{};
    if (!read(call, command)) return EINVAL;
    return call.cm().listen(call.channel(), command.id, command.backlog);
}

int accept(const Call& call) {
    rdma_ucm_accept command{};
    if (!read(call, command, offsetof(rdma_ucm_accept, ece))) return EINVAL;
    return call.cm().accept(call.channel(), command.id, command.uid, command.conn_param);
}

int reject(const Call& call) {
    constexpr std::uint8_t vendor_option = 35;
    rdma_ucm_reject command{};
    if (!read(call, command)) return EINVAL;
    if (command.reason == 0)
        command.reason = static_cast<std::uint8_t>(proto::ib::CmReason::consumer);
    const auto reason = static_cast<proto::ib::CmReason>(command.reason);
    if (reason != proto::ib::CmReason::consumer && command.reason != vendor_option) return EINVAL;
    return call.cm().reject(
        call.channel(), command.id, reason,
        std::as_bytes(std::span(command.private_data).first(command.private_data_len)));
}

int disconnect(const Call& call) {
    rdma_ucm_disconnect command{};
    if (!read(call, command)) return EINVAL;
    return call.cm().disconnect(call.channel(), command.id);
}

int init_queue_pair(const Call& call) {
    rdma_ucm_init_qp_attr command{};
    if (!read(call, command)) return EINVAL;
    const rdma_ucm_query asked{.response = command.response, .id = command.id, .option = 0};
    return query<ib_uverbs_qp_attr>(call, asked, sizeof(ib_uverbs_qp_attr),
                                    [&](const CmIdentifier& one, ib_uverbs_qp_attr& answer) {
                                        return describe_queue_pair(one, command.qp_state, answer);
                                    });
}

constexpr std::size_t least_of_event = offsetof(rdma_ucm_event_resp, reserved);

int get_event(const Call& call) {
    rdma_ucm_get_event command{};
    if (!read(call, command)) return EINVAL;
    if (call.room < least_of_event) return ENOSPC;
    return call.channel()->take(memory_at(command.response), call.room);
}

int set_option(const Call& call) {
    constexpr std::size_t longest = 4096;
    rdma_ucm_set_option command{};
    if (!read(call, command) || command.optlen > longest) return EINVAL;
    std::vector<std::byte> value(command.optlen);
    if (!copy_program(value.data(), memory_at(command.optval), value.size())) return EFAULT;
    return call.cm().set_option(call.channel(), command.id, command.level, command.optname, value);
}

int notify(const Call& call) {
    rdma_ucm_notify command{};
    if (!read(call, command)) return EINVAL;
    return call.cm().notify(call.channel(), command.id, command.event);
}

int migrate_id(const Call& call) {
    rdma_ucm_migrate_id command{};
    rdma_ucm_migrate_resp answer{};
    if (!read(call, command)) return EINVAL;
    if (call.room < sizeof answer) return ENOSPC;
    const int from_number = static_cast<int>(command.fd);
    const auto from = call.caller.channel_of(from_number);
    if (from == nullptr) return ::fcntl(from_number, F_GETFD) < 0 ? ENOENT : EINVAL;
    const int error = call.cm().migrate(from, call.channel(), command.id, answer.events_reported);
    return error != 0 ? error : write_answer(call, command.response, answer);
}

// The device has no multicast groups, so a program cannot join or leave one.
int join_multicast(const Call&) {
    return EOPNOTSUPP;
}
int leave_multicast(const Call&) {
    return ENOENT;
}
int get_option(const Call&) {
    return ENOSYS;  // the kernel gives the same answer
}

constexpr std::array<int (*)(const Call&), RDMA_USER_CM_CMD_JOIN_MCAST + 1> commands = {
    create_id,  destroy_id, bind_ip,    resolve_ip,      resolve_route,  query_route,
    connect,    listen,     accept,     reject,          disconnect,     init_queue_pair,
    get_event,  get_option, set_option, notify,          join_multicast, leave_multicast,
    migrate_id, query,      bind,       resolve_address, join_multicast,
};

/// Returns false if the bytes are no command.
bool read_header(ConstBytes bytes, rdma_ucm_cmd_hdr& header) {
    if (bytes.size() < sizeof header) return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header.cmd < commands.size() && header.in <= bytes.size() - sizeof header;
}

}  // namespace

bool awaits_event(ConstBytes bytes) {
    rdma_ucm_cmd_hdr header{};
    return read_header(bytes, header) && header.cmd == RDMA_USER_CM_CMD_GET_EVENT &&
           header.in >= sizeof(rdma_ucm_get_event) && header.out >= least_of_event;
}

int run_command(const CmCaller& caller, ConstBytes bytes) {
    rdma_ucm_cmd_hdr header{};
    if (!read_header(bytes, header)) return EINVAL;
    return commands[header.cmd]({caller, bytes.subspan(sizeof header, header.in), header.out});
}

}  // namespace wireproof::verbs
