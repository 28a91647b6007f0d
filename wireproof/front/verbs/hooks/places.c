/* The files that the kernel would have if the device were an adapter, and their contents. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wireproof/front/verbs/hooks/device_facts.h"
#include "wireproof/front/verbs/hooks/hooks.h"

#define INTERFACES DEVICE "/device/net"

#define NODE_NUMBERS "1:3" /* of NODE */
#define FOLDER "/sys/class"

enum what {
    TEXT,
    NODE_FILE,
    RDMA_CM_FILE,
    GUID,
    GID_0,
    GID_1,
    GID_TYPE,
    LID,
    LINK,
    INTERFACE,
    INTERFACE_FOLDER
};

/* A folder exists if it contains anything. There are no entries that only a real adapter can
   have. */
static const struct entry {
    const char* path;
    enum what what;
    const char* text;
} entries[] = {
    {"/dev/infiniband/rdma_cm", RDMA_CM_FILE, NULL},
    {"/dev/infiniband/uverbs0", NODE_FILE, NULL},
    {"/dev/infiniband/wireproof0", NODE_FILE, NULL},
    {INTERFACES "/*", INTERFACE_FOLDER, NULL},
    {DEVICE "/node_desc", TEXT, "wireproof0"},
    {DEVICE "/node_guid", GUID, NULL},
    {DEVICE "/node_type", TEXT, "1: CA"},
    {DEVICE "/ports/1/gid_attrs/ndevs/0", INTERFACE, NULL},
    {DEVICE "/ports/1/gid_attrs/ndevs/1", INTERFACE, NULL},
    {DEVICE "/ports/1/gid_attrs/types/0", GID_TYPE, NULL},
    {DEVICE "/ports/1/gid_attrs/types/1", GID_TYPE, NULL},
    {DEVICE "/ports/1/gids/0", GID_0, NULL},
    {DEVICE "/ports/1/gids/1", GID_1, NULL},
    {DEVICE "/ports/1/lid", LID, NULL},
    {DEVICE "/ports/1/lid_mask_count", TEXT, "0"},
    {DEVICE "/ports/1/link_layer", LINK, NULL},
    {DEVICE "/ports/1/phys_state", TEXT, "5: LinkUp"},
    {DEVICE "/ports/1/pkeys/0", TEXT, "0xffff"},
    {DEVICE "/ports/1/rate", TEXT, "10 Gb/sec (1X QDR)"},
    {DEVICE "/ports/1/sm_lid", LID, NULL},
    {DEVICE "/ports/1/state", TEXT, "4: ACTIVE"},
    {DEVICE "/sys_image_guid", GUID, NULL},
    {VERBS "/abi_version", TEXT, "6"},
    {UVERBS "/abi_version", TEXT, "1"},
    {UVERBS "/dev", TEXT, NODE_NUMBERS},
    {UVERBS "/ibdev", TEXT, "wireproof0"},
    {RDMA_CM "/abi_version", TEXT, "4"},
    {RDMA_CM "/dev", TEXT, NODE_NUMBERS},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

/* If the device library is not loaded, all facts are zero, as for an adapter without addresses. The
   interface is then that of a device without settings. */
static struct wireproof_facts ask_device(void) {
    struct wireproof_facts facts;
    __typeof__(&wireproof_device_facts) const ask =
        (__typeof__(ask))device_function("wireproof_device_facts");
    if (ask == NULL || ask(&facts) != 0) memset(&facts, 0, sizeof facts);
    if (facts.interface[0] == '\0') strcpy(facts.interface, "lo");
    return facts;
}

/* Writes the bytes as the kernel does: groups of four digits. */
static void write_groups(char* text, const uint8_t* bytes, size_t count) {
    for (size_t i = 0; i < count; i += 2) {
        text += sprintf(text, i == 0 ? "%02x%02x" : ":%02x%02x", bytes[i], bytes[i + 1]);
    }
}

static void write_text(const struct entry* entry, char text[TEXT_ROOM]) {
    if (entry->what == TEXT) {
        strcpy(text, entry->text);
    } else {
        const struct wireproof_facts facts = ask_device();
        switch (entry->what) {
            case GUID: write_groups(text, facts.guid, sizeof facts.guid); break;
            case GID_0: write_groups(text, facts.gids[0], sizeof facts.gids[0]); break;
            case GID_1: write_groups(text, facts.gids[1], sizeof facts.gids[1]); break;
            case GID_TYPE: strcpy(text, facts.is_infiniband ? "IB/RoCE v1" : "RoCE v2"); break;
            case LID: sprintf(text, "0x%x", (unsigned)facts.lid); break;
            case LINK: strcpy(text, facts.is_infiniband ? "InfiniBand" : "Ethernet"); break;
            default: strcpy(text, facts.interface); break;
        }
    }
}

void read_entry(const char* path, char text[TEXT_ROOM]) {
    *text = '\0';
    for (size_t i = 0; i < ENTRIES; ++i) {
        if (strcmp(entries[i].path, path) == 0) write_text(&entries[i], text);
    }
}

static bool may_be_ours(const char* path) {
    return path != NULL && path[0] == '/' &&
           (strstr(path, "/infiniband") != NULL || strstr(path, "/rdma_cm") != NULL);
}

/* Removes repeated slashes, "." and "..". The device's folders contain no links. Returns false if
   the path is too long to be one of the device's. */
static bool simplify(const char* path, char simple[PATH_ROOM]) {
    size_t length = 0;
    for (path += strspn(path, "/"); *path != '\0'; path += strspn(path, "/")) {
        const size_t name = strcspn(path, "/");
        if (name == 2 && path[0] == '.' && path[1] == '.') {
            while (length > 0 && simple[--length] != '/') continue;
        } else if (name != 1 || path[0] != '.') {
            if (length + name + 2 > PATH_ROOM) return false;
            simple[length] = '/';
            memcpy(simple + length + 1, path, name);
            length += name + 1;
        }
        path += name;
    }
    simple[length] = '\0';
    return true;
}

/* The part of the path after the folder. NULL: the path is not in the folder. */
static const char* within(const char* path, const char* folder) {
    const size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

bool is_shown(const char* simple) {
    if (strstr(simple, "/wireproof0") != NULL) return true;
    return device_function("wireproof_device_facts") != NULL ||
           NEXT(faccessat)(AT_FDCWD, simple, F_OK, 0) != 0;
}

static bool is_folder(const char* simple) {
    bool has = false;
    for (size_t i = 0; i < ENTRIES && !has; ++i) has = within(entries[i].path, simple) != NULL;
    return has && NEXT(faccessat)(AT_FDCWD, simple, F_OK, 0) != 0;
}

static void keep_text(const struct entry* entry, struct place* place) {
    char text[TEXT_ROOM];
    write_text(entry, text);
    strcat(text, "\n");
    place->text = memfd_create("wireproof", MFD_CLOEXEC);
    if (place->text == -1) return;
    const size_t bytes = strlen(text);
    if (NEXT(write)(place->text, text, bytes) != (ssize_t)bytes) return;
    fchmod(place->text, 0444);
    sprintf(place->path, "/proc/self/fd/%d", place->text);
    place->kind = IS_FILE;
}

/* The folder of an interface and its contents are those of the system. */
static bool is_of_interface(const char* simple, struct place* place) {
    const char* const rest = within(simple, INTERFACES);
    if (rest == NULL) return false;
    const struct wireproof_facts facts = ask_device();
    if (strcmp(rest, facts.interface) != 0 && within(rest, facts.interface) == NULL) return false;
    place->kind = IS_FILE;
    sprintf(place->path, "/sys/class/net/%s", rest);
    return true;
}

static void look_up(const char* simple, struct place* place) {
    if (is_of_interface(simple, place)) return;
    for (size_t i = 0; i < ENTRIES; ++i) {
        const struct entry* const entry = &entries[i];
        if (strcmp(entry->path, simple) != 0) continue;
        if (!is_shown(simple)) return;
        if (entry->what == NODE_FILE || entry->what == RDMA_CM_FILE) {
            place->kind = entry->what == NODE_FILE ? IS_FILE : IS_RDMA_CM;
            strcpy(place->path, NODE);
        } else {
            keep_text(entry, place);
        }
        return;
    }
    if (!is_folder(simple)) return;
    place->kind = IS_FOLDER;
    strcpy(place->path, FOLDER);
}

struct place find_place(const char* path) {
    struct place place = {.kind = NOT_OURS, .text = -1};
    char simple[PATH_ROOM];
    if (!may_be_ours(path) || !simplify(path, simple) || !enter()) return place;
    const int before = errno;
    look_up(simple, &place);
    errno = before;
    leave();
    if (place.text != -1) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &place.cancel_state);
    return place;
}

void release_place(struct place* place) {
    if (place->text == -1) return;
    const int before = errno;
    NEXT(close)(place->text);
    errno = before;
    pthread_setcancelstate(place->cancel_state, NULL);
}

bool find_folder(const char* path, char simple[PATH_ROOM]) {
    if (!may_be_ours(path) || !simplify(path, simple) || !enter()) return false;
    const int before = errno;
    const bool found = is_folder(simple);
    errno = before;
    leave();
    return found;
}

/* The paths are sorted, so the names of one folder are next to each other. */
bool name_in_folder(const char* folder, size_t index, char name[PATH_ROOM], bool* is_a_folder) {
    size_t names = 0;
    size_t length = 0;
    const char* rest = NULL;
    for (size_t i = 0; i < ENTRIES; ++i) {
        const char* const next = within(entries[i].path, folder);
        if (next == NULL) continue;
        const bool again =
            rest != NULL && strcspn(next, "/") == length && strncmp(next, rest, length) == 0;
        rest = next;
        length = strcspn(rest, "/");
        if (again || names++ != index) continue;
        const bool is_interface = strcmp(rest, "*") == 0;
        *is_a_folder = is_interface || rest[length] == '/';
        snprintf(name, PATH_ROOM, "%.*s", (int)length, rest);
        if (is_interface && enter()) {
            strcpy(name, ask_device().interface);
            leave();
        }
        return true;
    }
    return false;
}
