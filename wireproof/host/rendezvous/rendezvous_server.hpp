// The sockets of a rendezvous service: a thin loop around RendezvousTable. It never blocks. An
// event loop waits for handle(), calls turn(), and sleeps no longer than to next_deadline().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "wireproof/base/expected.hpp"
#include "wireproof/host/rendezvous/rendezvous_table.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::host {

class RendezvousServer {
public:
    enum class Reach : std::uint8_t { this_host, other_hosts };

    /// Listens on a port that the system chooses: on 127.0.0.1, or on all addresses of this host.
    static Expected<RendezvousServer> open(RendezvousTable::Config config, Reach reach);

    /// Listens on this numeric address with a port, which is one of this host.
    static Expected<RendezvousServer> open_at(RendezvousTable::Config config,
                                              const std::string& address);

    std::uint16_t port() const { return port_; }
    /// Readable if turn() has something to do.
    int handle() const { return events_.handle(); }
    void turn(Instant now);
    Instant next_deadline() const;
    void on_rank_ended(std::uint32_t rank, Instant now);
    std::uint32_t exchanges() const { return table_.exchanges(); }

    /// For a process that is a rank of the job itself: takes what the rank would send over a
    /// connection. The answer comes in own_answer().
    void put(std::string_view request, Instant now);
    /// Null: there is no answer to the last put() yet.
    std::shared_ptr<const std::string> own_answer() const { return own_answer_; }
    /// Whether no answer is still on its way to a peer.
    bool all_sent() const;

private:
    explicit RendezvousServer(RendezvousTable::Config config) : table_(std::move(config)) {}
    static Expected<RendezvousServer> on(RendezvousTable::Config config, Descriptor listening);
    using Connection = RendezvousTable::Connection;
    struct Peer {
        Descriptor socket;
        std::shared_ptr<const std::string> reply;  // null: none yet
        std::size_t sent = 0;
        Instant deadline = never;  // by which the peer must have taken the reply
    };

    void accept_all(Instant now);
    void accept_again(bool possible);
    void serve(Connection connection, Instant now);
    void send_replies(Instant now);
    void send_rest(Connection connection);

    RendezvousTable table_;
    Descriptor events_;
    Descriptor listening_;
    std::uint16_t port_ = 0;
    Instant accept_at_ = never;  // the system had no descriptor for a connection; try again then
    Connection last_ = 0;
    Connection own_ = 0;  // the connection of the last put(), without a socket
    std::shared_ptr<const std::string> own_answer_;
    std::map<Connection, Peer> peers_;
};

}  // namespace wireproof::host
