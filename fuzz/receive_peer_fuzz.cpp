// The Peers of a device, and a hostile process of the same host and user. That process sends
// anything on the sockets, with descriptors of all kinds, and changes the shared memory at any
// time. A frame that the device receives must lie outside this memory and must not change. The
// device must not hold packets to the peer for ever. At the end no descriptor may be left open.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <vector>

#include "fuzz/input.hpp"

#include "wireproof/base/check.hpp"
#include "wireproof/front/verbs/peers/peers.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"

namespace wireproof::verbs {
namespace {

using wireproof::fuzz::Input;

constexpr std::size_t lines = 8192;  // of a ring: the number that the device requires
const std::size_t frame_max = proto::ib::packet_max(4096);

Address address_of(std::uint8_t last) {
    Address address;
    address.family = Address::Family::ipv4;
    address.port = rocev2_port;
    const auto process = static_cast<unsigned>(::getpid());
    address.host = {127, static_cast<std::uint8_t>(96 | (process >> 8 & 31)),
                    static_cast<std::uint8_t>(process), last};
    return address;
}

MeetingPlace place_of(std::uint8_t last) {
    return {"verbs-" + address_of(last).host_text(), 0};
}

Rocev2Wire device_wire() {
    auto wire =
        Rocev2Wire::open({.local = address_of(1), .strangers_max = 16, .frame_max = frame_max});
    WIREPROOF_CHECK(wire.has_value());
    return std::move(*wire);
}

int lowest_free_descriptor() {
    const int handle = ::dup(0);
    ::close(handle);
    return handle;
}

unsigned sum_of(ConstBytes bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), 0U, [](unsigned sum, std::byte byte) {
        return sum * 31 + std::to_integer<unsigned>(byte);
    });
}

class Hostile {
public:
    void act(Input& input) {
        switch (input.byte() % 11) {
            case 0: life_ = connect_to(place_of(1)).value_or(ControlSocket()); break;
            case 1: say(life_, raw(input), input); break;
            case 2: say(life_, device_message(input), input); break;
            case 3: say(memory_, raw(input), input); break;
            case 4: say(memory_, greeting(input), input); break;
            case 5: hear(); break;
            case 6: publish(input); break;
            case 7: write_word(input); break;
            case 8: scribble(input); break;
            case 9: close_one(input.byte()); break;
            case 10:  // the memory is sealed, so nobody can change its size
                if (segment_.memory().is_open()) {
                    WIREPROOF_CHECK(::ftruncate(segment_.memory().handle(), 4096) != 0);
                }
                break;
        }
    }

    void scribble(Input& input) {
        if (!segment_.is_open()) return;
        const RingMemory ring = segment_.ring_filled_by(node_);
        const std::size_t at = input.pair() * 8U;
        const ConstBytes bytes = input.bytes(input.byte());
        std::copy(bytes.begin(), bytes.end(), ring.lines_at + at);
    }
    bool shares(const std::byte* at) const {
        if (!segment_.is_open()) return false;
        const std::byte* const first = segment_.ring_filled_by(node_).lines_at;
        return at >= first && at < first + 2 * lines * line_bytes;
    }

private:
    std::vector<std::byte> raw(Input& input) {
        const ConstBytes bytes = input.bytes(input.byte() % (ControlSocket::message_max + 1));
        return {bytes.begin(), bytes.end()};
    }
    std::vector<std::byte> device_message(Input& input) {
        std::vector<std::byte> bytes(PeerMessage::size);
        const std::uint8_t choice = input.byte();
        PeerMessage{.kind = static_cast<PeerMessage::Kind>(choice % 6),
                    .memory = (choice & 64) != 0,
                    .life = input.byte(),
                    .address = address_of(1 + input.byte() % 4)}
            .encode(std::span(bytes).first<PeerMessage::size>());
        if ((choice & 128) != 0) bytes[input.byte() % bytes.size()] ^= std::byte{input.byte()};
        return bytes;
    }
    std::vector<std::byte> greeting(Input& input) {
        std::vector<std::byte> bytes(Greeting::size);
        const std::uint8_t choice = input.byte();
        Greeting greeting;
        greeting.kind = (choice & 1) != 0 ? ShmMessage::welcome : ShmMessage::hello;
        greeting.node = static_cast<std::uint32_t>(node_);
        greeting.nodes = 2;
        greeting.frame_max = static_cast<std::uint32_t>(frame_max);
        greeting.lines = lines;
        greeting.barrier = (choice & 2) != 0;
        greeting.encode(std::span(bytes).first<Greeting::size>());
        if ((choice & 128) != 0) bytes[input.byte() % bytes.size()] ^= std::byte{input.byte()};
        return bytes;
    }

