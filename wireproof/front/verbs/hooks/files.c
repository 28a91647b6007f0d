/* Calls that name a file: to open it, look at it or read it. If the path starts at an open folder,
   the system handles the call. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "wireproof/front/verbs/hooks/hooks.h"

int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int folder, const char* path, int flags);
int __openat64_2(int folder, const char* path, int flags);

/* Returns false if the file does not belong to the device. */
static bool open_place(const char* path, int flags, int* fd) {
    struct place place = find_place(path);
    bool opened = place.kind == IS_FILE;
    if (place.kind == IS_RDMA_CM) *fd = open_rdma_cm(flags, &opened);
    /* The path that stands for the file may be a link. */
    if (place.kind == IS_FILE) *fd = NEXT(open)(place.path, flags & ~(O_NOFOLLOW | O_CREAT), 0);
    release_place(&place);
    return opened;
}

/* There is another argument only with these flags, as fcntl.h says. */
#define MODE_AFTER(flags)                                             \
    mode_t mode = 0;                                                  \
    if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) { \
        va_list arguments;                                            \
        va_start(arguments, flags);                                   \
        mode = va_arg(arguments, mode_t);                             \
        va_end(arguments);                                            \
    }

#define OPEN_HOOKS(size)                                                                          \
    HOOK int open##size(const char* path, int flags, ...) {                                       \
        int fd = -1;                                                                              \
        MODE_AFTER(flags)                                                                         \
        return open_place(path, flags, &fd) ? fd : NEXT(open##size)(path, flags, mode);           \
    }                                                                                             \
    HOOK int openat##size(int folder, const char* path, int flags, ...) {                         \
        int fd = -1;                                                                              \
        MODE_AFTER(flags)                                                                         \
        return open_place(path, flags, &fd) ? fd : NEXT(openat##size)(folder, path, flags, mode); \
    }                                                                                             \
    HOOK int __open##size##_2(const char* path, int flags) {                                      \
        int fd = -1;                                                                              \
        return open_place(path, flags, &fd) ? fd : NEXT(__open##size##_2)(path, flags);           \
    }                                                                                             \
    HOOK int __openat##size##_2(int folder, const char* path, int flags) {                        \
        int fd = -1;                                                                              \
        return open_place(path, flags, &fd) ? fd : NEXT(__openat##size##_2)(folder, path, flags); \
    }                                                                                             \
    HOOK FILE* fopen##size(const char* path, const char* mode) {                                  \
        struct place place = find_place(path);                                                    \
        FILE* const file = NEXT(fopen##size)(place.kind == IS_FILE ? place.path : path, mode);    \
        release_place(&place);                                                                    \
        return file;                                                                              \
    }

OPEN_HOOKS()
OPEN_HOOKS(64)

/* Looks at the file that stands for the path, as the system does. */
static bool stat_place(const char* path, void* file, int* result) {
    struct place place = find_place(path);
    if (place.kind == NOT_OURS) return false;
    *result = (int)syscall(SYS_newfstatat, AT_FDCWD, place.path, file, 0);
    release_place(&place);
    return true;
}

static bool stat_descriptor(int fd, void* file, int* result) {
    if (!is_rdma_cm(fd)) return false;
    *result = (int)syscall(SYS_newfstatat, AT_FDCWD, NODE, file, 0);
    return true;
}

/* Returns true if the path is empty and the first argument is the file itself. */
static bool is_descriptor(const char* path, int flags) {
    return (flags & AT_EMPTY_PATH) != 0 && path != NULL && *path == '\0';
}

static bool stat_at(int folder, const char* path, void* file, int flags, int* result) {
    return is_descriptor(path, flags) ? stat_descriptor(folder, file, result)
                                      : stat_place(path, file, result);
}

/* Programs that were built for a C library before 2.33 call functions with a version number. Today
   dlsym() may not find these. Then the hook makes the system call: each of our machines has only
   one version of the structure. */
