/* Descriptors of /dev/infiniband/rdma_cm. The commands that programs write to them go to the device
   library. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wireproof/front/verbs/hooks/cm_device.h"
#include "wireproof/front/verbs/hooks/hooks.h"

/* Each table has one bit for each descriptor. `opened` has the descriptors that this process
   opened. `orphans` has descriptors that the device library does not know: duplicates, and those of
   the parent process. */
enum { DESCRIPTORS = 65536, WORD = 64, WORDS = DESCRIPTORS / WORD };
typedef _Atomic uint64_t table[WORDS];
static table opened;
static table orphans;

/* The process that owns the tables. A child made by vfork shares this memory until it executes a
   program, so it must not change the tables. */
static _Atomic pid_t owner;

/* The system's file behind all these descriptors. */
static _Atomic uint64_t file_device;
static _Atomic uint64_t file_inode;

static __typeof__(&wireproof_rdma_cm_write) _Atomic device_write;
static __typeof__(&wireproof_rdma_cm_close) _Atomic device_close;

static uint64_t bit(int fd) {
    return UINT64_C(1) << (fd % WORD);
}

static bool has(table known, int fd) {
    return fd >= 0 && fd < DESCRIPTORS &&
           (atomic_load_explicit(&known[fd / WORD], memory_order_acquire) & bit(fd)) != 0;
}

static void add(table known, int fd) {
    if (fd < DESCRIPTORS) atomic_fetch_or(&known[fd / WORD], bit(fd));
}

/* Removes the descriptor from a table. Returns true if it was there and no other thread removed
   it. */
static bool take(table known, int fd) {
    return has(known, fd) && (atomic_fetch_and(&known[fd / WORD], ~bit(fd)) & bit(fd)) != 0;
}

static bool identify(int fd, struct stat* file) {
    const int before = errno;
    const long error = syscall(SYS_newfstatat, fd, "", file, AT_EMPTY_PATH);
    errno = before;
    return error == 0;
}

/* If the descriptor was closed where no hook saw it, its number may belong to another file now.
   Then this removes it from the table and returns false. */
static bool is_in(table known, int fd) {
    struct stat file;
    if (!has(known, fd)) return false;
    if (identify(fd, &file) && file.st_dev == file_device && file.st_ino == file_inode) return true;
    if (getpid() == owner) take(known, fd);
    return false;
}

static void after_fork(void) {
    owner = getpid();
    for (int i = 0; i < WORDS; ++i) {
        const uint64_t all = atomic_exchange(&opened[i], 0);
        if (all != 0) atomic_fetch_or(&orphans[i], all);
    }
}

static void prepare(void) {
    owner = getpid();
    pthread_atfork(NULL, NULL, after_fork);
}

static int remember(int fd) {
    struct stat file;
    if (fd == -1) return -1;
    if (fd >= DESCRIPTORS || !identify(fd, &file)) {
        device_close(fd);
        errno = EMFILE;
        return -1;
    }
    file_device = file.st_dev;
    file_inode = file.st_ino;
    take(orphans, fd);
    add(opened, fd);
    return fd;
}

int open_rdma_cm(int flags, bool* has_device) {
    static pthread_once_t prepared = PTHREAD_ONCE_INIT;
    __typeof__(&wireproof_rdma_cm_open) const device_open =
        (__typeof__(device_open))device_function("wireproof_rdma_cm_open");
    device_write = (__typeof__(&wireproof_rdma_cm_write))device_function("wireproof_rdma_cm_write");
    device_close = (__typeof__(&wireproof_rdma_cm_close))device_function("wireproof_rdma_cm_close");
    *has_device = device_open != NULL && device_write != NULL && device_close != NULL && enter();
    if (!*has_device) return -1;
    pthread_once(&prepared, prepare);
    const int fd = remember(device_open(flags));
    leave();
    return fd;
}

bool is_rdma_cm(int fd) {
    return is_in(opened, fd) || is_in(orphans, fd);
}

/* Returns true if the device library has closed the descriptor. `result` is its answer. */
static bool close_opened(int fd, int* result) {
    if ((!has(opened, fd) && !has(orphans, fd)) || getpid() != owner) return false;
    take(orphans, fd);
    if (!is_in(opened, fd) || !take(opened, fd) || !enter()) return false;
    *result = device_close(fd);
    leave();
    return true;
}

static void close_opened_of(unsigned first, unsigned last) {
    int ignored = 0;
    if (getpid() != owner) return;
    for (unsigned fd = first; fd <= last && fd < DESCRIPTORS; ++fd) {
        /* Skips empty words: most words are empty. */
        if (fd % WORD == 0 && opened[fd / WORD] == 0 && orphans[fd / WORD] == 0) {
            fd += WORD - 1;
        } else {
            close_opened((int)fd, &ignored);
        }
    }
}

HOOK int close(int fd) {
    int result = 0;
    return close_opened(fd, &result) ? result : NEXT(close)(fd);
}

HOOK int close_range(unsigned first, unsigned last, int flags) {
    if (((unsigned)flags & CLOSE_RANGE_CLOEXEC) == 0) close_opened_of(first, last);
    return NEXT(close_range)(first, last, flags);
}

HOOK void closefrom(int first) {
    close_opened_of(first < 0 ? 0 : (unsigned)first, UINT_MAX);
    NEXT(closefrom)(first);
}

/* The device library knows descriptors by number, so it does not know a duplicate. */
static int duplicated(int from, int to) {
    if (to >= 0 && is_rdma_cm(from)) add(orphans, to);
    return to;
}

HOOK int dup(int from) {
    return duplicated(from, NEXT(dup)(from));
}

HOOK int dup2(int from, int to) {
    int ignored = 0;
    if (from != to && NEXT(fcntl)(from, F_GETFD) != -1) close_opened(to, &ignored);
    const int result = NEXT(dup2)(from, to);
    return from == to ? result : duplicated(from, result);
}

HOOK int dup3(int from, int to, int flags) {
    int ignored = 0;
    if (from != to && NEXT(fcntl)(from, F_GETFD) != -1) close_opened(to, &ignored);
    return duplicated(from, NEXT(dup3)(from, to, flags));
}

static void leave_cancelled(void* unused) {
    (void)unused;
    leave();
}

HOOK ssize_t write(int fd, const void* data, size_t bytes) {
    /* Each command is longer than the 8 bytes that the device library itself writes to an
       eventfd. */
    const bool may_be_command = (has(opened, fd) || has(orphans, fd)) && bytes > sizeof(uint64_t);
    if (!may_be_command || !is_rdma_cm(fd)) return NEXT(write)(fd, data, bytes);
    if (has(orphans, fd) || getpid() != owner || !enter()) {
        errno = EIO;
        return -1;
    }
    /* A thread that waits for an event may be cancelled. The device library holds nothing then. */
    ssize_t result = -1;
    pthread_cleanup_push(leave_cancelled, NULL);
    let_cancel();
    result = device_write(fd, data, bytes);
    pthread_cleanup_pop(1);
    return result;
}
