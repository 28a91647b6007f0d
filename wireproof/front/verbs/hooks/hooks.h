/* Shared by the hooks. The hooks are functions of libc that this library defines again. If the
   library is preloaded, programs find these functions first. Each hook passes calls on that do not
   concern the device.

   A call from inside a hook, or from the device library that a hook calls, is not hooked, because
   the device library calls libc, too. In a process with raised privileges nothing is hooked. */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOOK __attribute__((visibility("default")))

/* A function of any type. Convert it to its own type before the call. */
typedef void (*any_function)(void);

/* The function of that name that a program would call if this library were not there, or NULL. */
any_function next_function(_Atomic any_function* known, const char* name);

/* The function that NAME names, with the type that its header gives it. */
#define NEXT(name)                                                \
    __extension__({                                               \
        static _Atomic any_function known_##name;                 \
        (__typeof__(&(name)))next_function(&known_##name, #name); \
    })

/* Returns true if this thread was not in a hook. Then it is in one until leave(), and is not
   cancelled meanwhile. */
bool enter(void);
void leave(void);
/* Between enter() and leave(): the thread may be cancelled again, if the program lets it. */
void let_cancel(void);

/* The function that the device library exports with that name. NULL: the library is not loaded. */
any_function device_function(const char* name);

/* A file that has the type and the rights of the device's character files. */
#define NODE "/dev/null"

/* The device's folders. */
#define DEVICE "/sys/class/infiniband/wireproof0"
#define VERBS "/sys/class/infiniband_verbs"
#define UVERBS VERBS "/uverbs0"
#define RDMA_CM "/sys/class/misc/rdma_cm"

/* Between enter() and leave(): the text that the file of the device with this path has in its one
   line. */
enum { TEXT_ROOM = 128 };
void read_entry(const char* path, char text[TEXT_ROOM]);

/* A path without the device's name may belong to a genuine adapter. A program that has not loaded
   the device library sees the system's file, if there is one: then this returns false. */
bool is_shown(const char* simple);

/* A path of the device, and the path that stands for it. */

enum { PATH_ROOM = 256 };
enum place_kind { NOT_OURS, IS_FILE, IS_FOLDER, IS_RDMA_CM };

struct place {
    enum place_kind kind;
    char path[PATH_ROOM]; /* leads to a file with the right type, rights and text */
    int text;             /* a descriptor that keeps `path` valid, or -1 */
    int cancel_state;     /* if there is one: whether the program lets this thread be cancelled */
};

/* Call release_place() when the path has been used. While there is a descriptor, the thread is not
   cancelled. find_place() does not change errno. */
struct place find_place(const char* path);
void release_place(struct place* place);

/* Returns true if the path is a folder of the device that the system does not have. `simple` is
   then the path in its simplest form. */
bool find_folder(const char* path, char simple[PATH_ROOM]);
/* The name with this index in the folder; indices start at 0. Returns false if there is no such
   name. */
bool name_in_folder(const char* folder, size_t index, char name[PATH_ROOM], bool* is_a_folder);

/* Descriptors of /dev/infiniband/rdma_cm. */

/* Returns what open(2) would return. `has_device` is false if no device library is loaded. */
int open_rdma_cm(int flags, bool* has_device);
bool is_rdma_cm(int fd);
