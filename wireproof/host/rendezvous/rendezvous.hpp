// How a rank of a job finds the other ranks. The launcher of the job runs a rendezvous service, and
// gives each rank its place in the job by environment variables. These calls block.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::host {

struct RendezvousPlace {
    std::string service;  // numeric, with port: "127.0.0.1:7000", "[fe80::1%eth0]:7000"
    std::string token;
    std::uint32_t rank = 0;
    std::uint32_t size = 1;  // of the job

    /// Reads WIREPROOF_RENDEZVOUS, WIREPROOF_TOKEN, WIREPROOF_RANK and WIREPROOF_SIZE. The error
    /// names the variable that is missing or wrong.
    static Expected<RendezvousPlace> of_environment();
};

/// A connection to the service, for one exchange.
class Rendezvous {
public:
    static Expected<Rendezvous> connect(RendezvousPlace place, std::chrono::milliseconds patience);

    /// Puts this rank's entry (any bytes, at most rendezvous_entry_max) and waits until all ranks
    /// have put theirs. Returns all entries, by rank. `number` counts the exchanges of the job from
    /// 0. Call it once; the next exchange needs a new connection.
    Expected<std::vector<std::string>> exchange(std::string_view entry,
                                                std::chrono::milliseconds patience,
                                                std::uint32_t number = 0);

private:
    Rendezvous(RendezvousPlace place, Descriptor socket)
        : place_(std::move(place)), socket_(std::move(socket)) {}

    RendezvousPlace place_;
    Descriptor socket_;
};

}  // namespace wireproof::host
