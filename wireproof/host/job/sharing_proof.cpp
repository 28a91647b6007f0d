#include "wireproof/host/job/sharing_proof.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "wireproof/host/job/job_number.hpp"

namespace wireproof::host {
namespace {

// Nobody accepts a connection until its rank looks for others itself, so all of them must fit.
constexpr int backlog = 4096;
// If more ranks than `backlog` connect at a time, the last ones try again.
constexpr int tries_max = 100;
constexpr int proof_pause_ms = 2;

struct Name {
    sockaddr_un address{};
    socklen_t length = 0;
};

/// "wireproof-0123456789abcdef-7" behind the zero byte of an abstract name.
Name name_of(std::uint64_t job, std::size_t rank) {
    const std::string text = "wireproof-" + job_text(job) + "-" + std::to_string(rank);
    Name name;
    name.address.sun_family = AF_UNIX;
    std::copy(text.begin(), text.end(), name.address.sun_path + 1);
    name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    return name;
}

Descriptor new_socket() {
    return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// Makes room in the queue of this listening socket. The connections have shown what they were for.
void drop_connections(int listening) {
    while (Descriptor(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC)).is_open()) {
    }
}

bool same_user(int socket) {
    ucred other{};
    socklen_t length = sizeof other;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 &&
           other.uid == ::geteuid();
}

}  // namespace

Expected<SharingProof> SharingProof::listen(std::uint64_t job, std::size_t rank) {
    const Name name = name_of(job, rank);
    Descriptor socket = new_socket();
    if (!socket.is_open() ||
        ::bind(socket.handle(), reinterpret_cast<const sockaddr*>(&name.address), name.length) !=
            0 ||
        ::listen(socket.handle(), backlog) != 0) {
        return unexpected("abstract socket " + std::string(name.address.sun_path + 1) + ": " +
                          std::strerror(errno));
    }
    return SharingProof(job, std::move(socket));
}

bool SharingProof::reaches(std::size_t rank) const {
    const Name name = name_of(job_, rank);
    for (int tries = 0; tries < tries_max; ++tries) {
        drop_connections(socket_.handle());
        const Descriptor socket = new_socket();
        if (!socket.is_open()) return false;
        const auto* address = reinterpret_cast<const sockaddr*>(&name.address);
        if (::connect(socket.handle(), address, name.length) == 0)
            return same_user(socket.handle());
        if (errno != EAGAIN && errno != EINTR) return false;
        ::poll(nullptr, 0, proof_pause_ms);
    }
    return false;
}

}  // namespace wireproof::host
