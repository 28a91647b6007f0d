// Shows that another process of the job has the same network namespace and the same user, so that
// the two may share memory. The proof is a connection over an abstract socket: such a socket is
// seen only in its network namespace, and the kernel tells the user who listens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "wireproof/base/expected.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::host {

class SharingProof {
public:
    /// Opens the socket of this rank. The error says, for example, that another process has it.
    static Expected<SharingProof> listen(std::uint64_t job, std::size_t rank);

    /// Whether this rank of the job is listening here, as the same user. Call it when the other
    /// rank has called listen(), so after an exchange of the JobBoard. The other rank may decide
    /// differently (it may be of another user, as the kernel shows it there), so the two must
    /// exchange their results before they rely on them.
    bool reaches(std::size_t rank) const;

private:
    SharingProof(std::uint64_t job, Descriptor socket) : job_(job), socket_(std::move(socket)) {}

    std::uint64_t job_;
    Descriptor socket_;
};

}  // namespace wireproof::host
