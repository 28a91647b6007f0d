#include "tests/hostile/hostile_host.hpp"

#include <algorithm>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::hostile {
namespace {

constexpr PeerId target{0};
constexpr std::uint32_t domain = 1;
constexpr std::size_t memory_size = 32768;
constexpr int asked_at_once = 3;       // requests of a connection in a turn
constexpr double good_share = 0.6;     // share of new packets sent unchanged, for progress
constexpr double altered_share = 0.6;  // share altered of the other new packets

// The relative frequency of each kind, in the order of Hostility.
constexpr std::array<unsigned, hostility_names.size()> weights = {30, 8, 8, 8, 8, 5, 5, 3, 3, 5, 5};

Hostility drawn(Random& dice) {
    unsigned sum = 0;
    for (const unsigned weight : weights) sum += weight;
    auto draw = static_cast<unsigned>(dice.below(sum));
    std::size_t kind = 0;
    while (draw >= weights[kind]) draw -= weights[kind++];
    return static_cast<Hostility>(kind);
}

}  // namespace

HostileHost::HostileHost(UdpWire own, UdpWire stranger, const Config& config)
    : config_(config),
      own_{std::move(own), {}},
      stranger_{std::move(stranger), {}},
      impostor_(opened_impostor()),
      port_({.path_mtu = config.path_mtu}),
      memory_(memory_size),
      packets_(config.seed, {}) {
    for (Mouth* mouth : {&own_, &stranger_, &impostor_}) {
        mouth->address = mouth->wire.local_address();
        const auto set = mouth->wire.set_peer(target, config.target);
        if (!set) throw app::Failure(set.error().message);
    }
    key_ = port_.memory()
               .add_region({.domain = domain,
                            .address = open().address,
                            .memory = memory_,
                            .access = {.local_write = true,
                                       .remote_write = true,
                                       .remote_read = true,
                                       .remote_atomic = true}})
               .value();
}

HostileHost::Mouth HostileHost::opened_impostor() const {
    Address local = config_.impostor;
    local.port = 0;
    auto wire = UdpWire::open({.local = local, .segments = false});
    if (!wire) throw app::Failure(wire.error().message);
    return {std::move(*wire), {}};
}

proto::ib::Piece HostileHost::open() const {
    return {reinterpret_cast<std::uintptr_t>(memory_.data()),
            static_cast<std::uint32_t>(memory_.size()), key_};
}

Conversation& HostileHost::add_conversation(proto::ib::Transport transport, std::uint64_t seed) {
    return conversations_.emplace_back(
        port_, Conversation::Config{
                   .transport = transport, .domain = domain, .own = open(), .seed = seed});
}

PacketBytes HostileHost::genuine(Instant now) {
    std::array<std::byte, proto::ib::packet_max(4096)> room;
    TxFrame frame;
    frame.open(room, {.frame_max = room.size()});
    PacketBytes packet;
    if (!port_.poll_transmit(now, frame)) return packet;
    packet.resize(frame.size());
    frame.gather(packet);
    return packet;
}

void HostileHost::remember(const PacketBytes& packet) {
    if (remembered_.size() < remembered_max) {
        remembered_.push_back(packet);
    } else {
        remembered_[forget_next_++ % remembered_max] = packet;
    }
}

void HostileHost::attack(Instant now, std::uint64_t count) {
    for (Conversation& one : conversations_) {
        for (int i = 0; i < asked_at_once; ++i) one.go_on();
    }
    while (count > 0) {
        PacketBytes packet = genuine(now);
        const bool fresh = !packet.empty();
        if (fresh) remember(packet);
        if (fresh && packets_.dice().chance(good_share)) {
            packets_.check(packet, {own_.address, config_.target});
            send(own_, packet, now);
            ++good_;
            continue;
        }
        if (!fresh) {
            packet = remembered_.empty() || packets_.dice().chance(0.3)
                         ? packets_.plausible()
                         : remembered_[packets_.dice().below(remembered_.size())];
        }
        const bool now_or_never = fresh && packets_.dice().chance(altered_share);
        send_harm(now_or_never ? Hostility::altered : drawn(packets_.dice()), std::move(packet),
                  now);
        --count;
    }
    for (Mouth* mouth : {&own_, &stranger_, &impostor_}) mouth->wire.flush(now);
    for (Conversation& one : conversations_) one.draw();
}

void HostileHost::send_harm(Hostility kind, PacketBytes packet, Instant now) {
    Mouth* mouth = &own_;
    std::uint16_t identification = 0;
    switch (kind) {
        case Hostility::altered: packets_.alter(packet); break;
        case Hostility::meeting: packet = packets_.meeting(); break;
        case Hostility::invented: packet = packets_.invented(); break;
        case Hostility::far_identification:
            identification = static_cast<std::uint16_t>(1000 + packets_.dice().below(60'000));
            break;
        case Hostility::stranger:
            packets_.alter(packet);
            mouth = &stranger_;
            break;
        case Hostility::impostor:
            packet = packets_.plausible();
            mouth = &impostor_;
            break;
        case Hostility::too_long:
            packet.resize(config_.path_mtu + 100 + 4 * packets_.dice().below(500));
            break;
        default: break;
    }
    packets_.check(packet, {mouth->address, config_.target}, identification);
    if (kind == Hostility::damaged || kind == Hostility::impostor) packets_.damage(packet);
    if (kind == Hostility::cut) packet.resize(packets_.dice().below(16));
    if (kind == Hostility::unchecked) {
        for (std::size_t i = 1; i <= IcrcCover::icrc_size; ++i) {
            packet[packet.size() - i] = static_cast<std::byte>(packets_.dice().next());
        }
    }
    send(*mouth, packet, now);
    ++sent_[static_cast<std::size_t>(kind)];
}

void HostileHost::send(Mouth& mouth, ConstBytes datagram, Instant now) {
    TxFrame* frame = mouth.wire.lane(target).claim();
    if (frame == nullptr) {
        mouth.wire.flush(now);
        frame = mouth.wire.lane(target).claim();
    }
    WIREPROOF_CHECK(frame != nullptr);
    std::ranges::copy(datagram, frame->add_room(datagram.size()).begin());
    mouth.wire.lane(target).commit();
}

void HostileHost::take_answers(Instant now) {
    // Frames for the stranger are dropped: this host answers only as itself.
    while (stranger_.wire.receive(now)) {
    }
    while (const auto frame = own_.wire.receive(now)) {
        if (frame->bytes.size() <= IcrcCover::packet_least + IcrcCover::icrc_size - 1) continue;
        const ConstBytes packet = frame->bytes.first(frame->bytes.size() - IcrcCover::icrc_size);
        port_.on_frame(now, {.bytes = packet, .from = target, .integrity = Integrity::intact});
        for (Conversation& one : conversations_) one.draw();
    }
    if (port_.next_deadline() <= now) port_.on_deadline(now);
    while (port_.next_delivery()) {
    }
    for (Conversation& one : conversations_) one.draw();
}

std::uint64_t HostileHost::datagrams() const {
    return own_.wire.counters().frames_sent + stranger_.wire.counters().frames_sent +
           impostor_.wire.counters().frames_sent;
}

}  // namespace wireproof::hostile
