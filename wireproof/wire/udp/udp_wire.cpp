// Finds the peer of each frame. First it compares the source with the peer of the last frame, then
// it looks in a hash table of addresses, and only then it searches the open places.
#include "wireproof/wire/udp/udp_wire.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

namespace wireproof {
namespace {

constexpr std::size_t segments_limit = 64;  // of older kernels, for one super-packet
// A single report may be an old one, of before the peer opened its port.
constexpr std::uint8_t refusals_of_ended = 2;

Expected<void> check(const UdpWire::Config& config) {
    const auto within = [](const char* what, std::size_t value,
                           std::size_t limit) -> Expected<void> {
        if (value >= 1 && value <= limit) return {};
        return unexpected(std::string("UDP wire: ") + what + " is " + std::to_string(value) +
                          ", not 1 to " + std::to_string(limit));
    };
    if (!config.local.is_set()) return unexpected("UDP wire: no local address");
    return within("frame_max", config.frame_max, UdpWire::frame_limit)
        .and_then([&] { return within("batch", config.batch, system_call_datagrams_max); })
        .and_then(
            [&] { return within("batch_most", config.batch_most, system_call_datagrams_max); });
}

/// False: a multicast or broadcast address. For IPv4, the kernel itself names an address of the
/// host instead.
bool may_be_source(const Address& to) {
    if (to.family == Address::Family::ipv4) return true;
    const Address own = to.in_own_form();
    return own.family == Address::Family::ipv4 ? own.host[0] < 224 : own.host[0] != 0xFF;
}

// The batch must fit into the kernel's send buffer: frames that do not fit are lost. The kernel
// counts the bytes of the frames and as many again for its own bookkeeping.
SendBatch::Frames batches(const UdpWire::Config& config, std::size_t send_buffer) {
    const std::size_t room = send_buffer / (2 * config.frame_max);
    return {config.batch, std::max(config.batch, std::min(config.batch_most, room))};
}

}  // namespace

Expected<UdpWire> UdpWire::open(const Config& config) {
    if (const auto checked = check(config); !checked) return tl::unexpected(checked.error());
    auto socket = UdpSocket::open({.local = config.local,
                                   .receive_buffer = config.receive_buffer,
                                   .send_buffer = config.send_buffer});
    if (!socket) return tl::unexpected(socket.error());
    UdpWire wire(std::move(*socket), config);
    for (const Address& peer : config.peers) {
        const auto number = static_cast<PeerId>(wire.peers());
        if (!peer.is_set() && !config.unset_is_open) {
            wire.lanes_.push_back(UdpLane(wire.sending_.get(), wire.peers()));
            continue;
        }
        if (const auto set = wire.set_peer(number, peer); !set) return tl::unexpected(set.error());
    }
    return wire;
}

UdpWire::UdpWire(UdpSocket socket, const Config& config)
    : socket_(std::move(socket)),
      family_(config.local.family),
      at_any_(config.local.is_any()),
      sending_(std::make_unique<SendBatch>(SendBatch::Config{
          .frames = batches(config, socket_.send_buffer()),
          .capabilities = {.frame_max = config.frame_max},
          .segments_max = config.segments && socket_.segments_sent() ? segments_limit : 1})),
      receiving_({.datagrams = config.batch,
                  .frame_max = config.frame_max,
                  .grouped = config.segments && socket_.group_received(),
                  .reads_marks = socket_.use(config.ecn)}),
      batch_(config.batch),
      only_peer_(config.only_peer),
      succeeds_ended_(config.succeeds_ended) {
    if (at_any_) socket_.report_destinations(true);
    if (succeeds_ended_) socket_.keep_reports();
}

Expected<void> UdpWire::set_peer(PeerId peer, const Address& address) {
    if (address.is_set() && address.family != family_) {
        return unexpected("peer " + address.to_string() + ": not of the same family as local " +
                          local_address().to_string());
    }
    if (address.is_set() && address.port == 0) {
        return unexpected("peer " + address.to_string() + ": a peer must have a port");
    }
    const auto number = static_cast<std::size_t>(peer);
    if (const auto known = numbers_.find(address);
        known != numbers_.end() && known->second != number) {
        const auto owner = static_cast<PeerId>(known->second);
        if (lane(owner).place_ == UdpLane::Place::fixed) {
            return unexpected("peer " + address.to_string() + ": already the address of peer " +
                              std::to_string(known->second));
        }
        unsettle(owner);
        give(known->second, Address{});
    }
    while (lanes_.size() <= number) lanes_.push_back(UdpLane(sending_.get(), lanes_.size()));
    UdpLane& lane = lanes_[number];
    open_places_ -= lane.place_ == UdpLane::Place::open ? 1 : 0;
    lane.place_ = address.is_set() ? UdpLane::Place::fixed : UdpLane::Place::open;
    open_places_ += lane.place_ == UdpLane::Place::open ? 1 : 0;
    give(number, address);
    return only_peer_ == peer ? talk_only_to(lane) : Expected<void>();
}

Expected<void> UdpWire::talk_only_to(UdpLane& lane) {
    bool& connected = lane.route_.connected;
    const bool was_connected = connected;
    connected = lane.place_ == UdpLane::Place::fixed && socket_.connect(lane.address_);
    receiving_.hear_only(connected ? lane.address_ : Address());
    if (at_any_) socket_.report_destinations(!connected);
    if (connected || !was_connected) return {};
    const Address local = local_address();
    if (socket_.disconnect()) return {};
    return unexpected(local.to_string() + ": another socket has taken the port");
}

void UdpWire::settle(PeerId peer) {
    UdpLane& place = lane(peer);
    if (place.place_ != UdpLane::Place::open || !place.address_.is_set()) return;
    place.place_ = UdpLane::Place::settled;
    --open_places_;
}

void UdpWire::unsettle(PeerId peer) {
    UdpLane& place = lane(peer);
    if (place.place_ != UdpLane::Place::settled) return;
    place.place_ = UdpLane::Place::open;
    ++open_places_;
}

UdpLane& UdpWire::lane(PeerId peer) {
    const auto number = static_cast<std::size_t>(peer);
    WIREPROOF_CHECK(number < lanes_.size());
    return lanes_[number];
}

std::optional<RxFrame> UdpWire::receive(Instant) {
    // The loop is bounded, so that strangers that never stop do not keep the peers waiting.
    for (std::size_t i = 0; i < batch_; ++i) {
        const auto frame = receiving_.next(socket_.handle(), counters_);
        if (!frame) {
            note_receive_error();
            break;
        }
        if (frame->begins || !sender_) note_sender(*frame);
        if (sender_) {
            ++counters_.frames_received;
            counters_.bytes_received += frame->bytes.size();
            errors_.heard(static_cast<std::size_t>(*sender_));
            const auto dropped = static_cast<std::uint32_t>(counters_.kernel_dropped);
            RxFrame received{.bytes = frame->bytes, .from = *sender_, .lent = {}};
            received.after_overrun = std::exchange(told_dropped_, dropped) != dropped;
            received.marked = frame->marked;
            counters_.frames_marked += frame->marked ? 1U : 0U;
            return received;
        }
        ++counters_.unknown_source;
        receiving_.look_again();
    }
    return std::nullopt;
}

void UdpWire::note_sender(const ReceiveBatch::Frame& frame) {
    sender_ = peer_of(*frame.from);
    if (sender_) lane(*sender_).refusals_ = 0;
    if (!sender_ || frame.to == nullptr || !may_be_source(*frame.to)) return;
    lane(*sender_).route_.from = *frame.to;
}

// The kernel reports that an earlier frame failed only on a connected socket, and that frame went
// to its one peer.
void UdpWire::note_receive_error() {
    const int error = receiving_.take_error();
    if (succeeds_ended_) {
        const std::uint64_t troubles =
            counters_.send_refused + counters_.send_failed + counters_.segments_refused;
        if (std::exchange(troubles_seen_, troubles) != troubles || error != 0) take_reports();
    }
    if (error == 0 || !only_peer_ || !lane(*only_peer_).route_.connected) return;
    errors_.note(static_cast<std::size_t>(*only_peer_), error, "recvmsg", 0);
}

// Whoever floods this host with reports must not keep the caller here. The error of the socket
// stays, so the next turn takes the others.
void UdpWire::take_reports() {
    constexpr int reports_max = 64;
    for (int i = 0; i < reports_max; ++i) {
        const auto report = socket_.take_report();
        if (!report) return;
        const auto known = numbers_.find(report->to);
        if (report->error != ECONNREFUSED || known == numbers_.end()) continue;
        UdpLane& lane = lanes_[known->second];
        if (lane.refusals_ < refusals_of_ended) ++lane.refusals_;
    }
}

bool UdpWire::opens_ended_place() {
    for (UdpLane& lane : lanes_) {
        if (lane.place_ != UdpLane::Place::settled || lane.refusals_ < refusals_of_ended) continue;
        unsettle(static_cast<PeerId>(lane.number_));
        return true;
    }
    return false;
}

void UdpWire::take_following(std::size_t frames) {
    counters_.frames_received += frames;
    counters_.bytes_received += receiving_.take_following(frames);
}

std::optional<PeerId> UdpWire::peer_of(const Address& source) {
    if (latest_ >= lanes_.size() || lanes_[latest_].address_ != source) {
        const auto known = numbers_.find(source);
        if (known == numbers_.end()) return place_for(source);
        latest_ = known->second;
    }
    return static_cast<PeerId>(latest_);
}

// Returns the first open place without an address, or if there is none, the first open place.
std::optional<PeerId> UdpWire::place_for(const Address& source) {
    if (open_places_ == 0 && !(succeeds_ended_ && opens_ended_place())) return std::nullopt;
    std::optional<std::size_t> choice;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        if (lanes_[i].place_ != UdpLane::Place::open) continue;
        if (!choice) choice = i;
        if (lanes_[i].address_.is_set()) continue;
        choice = i;
        break;
    }
    WIREPROOF_CHECK(choice.has_value());
    give(*choice, source);
    latest_ = *choice;
    return static_cast<PeerId>(latest_);
}

void UdpWire::give(std::size_t peer, const Address& address) {
    sender_.reset();
    errors_.forget(peer);
    sending_->forget_refusal(peer);
    UdpLane& lane = lanes_[peer];
    const auto old = numbers_.find(lane.address_);
    if (old != numbers_.end() && old->second == peer) numbers_.erase(old);
    lane.address_ = address;
    lane.route_.to = to_socket_address(address);
    if (!address.is_set()) lane.route_.from = {};
    lane.refusals_ = 0;
    if (address.is_set()) numbers_.emplace(address, peer);
}

}  // namespace wireproof