#define STAT_HOOKS(size)                                                                          \
    int __xstat##size(int, const char*, struct stat##size*);                                      \
    int __lxstat##size(int, const char*, struct stat##size*);                                     \
    int __fxstat##size(int, int, struct stat##size*);                                             \
    int __fxstatat##size(int, int, const char*, struct stat##size*, int);                         \
    HOOK int stat##size(const char* path, struct stat##size* file) {                              \
        int result = -1;                                                                          \
        return stat_place(path, file, &result) ? result : NEXT(stat##size)(path, file);           \
    }                                                                                             \
    HOOK int lstat##size(const char* path, struct stat##size* file) {                             \
        int result = -1;                                                                          \
        return stat_place(path, file, &result) ? result : NEXT(lstat##size)(path, file);          \
    }                                                                                             \
    HOOK int fstat##size(int fd, struct stat##size* file) {                                       \
        int result = -1;                                                                          \
        return stat_descriptor(fd, file, &result) ? result : NEXT(fstat##size)(fd, file);         \
    }                                                                                             \
    HOOK int fstatat##size(int folder, const char* path, struct stat##size* file, int flags) {    \
        int result = -1;                                                                          \
        return stat_at(folder, path, file, flags, &result)                                        \
                   ? result                                                                       \
                   : NEXT(fstatat##size)(folder, path, file, flags);                              \
    }                                                                                             \
    HOOK int __fxstatat##size(int version, int folder, const char* path, struct stat##size* file, \
                              int flags) {                                                        \
        int result = -1;                                                                          \
        if (stat_at(folder, path, file, flags, &result)) return result;                           \
        __typeof__(&__fxstatat##size) const next = NEXT(__fxstatat##size);                        \
        if (next != NULL) return next(version, folder, path, file, flags);                        \
        return (int)syscall(SYS_newfstatat, folder, path, file, flags);                           \
    }                                                                                             \
    HOOK int __xstat##size(int version, const char* path, struct stat##size* file) {              \
        return __fxstatat##size(version, AT_FDCWD, path, file, 0);                                \
    }                                                                                             \
    HOOK int __lxstat##size(int version, const char* path, struct stat##size* file) {             \
        return __fxstatat##size(version, AT_FDCWD, path, file, AT_SYMLINK_NOFOLLOW);              \
    }                                                                                             \
    HOOK int __fxstat##size(int version, int fd, struct stat##size* file) {                       \
        return __fxstatat##size(version, fd, "", file, AT_EMPTY_PATH);                            \
    }

STAT_HOOKS()
STAT_HOOKS(64)

HOOK int statx(int folder, const char* path, int flags, unsigned wanted, struct statx* file) {
    if (is_descriptor(path, flags) && is_rdma_cm(folder)) {
        return NEXT(statx)(AT_FDCWD, NODE, flags & ~AT_EMPTY_PATH, wanted, file);
    }
    struct place place = find_place(path);
    const bool ours = place.kind != NOT_OURS;
    const int result = NEXT(statx)(folder, ours ? place.path : path,
                                   ours ? flags & ~AT_SYMLINK_NOFOLLOW : flags, wanted, file);
    release_place(&place);
    return result;
}

HOOK int access(const char* path, int rights) {
    struct place place = find_place(path);
    const int result = NEXT(access)(place.kind == NOT_OURS ? path : place.path, rights);
    release_place(&place);
    return result;
}

HOOK int faccessat(int folder, const char* path, int rights, int flags) {
    struct place place = find_place(path);
    const bool ours = place.kind != NOT_OURS;
    const int result = NEXT(faccessat)(folder, ours ? place.path : path, rights,
                                       ours ? flags & ~AT_SYMLINK_NOFOLLOW : flags);
    release_place(&place);
    return result;
}

/* The calls that `ls -l` makes. */
#define ATTRIBUTE_HOOKS(link)                                                                     \
    HOOK ssize_t link##getxattr(const char* path, const char* name, void* value, size_t room) {   \
        struct place place = find_place(path);                                                    \
        const ssize_t result = place.kind == NOT_OURS                                             \
                                   ? NEXT(link##getxattr)(path, name, value, room)                \
                                   : NEXT(getxattr)(place.path, name, value, room);               \
        release_place(&place);                                                                    \
        return result;                                                                            \
    }                                                                                             \
    HOOK ssize_t link##listxattr(const char* path, char* names, size_t room) {                    \
        struct place place = find_place(path);                                                    \
        const ssize_t result = place.kind == NOT_OURS ? NEXT(link##listxattr)(path, names, room)  \
                                                      : NEXT(listxattr)(place.path, names, room); \
        release_place(&place);                                                                    \
        return result;                                                                            \
    }

ATTRIBUTE_HOOKS()
ATTRIBUTE_HOOKS(l)
