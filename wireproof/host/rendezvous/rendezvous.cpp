#include "wireproof/host/rendezvous/rendezvous.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "wireproof/host/rendezvous/rendezvous_text.hpp"
#include "wireproof/host/rendezvous/service_address.hpp"

namespace wireproof::host {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

tl::unexpected<Error> failed(const RendezvousPlace& place, const std::string& why) {
    return unexpected("rendezvous at " + place.service + ": " + why);
}

tl::unexpected<Error> failed_call(const RendezvousPlace& place, const char* what, int error) {
    return failed(place, std::string(what) + ": " + std::strerror(error));
}

/// False: the time is up.
bool wait_for(int socket, short what, Clock::time_point deadline) {
    while (true) {
        const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) return false;
        pollfd wanted{.fd = socket, .events = what, .revents = 0};
        constexpr std::int64_t turn_max = 60'000;
        if (::poll(&wanted, 1, static_cast<int>(std::min<std::int64_t>(left, turn_max))) > 0) {
            return true;
        }
    }
}

Expected<std::uint32_t> number_in(const char* variable, std::uint32_t most) {
    const char* text = std::getenv(variable);
    if (text == nullptr) return unexpected(std::string(variable) + " is not set");
    const auto number = number_of(text, most);
    if (!number) {
        return unexpected(std::string(variable) + " is no number from 0 to " +
                          std::to_string(most));
    }
    return static_cast<std::uint32_t>(*number);
}

}  // namespace

Expected<RendezvousPlace> RendezvousPlace::of_environment() {
    RendezvousPlace place;
    for (const auto& [variable, value] : {std::pair("WIREPROOF_RENDEZVOUS", &place.service),
                                          std::pair("WIREPROOF_TOKEN", &place.token)}) {
        const char* text = std::getenv(variable);
        if (text == nullptr) return unexpected(std::string(variable) + " is not set");
        *value = text;
    }
    const auto size = number_in("WIREPROOF_SIZE", rendezvous_ranks_max);
    if (!size) return tl::unexpected(size.error());
    if (*size == 0) return unexpected("WIREPROOF_SIZE is 0");
    const auto rank = number_in("WIREPROOF_RANK", *size - 1);
    if (!rank) return tl::unexpected(rank.error());
    place.size = *size;
    place.rank = *rank;
    return place;
}

Expected<Rendezvous> Rendezvous::connect(RendezvousPlace place, milliseconds patience) {
    const auto deadline = Clock::now() + patience;
    const ServiceAddress address = service_address(place.service);
    if (!address) return failed(place, "this is no numeric address with a port");
    OwnedHandle socket(::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return failed_call(place, "no socket", errno);
    if (::connect(*socket, address->ai_addr, address->ai_addrlen) != 0) {
        if (errno != EINPROGRESS) return failed_call(place, "no connection", errno);
        if (!wait_for(*socket, POLLOUT, deadline)) return failed(place, "no answer");
        int error = 0;
        socklen_t length = sizeof error;
        ::getsockopt(*socket, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) return failed_call(place, "no connection", error);
    }
    return Rendezvous(std::move(place), std::move(socket));
}

Expected<std::string> Rendezvous::own_host() const {
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    auto* address = reinterpret_cast<sockaddr*>(&own);
    std::array<char, NI_MAXHOST> text{};
    if (::getsockname(*socket_, address, &length) != 0 ||
        ::getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
        return failed(place_, "the system does not say this host's address");
    }
    return std::string(text.data());
}

Expected<std::vector<std::string>> Rendezvous::exchange(std::string_view entry,
                                                        milliseconds patience,
                                                        std::uint32_t number) {
    const auto deadline = Clock::now() + patience;
    if (entry.size() > rendezvous_entry_max) {
        return failed(place_,
                      "the entry has more than " + std::to_string(rendezvous_entry_max) + " bytes");
    }
    const std::string request =
        request_line({place_.token, place_.rank, entry.size(), number}) + std::string(entry);
    for (std::size_t sent = 0; sent < request.size();) {
        if (!wait_for(*socket_, POLLOUT, deadline)) return failed(place_, "no answer");
        const ssize_t now =
            ::send(*socket_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
        if (now > 0) sent += static_cast<std::size_t>(now);
        if (now < 0 && errno != EAGAIN && errno != EINTR) break;  // a refusal may be waiting
    }
    std::string answer;
    while (true) {
        auto entries = parse_answer(answer, place_.size);
        if (!entries) return failed(place_, entries.error().message);
        if (*entries) return std::move(**entries);
        if (!wait_for(*socket_, POLLIN, deadline)) return failed(place_, "not all ranks came");
        std::array<char, 65'536> part;
        const ssize_t now = ::recv(*socket_, part.data(), part.size(), 0);
        if (now > 0) answer.append(part.data(), static_cast<std::size_t>(now));
        if (now == 0) return failed(place_, "the launcher has ended");
        if (now < 0 && errno != EAGAIN && errno != EINTR) {
            return failed_call(place_, "no answer", errno);
        }
    }
}

Expected<std::vector<std::string>> rendezvous(const RendezvousPlace& place, std::string_view entry,
                                              milliseconds patience, std::uint32_t number) {
    const auto deadline = Clock::now() + patience;
    auto connection = Rendezvous::connect(place, patience);
    if (!connection) return tl::unexpected(connection.error());
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    return connection->exchange(entry, left, number);
}

}  // namespace wireproof::host
