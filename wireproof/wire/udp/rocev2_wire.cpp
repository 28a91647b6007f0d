#include "wireproof/wire/udp/rocev2_wire.hpp"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <system_error>
#include <type_traits>

#include "wireproof/wire/udp/interface_mtu.hpp"
#include "wireproof/wire/udp/ip_bytes.hpp"
#include "wireproof/wire/udp/rocev2_datagram.hpp"

namespace wireproof {
namespace {

// A receiver may get the segments one by one and compute their identifications. With this limit,
// the identifications of the next super-packet are near those of the one before.
constexpr std::size_t segments_most = IdentificationWindow::behind;

// Packets up to this length are copied into the batch before the ICRC is computed. For the kernel,
// a datagram or a super-packet of such packets is then one piece.
constexpr std::size_t copied_most = 512;

std::size_t overhead_of(const Address& address) {
    const bool ipv4 = address.family == Address::Family::ipv4;
    return (ipv4 ? ipv4_size : ipv6_size) + udp_size + IcrcCover::icrc_size;
}

/// Bytes of the longest packet that fits into an IP packet of `mtu` bytes.
std::size_t packet_within(std::size_t mtu, const Address& address) {
    const std::size_t overhead = overhead_of(address);
    return std::min(std::max(mtu, overhead) - overhead, rocev2_packet_max);
}

Address with_port(Address address) {
    if (address.port == 0) address.port = rocev2_port;
    return address;
}

Address host_of(Address address) {
    address.port = 0;
    return address;
}

bool names_a_host(const Address& address) {
    return address.is_set() &&
           std::ranges::any_of(address.host, [](auto byte) { return byte != 0; });
}

// A kernel that may not fragment writes identification 0. Over IPv4, packets leave without UDP's
// checksum, like those of adapters: the ICRC is stronger. But the kernel refuses a super-packet
// without a UDP checksum, and on loopback a checksum costs nothing. Over IPv6, UDP requires a
// checksum, but Soft-RoCE leaves it out; so the socket also accepts packets without one.
Expected<void> prepare(const UdpSocket& socket, Address::Family family, bool super_packets) {
    const int handle = socket.handle();
    if (family == Address::Family::ipv4) {
        if (!super_packets) set_option(handle, SOL_SOCKET, SO_NO_CHECK, 1);
        if (set_option(handle, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)) return {};
    } else if (set_option(handle, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) &&
               set_option(handle, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1)) {
        return {};
    }
    return unexpected("RoCEv2 wire: " + std::generic_category().message(errno));
}

Expected<void> check_config(const Rocev2Wire::Config& config) {
    const auto within = [](const char* what, std::size_t value, std::size_t least,
                           std::size_t most) -> Expected<void> {
        if (value >= least && value <= most) return {};
        return unexpected(std::string("RoCEv2 wire: ") + what + " is " + std::to_string(value) +
                          ", not " + std::to_string(least) + " to " + std::to_string(most));
    };
    if (!names_a_host(config.local)) {
        return unexpected(
            "RoCEv2 wire: the local address must be that of one interface, because "
            "the check of each packet covers it");
    }
    return within("frame_max", config.frame_max, IcrcCover::packet_least, rocev2_packet_max)
        .and_then([&] { return within("batch", config.batch, 1, system_call_datagrams_max); });
}

bool sends_super_packets(const Rocev2Wire::Config& config, const UdpSocket& socket) {
    const bool wanted =
        config.super_packets == SuperPackets::everywhere ||
        (config.super_packets == SuperPackets::on_loopback && config.local.is_loopback());
    return wanted && socket.segments_sent();
}

/// Changes the ICRC of a segment that leaves alone, with identification 0.
void make_alone(std::span<std::byte, IcrcCover::icrc_size> icrc, std::size_t place,
                std::size_t size) {
    const std::uint32_t by_place =
        difference_by(static_cast<std::uint16_t>(place), size - IcrcCover::icrc_size);
    store_le<std::uint32_t>(icrc, load_le<std::uint32_t>(icrc) ^ by_place);
}

}  // namespace

TxFrame* Rocev2Lane::claim() {
    claimed_ = address_.is_set() ? batch_->claim(peer_) : nullptr;
    return claimed_;
}

void Rocev2Lane::commit() {
    add_icrc();
    hand_on();
}

void Rocev2Lane::commit_damaged(std::size_t bit) {
    add_icrc();
    const Bytes whole = claimed_->gather_in_place();
    WIREPROOF_CHECK(claimed_->pieces().size() == 1 && bit / 8 < whole.size());
    whole[bit / 8] ^= std::byte{1} << (bit % 8);
    hand_on();
}

void Rocev2Lane::add_icrc() {
    WIREPROOF_CHECK(claimed_ != nullptr && claimed_->size() <= capabilities_.frame_max);
    if (claimed_->size() <= copied_most) batch_->copy_payload();
    if (claimed_->resent()) batch_->end_super_packet();
    const std::size_t place = batch_->place_of(claimed_->size() + IcrcCover::icrc_size, peer_);
    const IcrcCover cover({.from = local_,
                           .to = address_,
                           .packet = claimed_->size(),
                           .identification = static_cast<std::uint16_t>(place)});
    const std::uint32_t icrc = cover.icrc(claimed_->pieces());
    store_le<std::uint32_t>(claimed_->add_header<IcrcCover::icrc_size>(), icrc);
}

void Rocev2Lane::hand_on() {
    batch_->commit(peer_, route_);
    if (claimed_->resent()) batch_->end_super_packet();
    claimed_ = nullptr;
}

Expected<Rocev2Wire> Rocev2Wire::open(const Config& config) {
    if (const auto right = check_config(config); !right) return tl::unexpected(right.error());
    auto socket = UdpSocket::open({.local = with_port(config.local),
                                   .receive_buffer = config.receive_buffer,
                                   .send_buffer = config.send_buffer});
    if (!socket) return tl::unexpected(socket.error());
    const bool super_packets = sends_super_packets(config, *socket);
    if (const auto ready = prepare(*socket, config.local.family, super_packets); !ready) {
        return tl::unexpected(ready.error());
    }
    std::optional<ShownDatagrams> shown;
    const bool wants_shown = config.identification == IdentificationSource::shown ||
                             (config.identification == IdentificationSource::shown_if_permitted &&
                              !config.local.is_loopback());
    // IPv6 has no identification.
    if (wants_shown && config.local.family == Address::Family::ipv4) {
        auto opened = ShownDatagrams::of(*socket, config.receive_buffer);
        if (opened) {
            shown = std::move(*opened);
        } else if (config.identification == IdentificationSource::shown) {
            return tl::unexpected(opened.error());
        }
    }
    Rocev2Wire wire(std::move(*socket), std::move(shown), config);
    for (const Address& peer : config.peers) {
        const auto set = wire.set_peer(static_cast<PeerId>(wire.peers()), peer);
        if (!set) return tl::unexpected(set.error());
    }
    return wire;
}

Rocev2Wire::Rocev2Wire(UdpSocket socket, std::optional<ShownDatagrams> shown, const Config& config)
    : socket_(std::move(socket)),
      shown_(std::move(shown)),
      local_(with_port(config.local)),
      sending_(std::make_unique<SendBatch>(SendBatch::Config{
          .frames = {config.batch, config.batch},
          .capabilities = {.frame_max = config.frame_max + IcrcCover::icrc_size,
                           .carries_intact = true},
          .segments_max = sends_super_packets(config, socket_) ? segments_most : 1,
          .copied_max = 0,  // the engine's memory may be gone, and only a commit may find that
          // Over IPv6 the ICRC covers no identification.
          .leave_alone = local_.family == Address::Family::ipv4 ? &make_alone : nullptr})),
      receiving_({.datagrams = config.batch,
                  .frame_max = config.frame_max + IcrcCover::icrc_size +
                               (shown_ ? ShownDatagrams::headers_max : 0),
                  .grouped = sending_->segments_max() > 1 && !shown_ && socket_.group_received(),
                  .reads_marks = socket_.use(config.ecn)}),
      config_(config) {}

// The kernel knows the MTU of the interface, and what it has learned of the path since.
Expected<std::size_t> Rocev2Wire::frame_max_between(const Address& local, const Address& peer) {
    const auto failed = [&peer](const char* what) {
        return unexpected("RoCEv2 wire: " + std::string(what) + peer.to_string() + ": " +
                          std::generic_category().message(errno));
    };
    auto socket = UdpSocket::open({.local = host_of(local)});
    if (!socket) return tl::unexpected(socket.error());
    const SocketAddress to = to_socket_address(with_port(peer));
    if (::connect(socket->handle(), &to.any, length_of(to)) != 0) return failed("no way to ");
    const bool ipv4 = local.family == Address::Family::ipv4;
    int mtu = 0;
    socklen_t length = sizeof mtu;
    if (::getsockopt(socket->handle(), ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_MTU : IPV6_MTU,
                     &mtu, &length) != 0) {
        return failed("no MTU on the way to ");
    }
    return packet_within(static_cast<std::size_t>(mtu), local);
}

Expected<std::size_t> Rocev2Wire::frame_max_at(const Address& local) {
    return interface_mtu(local).map(
        [&local](std::size_t mtu) { return packet_within(mtu, local); });
}

Expected<void> Rocev2Wire::set_peer(PeerId peer, const Address& address) {
    const auto number = static_cast<std::size_t>(peer);
    const auto refused = [&address](const std::string& why) {
        return unexpected("peer " + address.to_string() + ": " + why);
    };
    if (!names_a_host(address)) return refused("a peer has an address");
    if (address.family != local_.family) {
        return refused("not of the same family as local " + local_.to_string());
    }
    if (number > lanes_.size())
        return refused("the next peer is number " + std::to_string(lanes_.size()));
    // The number of one more peer would be that of the first.
    if (number == lanes_.size() && !next_peer()) return refused("there are too many peers");
    const auto known = numbers_.find(host_of(address));
    if (known != numbers_.end() && known->second != number) {
        return refused("its host is peer " + std::to_string(known->second) + " already");
    }
    if (number == lanes_.size()) {
        const LaneCapabilities capabilities{.frame_max = config_.frame_max, .carries_intact = true};
        lanes_.push_back(Rocev2Lane(sending_.get(), capabilities, local_, number));
    }
    forget_host(number);
    std::erase(free_, peer);
    Rocev2Lane& lane = lanes_[number];
    numbers_.emplace(host_of(address), number);
    lane.address_ = with_port(address);
    lane.route_.to = to_socket_address(lane.address_);
    lane.is_new_ = true;
    return {};
}

/// What is known of the host that has this number is not true of the next one.
void Rocev2Wire::forget_host(std::size_t number) {
    Rocev2Lane& lane = lanes_[number];
    numbers_.erase(host_of(lane.address_));
    lane.address_ = {};
    lane.identifications_ = {};
    lane.is_new_ = false;
    if (std::exchange(lane.is_stranger_, false)) --strangers_;
    sending_->forget_refusal(number);
    errors_.forget(number);
}

std::optional<PeerId> Rocev2Wire::next_peer() const {
    if (!free_.empty()) return free_.back();
    if (lanes_.size() > std::numeric_limits<std::underlying_type_t<PeerId>>::max()) {
        return std::nullopt;
    }
    return static_cast<PeerId>(lanes_.size());
}

std::optional<PeerId> Rocev2Wire::add_stranger(const Address& address) {
    const auto next = strangers_ < config_.strangers_max ? next_peer() : std::nullopt;
    if (!next || peer_at(address) || !set_peer(*next, host_of(address))) return std::nullopt;
    lane(*next).is_stranger_ = true;
    ++strangers_;
    return next;
}

void Rocev2Wire::acquaint(PeerId peer) {
    if (std::exchange(lane(peer).is_stranger_, false)) --strangers_;
}

void Rocev2Wire::forget(PeerId peer) {
    if (!is_peer(peer)) return;
    WIREPROOF_CHECK(sending_->is_empty());
    forget_host(static_cast<std::size_t>(peer));
    free_.push_back(peer);
}

// Without memory for the result, no peer is forgotten: the caller could not forget it.
PeerSet Rocev2Wire::forget_all_but(const PeerSet& kept) {
    PeerSet gone;
    for (std::size_t number = 0; number < lanes_.size(); ++number) {
        const auto peer = static_cast<PeerId>(number);
        if (is_peer(peer) && !kept.contains(peer)) gone.add(peer);
    }
    free_.reserve(lanes_.size());
    for (std::size_t number = 0; number < lanes_.size(); ++number) {
        const auto peer = static_cast<PeerId>(number);
        if (gone.contains(peer)) forget(peer);
    }
    return gone;
}

Rocev2Lane& Rocev2Wire::lane(PeerId peer) {
    const auto number = static_cast<std::size_t>(peer);
    WIREPROOF_CHECK(number < lanes_.size());
    return lanes_[number];
}

std::optional<RxFrame> Rocev2Wire::receive(Instant now) {
    // The loop is bounded, so that strangers that never stop do not keep the peers waiting.
    for (std::size_t i = 0; i < config_.batch; ++i) {
        const auto datagram = receiving_.next(wait_handle(), counters_.udp);
        if (receiving_.asked()) {
            taken_after_ = empty_at_;
            if (receiving_.emptied()) empty_at_ = now;
        }
        if (!datagram) break;
        if (datagram->begins) counted_from_ = 0;
        const auto arrival = arrival_of(*datagram);
        const auto frame = arrival ? checked(*arrival, {taken_after_, now}) : std::nullopt;
        if (frame) {
            ++counters_.udp.frames_received;
            counters_.udp.bytes_received += frame->bytes.size();
            counters_.udp.frames_marked += frame->marked ? 1U : 0U;
            return frame;
        }
        receiving_.look_again();
    }
    return std::nullopt;
}

std::optional<Rocev2Wire::Arrival> Rocev2Wire::arrival_of(const ReceiveBatch::Frame& datagram) {
    if (shown_) {
        const auto found = Rocev2Datagram::find_in_ip(datagram.bytes, local_.port);
        if (found && found->packet.size() <= config_.frame_max) {
            return Arrival{.from = found->from,
                           .headers = found->headers,
                           .packet = found->packet,
                           .icrc = found->icrc,
                           .marked = config_.ecn != Ecn::off && found->marked()};
        }
        ++(found ? counters_.udp.too_long : counters_.too_short);
        return std::nullopt;
    }
    constexpr std::size_t least = IcrcCover::packet_least + IcrcCover::icrc_size;
    if (datagram.bytes.size() < least) {
        ++counters_.too_short;
        return std::nullopt;
    }
    return Arrival{.from = *datagram.from,
                   .headers = {},
                   .packet = datagram.bytes.first(datagram.bytes.size() - IcrcCover::icrc_size),
                   .icrc = load_le<std::uint32_t>(datagram.bytes.last<IcrcCover::icrc_size>()),
                   .place = datagram.place,
                   .marked = datagram.marked};
}

std::optional<RxFrame> Rocev2Wire::checked(const Arrival& arrival, const ArrivalTime& came) {
    auto peer = peer_at(arrival.from);
    if (!peer && (strangers_ >= config_.strangers_max || !next_peer())) {
        ++counters_.udp.unknown_source;
        return std::nullopt;
    }
    // A stranger becomes a peer only with a packet whose ICRC is right.
    IdentificationWindow unknown;
    if (!icrc_holds(arrival, came, peer ? lane(*peer).identifications_ : unknown))
        return std::nullopt;
    if (!peer) {
        peer = add_stranger(arrival.from);
        WIREPROOF_CHECK(peer.has_value());
        lane(*peer).identifications_ = unknown;
    }
    errors_.heard(static_cast<std::size_t>(*peer));
    RxFrame frame{.bytes = arrival.packet, .from = *peer, .integrity = Integrity::intact};
    frame.marked = arrival.marked;
    return frame;
}

// The receiver expects identifications to count up inside a super-packet. If a device joined the
// packets (GRO), their identifications may all be the same.
bool Rocev2Wire::icrc_holds(const Arrival& arrival, const ArrivalTime& came,
                            IdentificationWindow& window) {
    const std::size_t size = arrival.packet.size();
    const auto expected = static_cast<std::uint16_t>(counted_from_ + arrival.place);
    const auto cover =
        shown_
            ? IcrcCover::of_headers(arrival.headers)
            : IcrcCover(
                  {.from = arrival.from, .to = local_, .packet = size, .identification = expected});
    WIREPROOF_CHECK(cover.has_value());  // its headers were read before
    const std::uint32_t difference = cover->icrc(arrival.packet) ^ arrival.icrc;
    if (difference == 0) return true;
    const bool hidden = !shown_ && local_.family == Address::Family::ipv4;
    const auto changed = hidden ? identification_behind(difference, size) : std::nullopt;
    if (!changed) {
        ++counters_.icrc_wrong;
        return false;
    }
    const auto identification = static_cast<std::uint16_t>(expected ^ *changed);
    if (!window.believes(identification, came)) {
        ++counters_.identification_jumped;
        return false;
    }
    counted_from_ = static_cast<std::uint16_t>(identification - arrival.place);
    ++counters_.identified;
    return true;
}

std::optional<PeerId> Rocev2Wire::peer_at(const Address& host) const {
    const auto known = numbers_.find(host_of(host));
    if (known == numbers_.end()) return std::nullopt;
    return static_cast<PeerId>(known->second);
}

}  // namespace wireproof
