/* Shared by the hooks: functions of libc that the library defines once more, and that programs
   therefore find first where it is preloaded. Each passes on what is not about the device.

   A thread that is in a hook, or in the device library for one, is not hooked: the device library
   calls libc, too. Nothing is hooked in a process with raised privileges. */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOOK __attribute__((visibility("default")))

/* Of any type, to be converted before it is called. */
typedef void (*any_function)(void);

/* The function of that name that a program would call if this library were not there, or NULL. */
any_function next_function(_Atomic any_function* known, const char* name);

/* The function that NAME names, with the type that its header gives it. */
#define NEXT(name)                                                \
    __extension__({                                               \
        static _Atomic any_function known_##name;                 \
        (__typeof__(&(name)))next_function(&known_##name, #name); \
    })

/* True: this thread was not in a hook, and is now, until leave(). */
bool enter(void);
void leave(void);

/* The function that the device library exports under that name, or NULL: it is not loaded. */
any_function device_function(const char* name);

/* Has the type and the rights of the device's character files. */
#define NODE "/dev/null"

/* A path of the device, and what stands for it where the system looks it up. */

enum { PATH_ROOM = 256 };
enum place_kind { NOT_OURS, IS_FILE, IS_FOLDER, IS_RDMA_CM };

struct place {
    enum place_kind kind;
    char path[PATH_ROOM]; /* leads to a file with the right type, rights and text */
    int text;             /* a descriptor that keeps `path` valid, or -1 */
};

/* To be released when the path has been used. errno is what it was. */
struct place find_place(const char* path);
void release_place(struct place* place);

/* The path without what says nothing, if it is a folder of the device that the system does not
   have. */
bool find_folder(const char* path, char simple[PATH_ROOM]);
/* The names in it, one by one from index 0 on. False: there are no more. */
bool name_in_folder(const char* folder, size_t index, char name[PATH_ROOM], bool* is_a_folder);

/* Descriptors of /dev/infiniband/rdma_cm. */

/* What open(2) would answer. `has_device` is false where no device library is loaded. */
int open_rdma_cm(int flags, bool* has_device);
bool is_rdma_cm(int fd);
