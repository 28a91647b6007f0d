/* The messages of NETLINK_RDMA as the kernel's RDMA subsystem answers them for one adapter. The
   names and numbers are those of <rdma/rdma_netlink.h>. There are no sockets here. */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A character file. */
struct rdma_node {
    const char* client; /* the kind of file, as requests name it */
    const char* name;   /* in /dev/infiniband */
    bool of_adapter;    /* requests name the adapter, too */
    uint64_t abi;
    uint64_t number; /* of the device behind the file */
};

enum { RDMA_NODES = 2 };

struct rdma_facts {
    const char* name;
    uint64_t node_guid;
    uint64_t system_guid;
    uint8_t node_type;
    uint8_t port_state;
    uint8_t physical_state;
    bool is_infiniband;
    uint64_t subnet_prefix; /* this and what follows: of InfiniBand */
    uint16_t lid;
    uint16_t manager_lid;
    uint8_t lid_mask_count;
    char interface[IF_NAMESIZE]; /* of Ethernet */
    uint32_t interface_index;
    struct rdma_node nodes[RDMA_NODES];
};

struct rdma_answer {
    size_t length; /* 0: the request gets no answer */
    uint8_t bytes[1024];
};

/* Answers the first of the requests in these bytes. `socket` is the number of the netlink socket
   that asks. Returns how many bytes the request took; 0: there is no whole request. Requests that
   change something are refused, as the kernel does for a user without rights. */
size_t answer_rdma_request(const struct rdma_facts* facts, uint32_t socket, const uint8_t* requests,
                           size_t bytes, struct rdma_answer* answer);

#ifdef __cplusplus
}
#endif
