// One end of a link that carries messages of any length, over any wire; the caller passes the time.
// If the link goes down and comes up again, no message is lost or repeated.
#pragma once

#include <functional>
#include <vector>

#include "wireproof/core/any_link.hpp"
#include "wireproof/core/pump.hpp"
#include "wireproof/front/link/message_stream.hpp"
#include "wireproof/host/any_wire.hpp"

namespace wireproof::link {

/// Why no further message will arrive.
enum class Lost : std::uint8_t {
    silent,     // no frame came for the peer timeout, although one was expected
    restarted,  // the peer restarted, and has lost what it had received
    broken,     // the peer sent what a correct peer does not send
    // Frames come, but one frame was retransmitted for the peer timeout and not acknowledged.
    unanswered,
};

/// Only one thread may use a Node at a time. poll() runs the callbacks.
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
    /// Called at most once. Afterwards the node delivers no further messages.
    void on_lost(std::function<void(Lost)> run) { on_lost_ = std::move(run); }

    bool has_room() const { return stream_.has_room(); }
    /// Copies the message. The next polls send it.
    void send(ConstBytes message) { stream_.submit(message); }
    /// The peer has all messages that were sent.
    bool idle() const { return stream_.delivered(); }
    std::uint64_t messages_delivered() const { return stream_.messages_delivered(); }
    /// False until both ends have started the link, and while it is down.
    bool connected() const { return stream_.up(); }

    /// While true, a silent peer is reported even if it owes this node nothing.
    void set_awaiting(bool awaiting) { awaiting_ = awaiting; }

    /// One turn: receives, delivers messages, checks timers, sends. Returns the number of frames
    /// received.
    std::size_t poll(Instant now);
    Instant next_deadline() const;

    const AnyLink& engine() const { return engine_; }
    /// The longest frame of the wire, bytes.
    std::size_t frame_max() { return wire_.lane(peer_).capabilities().frame_max; }
    host::AnyWire& wire() { return wire_; }
    /// The errors that the kernel reported for the other end.
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
    std::size_t waiting_segment_ = 0;  // bytes of segment_ that the engine had no room for
    std::function<void(ConstBytes)> on_message_;
    std::function<void(Lost)> on_lost_;
    bool awaiting_ = false;
    bool lost_ = false;
    Instant heard_ = never;  // never: nothing is expected of the peer
    Instant ask_at_ = never;
};

}  // namespace wireproof::link
