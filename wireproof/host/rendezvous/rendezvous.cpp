#include "wireproof/host/rendezvous/rendezvous.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "wireproof/host/rendezvous/deadline.hpp"
#include "wireproof/host/rendezvous/environment.hpp"
#include "wireproof/host/rendezvous/rendezvous_text.hpp"
#include "wireproof/os/socket_address.hpp"

namespace wireproof::host {
namespace {

using std::chrono::milliseconds;

tl::unexpected<Error> failed(const RendezvousPlace& place, const std::string& why) {
    return unexpected("rendezvous at " + place.service + ": " + why);
}

tl::unexpected<Error> failed_call(const RendezvousPlace& place, const char* what, int error) {
    return failed(place, std::string(what) + ": " + std::strerror(error));
}

/// False: the time is up, and the socket is not ready.
bool wait_for(int socket, short what, const Deadline& deadline) {
    do {
        const std::int64_t left = deadline.left().count();
        pollfd wanted{.fd = socket, .events = what, .revents = 0};
        constexpr std::int64_t turn_max = 60'000;
        if (::poll(&wanted, 1, static_cast<int>(std::min<std::int64_t>(left, turn_max))) > 0) {
            return true;
        }
    } while (!deadline.past());
    return false;
}

}  // namespace

Expected<RendezvousPlace> RendezvousPlace::of_environment() {
    for (const char* variable : {"WIREPROOF_RENDEZVOUS", "WIREPROOF_TOKEN"}) {
        if (!is_set(variable)) return unexpected(not_set(variable));
    }
    const auto size = number_in("WIREPROOF_SIZE", 1, rendezvous_ranks_max);
    if (!size) return tl::unexpected(size.error());
    const auto rank = number_in("WIREPROOF_RANK", 0, *size - 1);
    if (!rank) return tl::unexpected(rank.error());
    return RendezvousPlace{text_in("WIREPROOF_RENDEZVOUS"), text_in("WIREPROOF_TOKEN"),
                           static_cast<std::uint32_t>(*rank), static_cast<std::uint32_t>(*size)};
}

Expected<Rendezvous> Rendezvous::connect(RendezvousPlace place, milliseconds patience) {
    const Deadline deadline(patience);
    const auto address = Address::parse(place.service);
    if (!address) return unexpected("rendezvous: " + address.error().message);
    const SocketAddress to = to_socket_address(*address);
    Descriptor socket(::socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) return failed_call(place, "no socket", errno);
    if (::connect(socket.handle(), &to.any, length_of(to)) != 0) {
        if (errno != EINPROGRESS) return failed_call(place, "no connection", errno);
        if (!wait_for(socket.handle(), POLLOUT, deadline)) return failed(place, "no answer");
        int error = 0;
        socklen_t length = sizeof error;
        ::getsockopt(socket.handle(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) return failed_call(place, "no connection", error);
    }
    return Rendezvous(std::move(place), std::move(socket));
}

Expected<std::vector<std::string>> Rendezvous::exchange(std::string_view entry,
                                                        milliseconds patience,
                                                        std::uint32_t number) {
    const Deadline deadline(patience);
    if (entry.size() > rendezvous_entry_max) {
        return failed(place_,
                      "the entry has more than " + std::to_string(rendezvous_entry_max) + " bytes");
    }
    const std::string request =
        request_line({place_.token, place_.rank, entry.size(), number}) + std::string(entry);
    for (std::size_t sent = 0; sent < request.size();) {
        if (!wait_for(socket_.handle(), POLLOUT, deadline)) return failed(place_, "no answer");
        const ssize_t now =
            ::send(socket_.handle(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
        if (now > 0) sent += static_cast<std::size_t>(now);
        if (now < 0 && errno != EAGAIN && errno != EINTR) break;  // a refusal may be waiting
    }
    std::string answer;
    while (true) {
        auto entries = parse_answer(answer, place_.size);
        if (!entries) return failed(place_, entries.error().message);
        if (*entries) return std::move(**entries);
        if (!wait_for(socket_.handle(), POLLIN, deadline))
            return failed(place_, "not all ranks arrived");
        std::array<char, 65'536> part;
        const ssize_t now = ::recv(socket_.handle(), part.data(), part.size(), 0);
        if (now > 0) answer.append(part.data(), static_cast<std::size_t>(now));
        if (now == 0) return failed(place_, "the launcher has ended");
        if (now < 0 && errno != EAGAIN && errno != EINTR) {
            return failed_call(place_, "no answer", errno);
        }
    }
}

}  // namespace wireproof::host
