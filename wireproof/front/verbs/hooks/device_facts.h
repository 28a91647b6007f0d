/* The facts about the device that the hooks show in files and interfaces that the kernel does not
   have. The device library exports the function with the version WIREPROOF_1.0. */
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
    uint8_t is_infiniband;       /* the device reports a link of InfiniBand, not of Ethernet */
    uint16_t lid;                /* 0 on Ethernet */
    char interface[IF_NAMESIZE]; /* the interface with the address; empty: not known */
};

/// Any thread may call it, even while it holds locks of the device library. If this process has no
/// open device, the facts are those of the settings; without an address there, address and GIDs are
/// zero. Returns 0, or -1 if there is no device and the settings are wrong, or while this thread
/// opens the device.
int wireproof_device_facts(struct wireproof_facts* facts);

#ifdef __cplusplus
}
#pragma GCC visibility pop
#endif
