#include "wireproof/host/job/rendezvous_board.hpp"

#include <poll.h>

#include <utility>

#include "wireproof/host/rendezvous/deadline.hpp"
#include "wireproof/host/rendezvous/rendezvous_text.hpp"
#include "wireproof/host/wait.hpp"

namespace wireproof::host {
namespace {

static_assert(rendezvous_entry_max == JobBoard::entry_max);
// Between two attempts to connect to a service that is not there yet.
constexpr int pause_ms = 20;

}  // namespace

RendezvousBoard::RendezvousBoard(JobPlace place, Service service, RendezvousPlace at,
                                 std::vector<std::string> addresses)
    : JobBoard(std::move(place), std::move(addresses)), service_(service), at_(std::move(at)) {}

Expected<std::vector<std::string>> RendezvousBoard::exchange(std::string_view entry,
                                                             std::chrono::milliseconds patience) {
    const bool serves = service_ == Service::of_rank_0 && at_.rank == 0;
    auto entries = serves ? serve(entry, patience) : visit(entry, patience);
    if (entries) ++exchange_;
    return entries;
}

Expected<std::vector<std::string>> RendezvousBoard::serve(std::string_view entry,
                                                          std::chrono::milliseconds patience) {
    const Deadline deadline(patience);
    const auto failed = [](const std::string& why) {
        return unexpected("rendezvous of rank 0: " + why);
    };
    if (entry.size() > entry_max) return failed("the entry has more than 65536 bytes");
    if (!server_) {
        auto server = RendezvousServer::open_at({at_.size, at_.token}, at_.service);
        if (!server) return failed(server.error().message);
        server_.emplace(std::move(*server));
    }
    server_->put(request_line({at_.token, at_.rank, entry.size(), exchange_}) + std::string(entry),
                 clock_.now());
    // When the answer is there, the others must get it, too.
    while ((server_->own_answer() == nullptr || !server_->all_sent()) && !deadline.past()) {
        const Instant end = clock_.now() + duration_of(deadline.left());
        wait_until(server_->handle(), clock_, earliest(end, server_->next_deadline()));
        server_->turn(clock_.now());
    }
    const auto answer = server_->own_answer();
    if (answer == nullptr) return failed("not all ranks arrived at " + at_.service);
    auto entries = parse_answer(*answer, at_.size);
    if (!entries) return failed(entries.error().message);
    if (!*entries) return failed("the answer is not complete");
    return std::move(**entries);
}

Expected<std::vector<std::string>> RendezvousBoard::visit(std::string_view entry,
                                                          std::chrono::milliseconds patience) {
    const Deadline deadline(patience);
    while (true) {
        auto connection = Rendezvous::connect(at_, deadline.left());
        if (connection) return connection->exchange(entry, deadline.left(), exchange_);
        if (service_ == Service::of_the_launcher || deadline.past()) {
            return tl::unexpected(connection.error());
        }
        ::poll(nullptr, 0, pause_ms);
    }
}

}  // namespace wireproof::host
