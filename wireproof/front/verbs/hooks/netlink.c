/* Sockets of NETLINK_RDMA, for programs that ask the kernel for its adapters.

   The program gets a socket of NETLINK_USERSOCK instead: the kernel has it everywhere and delivers
   its messages between any two sockets, but has no answer for messages to itself. These are the
   requests. The answer comes from a second such socket, so the program waits, receives and closes
   as with any netlink socket. Only the sender's number tells that it is not the kernel. */
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "wireproof/front/verbs/hooks/hooks.h"
#include "wireproof/front/verbs/hooks/rdma_netlink.h"

/* Whether this process, or one that it was forked from, opened such a socket. Other processes send
   as if there were no hook. */
static atomic_bool opened;

HOOK int socket(int domain, int type, int protocol) {
    if (domain == AF_NETLINK && protocol == NETLINK_RDMA && enter()) {
        if (is_shown(UVERBS)) {
            protocol = NETLINK_USERSOCK;
            opened = true;
        }
        leave();
    }
    return NEXT(socket)(domain, type, protocol);
}

static uint64_t number_in(const char* path) {
    char text[TEXT_ROOM];
    read_entry(path, text);
    return strtoull(text, NULL, 0);
}

/* The first 64 bits in groups of four digits. */
static uint64_t groups_in(const char* path) {
    char text[TEXT_ROOM];
    read_entry(path, text);
    uint64_t value = 0;
    char* at = text;
    for (int i = 0; i < 4; ++i, ++at) value = value << 16 | strtoull(at, &at, 16);
    return value;
}

/* "1:3" */
static uint64_t device_in(const char* path) {
    char text[TEXT_ROOM];
    read_entry(path, text);
    char* minor_text = NULL;
    const unsigned long major_number = strtoul(text, &minor_text, 10);
    return makedev((unsigned)major_number, (unsigned)strtoul(minor_text + 1, NULL, 10));
}

/* What the device's files say. */
static struct rdma_facts read_facts(void) {
    struct rdma_facts facts = {
        .name = strrchr(DEVICE, '/') + 1,
        .node_guid = groups_in(DEVICE "/node_guid"),
        .system_guid = groups_in(DEVICE "/sys_image_guid"),
        .node_type = (uint8_t)number_in(DEVICE "/node_type"),
        .port_state = (uint8_t)number_in(DEVICE "/ports/1/state"),
        .physical_state = (uint8_t)number_in(DEVICE "/ports/1/phys_state"),
        .subnet_prefix = groups_in(DEVICE "/ports/1/gids/0"),
        .lid = (uint16_t)number_in(DEVICE "/ports/1/lid"),
        .manager_lid = (uint16_t)number_in(DEVICE "/ports/1/sm_lid"),
        .lid_mask_count = (uint8_t)number_in(DEVICE "/ports/1/lid_mask_count"),
        .nodes = {{.client = "uverbs",
                   .name = strrchr(UVERBS, '/') + 1,
                   .of_adapter = true,
                   .abi = number_in(UVERBS "/abi_version"),
                   .number = device_in(UVERBS "/dev")},
                  {.client = "rdma_cm",
                   .name = strrchr(RDMA_CM, '/') + 1,
                   .abi = number_in(RDMA_CM "/abi_version"),
                   .number = device_in(RDMA_CM "/dev")}},
    };
    char text[TEXT_ROOM];
    read_entry(DEVICE "/ports/1/link_layer", text);
    facts.is_infiniband = strcmp(text, "InfiniBand") == 0;
    read_entry(DEVICE "/ports/1/gid_attrs/ndevs/0", text);
    snprintf(facts.interface, sizeof facts.interface, "%.*s", IF_NAMESIZE - 1, text);
    facts.interface_index = if_nametoindex(facts.interface);
    return facts;
}

static bool has_option(int fd, int option, int wanted) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

/* The number of the kernel, which is also that of a socket without a peer, is 0. */
static bool is_to_kernel(int fd, const struct sockaddr* to, socklen_t size) {
    struct sockaddr_nl peer = {.nl_family = AF_NETLINK};
    socklen_t room = sizeof peer;
    if (to == NULL) {
        if (getpeername(fd, (struct sockaddr*)&peer, &room) != 0) return false;
    } else if (size >= sizeof peer && to->sa_family == AF_NETLINK) {
        memcpy(&peer, to, sizeof peer);
    } else {
        return false;
    }
    return peer.nl_family == AF_NETLINK && peer.nl_pid == 0 && peer.nl_groups == 0;
}

