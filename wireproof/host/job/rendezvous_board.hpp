// A board whose ranks meet at a rendezvous service.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/host/job/job_board.hpp"
#include "wireproof/host/rendezvous/rendezvous.hpp"
#include "wireproof/host/rendezvous/rendezvous_server.hpp"
#include "wireproof/host/steady_clock.hpp"

namespace wireproof::host {

class RendezvousBoard final : public JobBoard {
public:
    /// Who runs the service. If rank 0 does, it opens it in its first exchange and serves the
    /// others while it is in an exchange itself. The others try to connect until it is there.
    enum class Service : std::uint8_t { of_the_launcher, of_rank_0 };

    RendezvousBoard(JobPlace place, Service service, RendezvousPlace at,
                    std::vector<std::string> addresses = {});

    using JobBoard::agree_on_job;
    Expected<std::vector<std::string>> exchange(std::string_view entry,
                                                std::chrono::milliseconds patience) override;

private:
    Expected<std::vector<std::string>> serve(std::string_view entry,
                                             std::chrono::milliseconds patience);
    Expected<std::vector<std::string>> visit(std::string_view entry,
                                             std::chrono::milliseconds patience);

    Service service_;
    RendezvousPlace at_;
    std::uint32_t exchange_ = 0;  // the number of the next one
    SteadyClock clock_;
    std::optional<RendezvousServer> server_;  // of rank 0
};

}  // namespace wireproof::host
