/* The functions behind /dev/infiniband/rdma_cm. The device library (libibverbs.so.1 or the preload
   library) exports them with the version WIREPROOF_1.0. The hooks look them up when a program opens
   the file. Any thread may call any of them. Each sets errno if it fails. */
#pragma once

#include <sys/types.h>

#ifdef __cplusplus
#include <cstddef>
#pragma GCC visibility push(default)
extern "C" {
#else
#include <stddef.h>
#endif

/// Opens a descriptor: an eventfd that the program may poll and make nonblocking. `flags` are those
/// of open(2). Returns -1 with errno if it fails. If the number is one that it has returned before,
/// the program closed the earlier descriptor where no hook saw it.
int wireproof_rdma_cm_open(int flags);

/// Runs one command of version 4 of the kernel's interface. Returns what write(2) would return.
ssize_t wireproof_rdma_cm_write(int fd, const void* command, size_t bytes);

/// Closes the descriptor, too. Returns what close(2) would return.
int wireproof_rdma_cm_close(int fd);

#ifdef __cplusplus
}
#pragma GCC visibility pop
#endif
