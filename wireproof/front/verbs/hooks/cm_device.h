/* What stands behind /dev/infiniband/rdma_cm. The device library (libibverbs.so.1 or the preload
   library) exports these functions with the version WIREPROOF_1.0; the hooks find them when a
   program opens the file. Any thread may call any of them, and each sets errno where it fails. */
#pragma once

#include <sys/types.h>

#ifdef __cplusplus
#include <cstddef>
#pragma GCC visibility push(default)
extern "C" {
#else
#include <stddef.h>
#endif

/// A descriptor, which the program may poll and make nonblocking: an eventfd. `flags` are those of
/// open(2). -1: errno says why there is none. A number that it has handed out before means that the
/// program has closed that one unnoticed.
int wireproof_rdma_cm_open(int flags);

/// One command of version 4 of the kernel's interface. What write(2) would answer.
ssize_t wireproof_rdma_cm_write(int fd, const void* command, size_t bytes);

/// Closes the descriptor, too. What close(2) would answer.
int wireproof_rdma_cm_close(int fd);

#ifdef __cplusplus
}
#pragma GCC visibility pop
#endif