    void say(const ControlSocket& to, const std::vector<std::byte>& bytes, Input& input) {
        if (!to.is_open() || bytes.empty()) return;
        const Descriptor given = descriptor(input.byte());
        to.send(bytes, given.handle());
    }

    Descriptor descriptor(std::uint8_t kind) {
        std::array<int, 2> ends{-1, -1};
        switch (kind % 10) {
            case 1: {
                auto pair = ControlSocket::pair();
                WIREPROOF_CHECK(pair.has_value());
                memory_ = std::move(pair->first);
                node_ = 1;
                return Descriptor(::fcntl(pair->second.handle(), F_DUPFD_CLOEXEC, 0));
            }
            case 2: {
                offer(lines);
                return Descriptor(::fcntl(segment_.memory().handle(), F_DUPFD_CLOEXEC, 0));
            }
            case 3: {
                const auto brief = Segment::create(64);
                return Descriptor(::fcntl(brief->memory().handle(), F_DUPFD_CLOEXEC, 0));
            }
            case 4: {
                Descriptor unsealed(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
                WIREPROOF_CHECK(::ftruncate(unsealed.handle(), 4 << 20) == 0);
                return unsealed;
            }
            case 5: return Descriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC));
            case 6: return Descriptor(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            case 7: WIREPROOF_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0); break;
            case 8:
                WIREPROOF_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) ==
                                0);
                break;
            case 9: return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
            default: return {};
        }
        const Descriptor other(ends[1]);
        return Descriptor(ends[0]);
    }

    /// Creates memory of its own, with an honest producer at first.
    void offer(std::size_t ring_lines) {
        auto made = Segment::create(ring_lines);
        WIREPROOF_CHECK(made.has_value());
        segment_ = std::move(*made);
        producer_ = RingProducer(segment_.ring_filled_by(node_), frame_max);
    }

    /// Receives from the device: a call, or memory that the device offers.
    void hear() {
        if (auto caller = listener_.accept()) life_ = std::move(*caller);
        for (ControlSocket* const socket : {&life_, &memory_}) {
            ControlSocket::Message message;
            if (!socket->is_open() ||
                socket->receive(message) != ControlSocket::Received::message ||
                !message.descriptor.is_open()) {
                continue;
            }
            if (socket == &life_) {
                if (auto own = ControlSocket::adopt(std::move(message.descriptor))) {
                    memory_ = std::move(*own);
                    node_ = 0;
                }
            } else if (auto adopted = Segment::adopt(std::move(message.descriptor), lines)) {
                segment_ = std::move(*adopted);
                producer_ = RingProducer(segment_.ring_filled_by(node_), frame_max);
            }
        }
    }

    void publish(Input& input) {
        const std::size_t size = input.pair() % (frame_max + 1);
        const std::uint8_t choice = input.byte();
        const Bytes room = producer_.claim();
        if (room.empty()) return;
        const ConstBytes bytes = input.bytes(std::min<std::size_t>(size, choice & 63));
        std::copy(bytes.begin(), bytes.end(), room.begin());
        producer_.commit(size, (choice & 64) != 0 ? RingWord::control : 0);
        if ((choice & 128) == 0) producer_.publish();
    }

    void write_word(Input& input) {
        if (!segment_.is_open()) return;
        const std::uint8_t choice = input.byte();
        const std::size_t side = choice & 1;
        const std::uint32_t low = input.pair();
        const std::uint32_t value = (choice & 2) != 0 ? low << 16 | input.pair() : low;
        switch (choice >> 2 & 3) {
            case 0: segment_.asleep(side).store(value); break;
            case 1: segment_.notice(side).store(value); break;
            case 2: {
                const auto head = shared_word<std::uint64_t>(segment_.ring_filled_by(side).head_at);
                head.store((choice & 16) != 0 ? ~std::uint64_t{value} : value);
                break;
            }
            case 3: {
                const std::size_t line = input.byte();
                std::byte* const at = segment_.ring_filled_by(side).lines_at + line * line_bytes;
                shared_word<std::uint32_t>(at).store(
                    (choice & 16) != 0 ? value : RingWord::published | value);
                break;
            }
        }
    }

    void close_one(std::uint8_t which) {
        switch (which % 3) {
            case 0: life_.close(); break;
            case 1: memory_.close(); break;
            case 2: segment_.close_memory(); break;
        }
    }

    Listener listener_ = std::move(*Listener::open(place_of(2)));
    ControlSocket life_;
    ControlSocket memory_;  // this side's end of the pair
    std::size_t node_ = 1;  // number of this side in the shared memory
    Segment segment_;
    RingProducer producer_;
};

