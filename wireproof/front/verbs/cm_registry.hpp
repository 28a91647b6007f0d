// Services that programs of this user listen to, so that the name of the host itself, 127.0.0.1,
// leads to any of them: each process has an address of its own, and a file says which has a port.
//
// The files lie in a folder that is the user's alone: $XDG_RUNTIME_DIR/wireproof, or
// /tmp/wireproof-UID. A process holds a lock on its file for as long as it lives. The kernel
// releases the lock however the process ends, and the next process that finds the file removes it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "wireproof/base/expected.hpp"
#include "wireproof/host/fork_watch.hpp"
#include "wireproof/wire/udp/address.hpp"

namespace wireproof::verbs {

/// A port of a port space of rdma_cm.
struct CmService {
    std::uint16_t space = 0;
    std::uint16_t port = 0;
    friend auto operator<=>(const CmService&, const CmService&) = default;
};

/// Any thread.
class CmRegistry {
public:
    enum class Claim : std::uint8_t {
        held,      // it is ours from now on
        taken,     // a living process has it
        no_folder  // there is no folder that only this user writes to: nobody will find it
    };

    /// `folder` is made when it is needed, with mode 0700.
    explicit CmRegistry(std::string folder);
    CmRegistry(const CmRegistry&) = delete;
    CmRegistry& operator=(const CmRegistry&) = delete;
    /// Gives up all that is held.
    ~CmRegistry();

    /// Of this process, as its environment says; a program with raised privileges reads none. Its
    /// files go when the process exits.
    static CmRegistry& of_process();
    static std::string folder_of_user();

    Claim claim(const CmService& service, const Address& address);
    void give_up(const CmService& service);
    void give_up_all();
    /// Of a living process, or ours. The address is what was claimed with.
    std::optional<Address> find(const CmService& service);
    /// Why there is no folder; empty: there is.
    std::string why_no_folder();

private:
    struct Held;

    Expected<int> open_folder() const;

    std::string folder_;
    std::mutex lock_;
    std::unique_ptr<Held> held_;
    host::ForkWatch fork_;
};

}  // namespace wireproof::verbs
