// A board whose launcher keeps short texts under keys and has a fence: PMI-1 and PMI2.
#pragma once

#include "wireproof/host/job/job_board.hpp"
#include "wireproof/host/rendezvous/deadline.hpp"

namespace wireproof::host {

class PmiBoard : public JobBoard {
public:
    using JobBoard::agree_on_job;
    Expected<std::vector<std::string>> exchange(std::string_view entry,
                                                std::chrono::milliseconds patience) override;

protected:
    using JobBoard::JobBoard;

private:
    virtual Expected<void> put(const std::string& key, const std::string& value,
                               const Deadline& deadline) = 0;
    /// Waits until all ranks have come here. Then what they have put is there.
    virtual Expected<void> fence(const Deadline& deadline) = 0;
    virtual Expected<std::string> get(const std::string& key, const Deadline& deadline) = 0;
    Expected<std::string> entry_of(std::size_t exchange, std::size_t rank,
                                   const Deadline& deadline);

    std::size_t exchange_ = 0;
};

}  // namespace wireproof::host
