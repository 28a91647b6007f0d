// How a rank is started: the variables in its environment, and the command that starts it on
// another host.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wireproof::launch {

/// What all ranks of a job share.
struct JobNames {
    std::string job;    // 16 hexadecimal digits, random
    std::string token;  // the secret of its rendezvous
    std::size_t size = 0;
    std::uint16_t port = 0;  // of the rendezvous service
};

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The variables of a rank but the two of the rendezvous service, which are not the same on all
/// hosts: WIREPROOF_RENDEZVOUS, and WIREPROOF_TOKEN, which no command line may show.
Variables rank_variables(const JobNames& names, std::size_t rank, const std::string& host);

struct RemoteRank {
    std::string ssh;  // the command in words, split at spaces: "ssh -o BatchMode=yes"
    std::string host;
    std::string folder;   // the working folder
    std::string address;  // of the launcher's host, as the rank reaches it; empty: ssh tells it
    std::uint16_t port = 0;
    Variables variables;
    std::vector<std::string> program;
};

/// The arguments of the local process that runs the rank on its host. Its standard input is the
/// rank's lifeline. The first line is the token. Each further line is the name of a signal for the
/// rank, and at its end the rank is ended: SIGTERM, and after a second SIGKILL.
std::vector<std::string> remote_command(const RemoteRank& rank);

}  // namespace wireproof::launch
