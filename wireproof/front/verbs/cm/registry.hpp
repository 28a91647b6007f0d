// The services to which programs of this user listen. Each process has an address of its own. A
// file says which process listens to a port, so that a client that asks for 127.0.0.1, the host
// itself, finds the process.
//
// The files are in folders that only the user may use: /tmp/wireproof-UID, and
// $XDG_RUNTIME_DIR/wireproof if there is one. A process holds a lock on its file for as long as it
// lives. The kernel releases the lock however the process ends, and the next process that finds the
// file removes it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/host/fork_watch.hpp"
#include "wireproof/os/address.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::verbs {

/// A port in a port space of rdma_cm.
struct CmService {
    std::uint16_t space = 0;
    std::uint16_t port = 0;
    friend auto operator<=>(const CmService&, const CmService&) = default;
};

/// What became of a claim.
enum class CmClaim : std::uint8_t {
    held,      // this process has the service from now on
    taken,     // a living process has it already
    no_folder  // there is no folder that only this user may use
};

/// One folder. Any thread may call any function.
class CmServiceFolder {
public:
    /// The folder is created when it is needed, with mode 0700.
    explicit CmServiceFolder(std::string path);
    CmServiceFolder(const CmServiceFolder&) = delete;
    CmServiceFolder& operator=(const CmServiceFolder&) = delete;
    /// Gives up all services.
    ~CmServiceFolder();

    CmClaim claim(const CmService& service, const Address& address);
    void give_up(const CmService& service);
    void give_up_all();
    /// The address with which a living process, or this one, claimed the service.
    std::optional<Address> find(const CmService& service);
    /// The reason why the folder cannot be used. The text is empty if it can.
    std::string why_not();

private:
    struct Held;

    Expected<Descriptor> open() const;

    std::string path_;
    std::mutex lock_;
    std::unique_ptr<Held> held_;
    host::ForkWatch fork_;
};

/// The folders in which a process claims services and finds them. Two processes of a user find each
/// other if they have one folder in common: a service of the system has no XDG_RUNTIME_DIR, and may
/// have a /tmp of its own. All processes claim in the same order.
class CmRegistry {
public:
    using Claim = CmClaim;

    explicit CmRegistry(const std::vector<std::string>& folders);

    /// The registry of this process, in folders_of_user(). It gives up all services when the
    /// process exits.
    static CmRegistry& of_process();
    static std::vector<std::string> folders_of_user();

    /// The claim holds in each folder that can be used.
    Claim claim(const CmService& service, const Address& address);
    void give_up(const CmService& service);
    void give_up_all();
    std::optional<Address> find(const CmService& service);
    /// The reason why no folder can be used. The text is empty if one can.
    std::string why_no_folder();

private:
    std::deque<CmServiceFolder> folders_;
};

}  // namespace wireproof::verbs
