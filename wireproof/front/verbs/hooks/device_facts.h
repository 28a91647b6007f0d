/* What the hooks tell programs of the device in files and interfaces that the kernel does not have.
   The device library exports this with the version WIREPROOF_1.0. */
#pragma once

#include <net/if.h>
#include <sys/socket.h>

#ifdef __cplusplus
#include <cstdint>
#pragma GCC visibility push(default)
extern "C" {
#else
#include <stdint.h>
#endif

enum { WIREPROOF_GIDS = 2 };

struct wireproof_facts {
    struct sockaddr_storage address;
    uint8_t gids[WIREPROOF_GIDS][16];
    uint8_t guid[8];             /* in network order */
    uint8_t is_infiniband;       /* the link is said to be that, and not Ethernet */
    char interface[IF_NAMESIZE]; /* that has the address; empty: none is known */
};

/// Any thread may call it, also while it holds locks of the device library's. 0, or -1: this
/// process has no device open.
int wireproof_device_facts(struct wireproof_facts* facts);

#ifdef __cplusplus
}
#pragma GCC visibility pop
#endif
