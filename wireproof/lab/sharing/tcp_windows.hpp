// Models of what TCP allows to be in flight: Reno (RFC 5681), CUBIC (RFC 9438) and BBR (version 1,
// Cardwell, Cheng, Gunn, Yeganeh and Jacobson, 2016). They are what a flow of SP AM meets on a
// shared link. Each is simplified: no selective recovery, no application limit.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "wireproof/base/instant.hpp"

namespace wireproof::lab {

/// What the acknowledgement of one packet tells.
struct TcpAck {
    Instant now;
    Duration rtt;
    double rate = 0;  // packets per second: what was delivered since the packet left
    double in_flight = 0;
};

class TcpWindow {
public:
    virtual ~TcpWindow() = default;
    /// Packets that may be in flight.
    virtual double packets() const = 0;
    /// Packets per second at which they may leave; 0: no limit.
    virtual double pace() const { return 0; }
    virtual void on_ack(const TcpAck& ack) = 0;
    /// The first loss of a round trip.
    virtual void on_loss(Instant now) = 0;
    virtual void on_timeout() = 0;
};

enum class Tcp : std::uint8_t { reno, cubic, bbr };

std::string_view name_of(Tcp tcp);
std::unique_ptr<TcpWindow> make_window(Tcp tcp);

}  // namespace wireproof::lab
