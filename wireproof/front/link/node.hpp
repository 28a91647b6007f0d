// One end of a link that carries messages of any length, over any wire and in any time. A link that
// goes down and comes up again loses nothing and repeats nothing.
#pragma once

#include <functional>
#include <vector>

#include "wireproof/core/pump.hpp"
#include "wireproof/front/link/any_link.hpp"
#include "wireproof/front/link/message_stream.hpp"
#include "wireproof/host/any_wire.hpp"

namespace wireproof::link {

/// Why nothing more will come.
enum class Lost : std::uint8_t {
    silent,      // nothing was heard for the peer timeout, though something was waited for
    restarted,   // the peer began anew, and no longer has what it was sent
    broken,      // it sent what no peer of ours sends
    unanswered,  // it is heard, but one frame was sent again for the peer timeout without an answer
};

/// Not for several threads at once. Callbacks run in poll.
class Node {
public:
    struct Config {
        StreamConfig stream = {};
        Duration peer_timeout = Duration::milliseconds(10'000);
    };

    /// `peer` is the other end's number on the wire.
    Node(host::AnyWire wire, PeerId peer, AnyLink engine, const Config& config);
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    void on_message(std::function<void(ConstBytes)> run) { on_message_ = std::move(run); }
    /// Once; then the node only pretends to poll.
    void on_lost(std::function<void(Lost)> run) { on_lost_ = std::move(run); }

    bool has_room() const { return stream_.has_room(); }
    /// Copied; leaves in the polls to come.
    void send(ConstBytes message) { stream_.submit(message); }
    /// The peer has everything that was sent.
    bool idle() const { return stream_.delivered(); }
    std::uint64_t messages_delivered() const { return stream_.messages_delivered(); }
    /// Both ends met; false before, and while the link is down.
    bool connected() const { return stream_.up(); }

    /// While true, a silent peer is reported even if it owes nothing.
    void set_awaiting(bool awaiting) { awaiting_ = awaiting; }

    /// One turn: receive, hand messages up, timers, send. Returns the frames received.
    std::size_t poll(Instant now);
    Instant next_deadline() const;

    const AnyLink& engine() const { return engine_; }
    /// The longest frame of the wire, bytes.
    std::size_t frame_max() { return wire_.lane(peer_).capabilities().frame_max; }
    host::AnyWire& wire() { return wire_; }
    /// What the kernel said of the other end.
    PeerTrouble trouble() const { return wire_.trouble(peer_); }
    Duration peer_timeout() const { return peer_timeout_; }

private:
    void draw();
    void deliver(const LinkDelivery& delivery);
    void lose(Lost why);
    void watch(Instant now);
    Transmitted transmit_all(Instant now);
    void send_all(Instant now);

    host::AnyWire wire_;
    PeerId peer_;
    AnyLink engine_;
    MessageStream stream_;
    Duration peer_timeout_;
    std::vector<std::byte> segment_;
    std::size_t waiting_segment_ = 0;  // bytes of it that the engine had no room for
    std::function<void(ConstBytes)> on_message_;
    std::function<void(Lost)> on_lost_;
    bool awaiting_ = false;
    bool lost_ = false;
    Instant heard_ = never;  // never: nobody was waited for
    Instant ask_at_ = never;
};

}  // namespace wireproof::link