static bool is_request(int fd, const struct sockaddr* to, socklen_t size) {
    if (!opened || (to != NULL && to->sa_family != AF_NETLINK)) return false;
    const int before = errno;
    const bool is_ours = has_option(fd, SO_DOMAIN, AF_NETLINK) &&
                         has_option(fd, SO_PROTOCOL, NETLINK_USERSOCK) &&
                         is_to_kernel(fd, to, size);
    errno = before;
    return is_ours;
}

/* The address of the socket. The kernel gives it one when it sends, and so does this. */
static bool find_address(int fd, struct sockaddr_nl* address) {
    socklen_t size = sizeof *address;
    if (getsockname(fd, (struct sockaddr*)address, &size) != 0) return false;
    if (address->nl_pid != 0) return true;
    return bind(fd, (struct sockaddr*)address, size) == 0 &&
           getsockname(fd, (struct sockaddr*)address, &size) == 0;
}

static bool answer_all(int from, const struct sockaddr_nl* to, const uint8_t* requests,
                       size_t bytes) {
    const struct rdma_facts facts = read_facts();
    struct rdma_answer answer;
    size_t taken = 0;
    while ((taken = answer_rdma_request(&facts, to->nl_pid, requests, bytes, &answer)) != 0) {
        requests += taken;
        bytes -= taken;
        if (answer.length != 0 && NEXT(sendto)(from, answer.bytes, answer.length, MSG_DONTWAIT,
                                               (const struct sockaddr*)to, sizeof *to) == -1) {
            return false;
        }
    }
    return true;
}

/* Returns what send(2) would return, and leaves errno as it was if it succeeds. */
static ssize_t take_requests(int fd, const uint8_t* requests, size_t bytes) {
    const int before = errno;
    struct sockaddr_nl asks = {.nl_family = AF_NETLINK};
    if (!find_address(fd, &asks)) return -1;
    const int from = NEXT(socket)(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
    if (from == -1) return -1;
    const bool answered = answer_all(from, &asks, requests, bytes);
    const int error = answered ? before : errno;
    NEXT(close)(from);
    errno = error;
    return answered ? (ssize_t)bytes : -1;
}

/* Returns false if the message is no request. */
static bool took_requests(int fd, const struct msghdr* message, ssize_t* result) {
    enum { ROOM = 4096 };
    uint8_t requests[ROOM];
    size_t bytes = 0;
    if (!is_request(fd, message->msg_name, message->msg_namelen) || !enter()) return false;
    *result = -1;
    for (size_t i = 0; i < message->msg_iovlen; ++i) {
        const struct iovec* const part = &message->msg_iov[i];
        if (part->iov_len > ROOM - bytes) {
            errno = EMSGSIZE;
            leave();
            return true;
        }
        if (part->iov_len != 0) memcpy(requests + bytes, part->iov_base, part->iov_len);
        bytes += part->iov_len;
    }
    *result = take_requests(fd, requests, bytes);
    leave();
    return true;
}

HOOK ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
    ssize_t result = -1;
    if (opened && message != NULL && took_requests(fd, message, &result)) return result;
    return NEXT(sendmsg)(fd, message, flags);
}

HOOK ssize_t sendto(int fd, const void* data, size_t bytes, int flags, __CONST_SOCKADDR_ARG to,
                    socklen_t size) {
    ssize_t result = -1;
    if (opened) {
        struct iovec part = {.iov_base = (void*)(uintptr_t)data, .iov_len = bytes};
        const struct msghdr message = {.msg_name = (void*)(uintptr_t)to.__sockaddr__,
                                       .msg_namelen = size,
                                       .msg_iov = &part,
                                       .msg_iovlen = 1};
        if (took_requests(fd, &message, &result)) return result;
    }
    return NEXT(sendto)(fd, data, bytes, flags, to, size);
}

HOOK ssize_t send(int fd, const void* data, size_t bytes, int flags) {
    const struct sockaddr* const to_peer = NULL;
    return opened ? sendto(fd, data, bytes, flags, to_peer, 0) : NEXT(send)(fd, data, bytes, flags);
}