class Device {
public:
    void act(Input& input, Hostile& hostile) {
        const std::uint8_t choice = input.byte();
        const PeerId peer = *peers_.find(address_of(2 + (choice >> 4 & 3)), 16);
        switch (choice % 6) {
            case 0: pass(input.byte()); [[fallthrough]];
            case 1: receive(input, hostile); break;
            case 2: peers_.call(peer); break;
            case 3: send(peer); break;
            case 4: {
                proto::ib::Neighbours neighbours;
                peers_.judge(now_, neighbours);
                break;
            }
            case 5:
                peers_.prepare_to_sleep();
                peers_.woke();
                break;
        }
    }

    void receive(Input& input, Hostile& hostile) {
        for (int i = 0; i < 300; ++i) {
            const auto frame = peers_.receive(now_);
            if (!frame) return;
            WIREPROOF_CHECK(frame->bytes.size() <= frame_max);
            WIREPROOF_CHECK(!hostile.shares(frame->bytes.data()));
            const unsigned before = sum_of(frame->bytes);
            hostile.scribble(input);
            WIREPROOF_CHECK(sum_of(frame->bytes) == before);
        }
    }

    /// First receives all that was sent, then checks that the device sends packets at last.
    void check_nothing_is_held(Input& input, Hostile& hostile) {
        for (int i = 0; i < 64; ++i) {
            pass(2);
            receive(input, hostile);
        }
        for (std::uint8_t last = 2; last < 6; ++last) {
            const PeerId peer = *peers_.find(address_of(last), 16);
            peers_.holds(now_, peer);
            pass(101);
            receive(input, hostile);
            WIREPROOF_CHECK(!peers_.holds(now_, peer));
        }
    }

private:
    void pass(int milliseconds) { now_ = now_ + Duration::milliseconds(milliseconds); }

    void send(PeerId peer) {
        if (peers_.holds(now_, peer)) return;
        PeerLane lane = peers_.lane(peer);
        TxFrame* const frame = lane.claim();
        if (frame == nullptr) return;
        const Bytes packet = frame->add_room(48);
        std::fill(packet.begin(), packet.end(), std::byte{0x64});
        lane.commit();
        peers_.flush(now_);
    }

    Peers peers_{device_wire(), true};
    Instant now_{Duration::milliseconds(5)};
};

}  // namespace
}  // namespace wireproof::verbs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace wireproof::verbs;
    Input input(data, size);
    const int free_before = lowest_free_descriptor();
    {
        Device device;
        Hostile hostile;
        while (!input.empty()) {
            if (input.byte() % 3 == 0) {
                device.act(input, hostile);
            } else {
                hostile.act(input);
            }
        }
        device.check_nothing_is_held(input, hostile);
    }
    WIREPROOF_CHECK(lowest_free_descriptor() == free_before);
    return 0;
}
