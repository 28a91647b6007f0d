/* Libraries look for the device's address among the interfaces other than the loopback interface.
   So getifaddrs() adds an interface with that address after those of the system, in this process
   only. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "wireproof/front/verbs/hooks/device_facts.h"
#include "wireproof/front/verbs/hooks/hooks.h"

static char name[] = "wireproof0";

struct interface {
    struct ifaddrs shown;
    struct sockaddr_storage address;
    struct sockaddr_storage mask;
};

static bool is_loopback(const struct sockaddr_storage* address) {
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in* const v4 = (const struct sockaddr_in*)address;
        return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    const struct sockaddr_in6* const v6 = (const struct sockaddr_in6*)address;
    return address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static void set_mask(struct interface* made) {
    made->mask.ss_family = made->address.ss_family;
    if (made->mask.ss_family == AF_INET) {
        ((struct sockaddr_in*)&made->mask)->sin_addr.s_addr = htonl(IN_CLASSA_NET);
    } else {
        memset(&((struct sockaddr_in6*)&made->mask)->sin6_addr, 0xFF, sizeof(struct in6_addr));
    }
}

/* Returns NULL if the address of the device is not known, if it is not a loopback address, or if
   there is no memory. */
static struct interface* make_interface(void) {
    struct wireproof_facts facts;
    __typeof__(&wireproof_device_facts) const ask =
        (__typeof__(ask))device_function("wireproof_device_facts");
    if (ask == NULL || ask(&facts) != 0 || !is_loopback(&facts.address)) return NULL;
    struct interface* const made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    made->address = facts.address;
    set_mask(made);
    made->shown.ifa_name = name;
    made->shown.ifa_flags = IFF_UP | IFF_RUNNING;
    made->shown.ifa_addr = (struct sockaddr*)&made->address;
    made->shown.ifa_netmask = (struct sockaddr*)&made->mask;
    return made;
}

HOOK int getifaddrs(struct ifaddrs** all) {
    const int result = NEXT(getifaddrs)(all);
    if (result != 0 || !enter()) return result;
    struct interface* const made = make_interface();
    leave();
    if (made == NULL) return result;
    struct ifaddrs** end = all;
    while (*end != NULL) end = &(*end)->ifa_next;
    *end = &made->shown;
    return result;
}

HOOK void freeifaddrs(struct ifaddrs* all) {
    struct ifaddrs** at = &all;
    while (*at != NULL && (*at)->ifa_name != name) at = &(*at)->ifa_next;
    struct ifaddrs* const made = *at;
    *at = NULL;
    NEXT(freeifaddrs)(all);
    free(made);
}
