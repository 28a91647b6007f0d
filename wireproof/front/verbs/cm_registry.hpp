// The services to which programs of this user listen. Each process has an address of its own. A
// file says which process listens to a port, so that a client that asks for 127.0.0.1, the host
// itself, finds the process.
//
// The files are in a folder that only the user may use: $XDG_RUNTIME_DIR/wireproof, or
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

/// A port in a port space of rdma_cm.
struct CmService {
    std::uint16_t space = 0;
    std::uint16_t port = 0;
    friend auto operator<=>(const CmService&, const CmService&) = default;
};

/// Any thread may call any function.
class CmRegistry {
public:
    enum class Claim : std::uint8_t {
        held,      // this process has it from now on
        taken,     // a living process has it already
        no_folder  // there is no folder that only this user may use
    };

    /// The registry creates `folder` when it needs it, with mode 0700.
    explicit CmRegistry(std::string folder);
    CmRegistry(const CmRegistry&) = delete;
    CmRegistry& operator=(const CmRegistry&) = delete;
    /// Gives up all services.
    ~CmRegistry();

    /// The registry of this process, in folder_of_user(). It gives up all services when the process
    /// exits.
    static CmRegistry& of_process();
    static std::string folder_of_user();

    Claim claim(const CmService& service, const Address& address);
    void give_up(const CmService& service);
    void give_up_all();
    /// The address with which a living process, or this one, claimed the service.
    std::optional<Address> find(const CmService& service);
    /// The reason why there is no folder. The text is empty if there is one.
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
