// A port. The fuzzer is its peers. It sends raw bytes, or packets to queue pairs of UC, RC and UD
// with PSNs, keys and addresses near the right ones, so the port does not drop them early. The port
// may write only memory that is registered for writes. Only work that was posted may complete, and
// only once.
#include <array>
#include <vector>

#include "fuzz/input.hpp"

#include "wireproof/base/check.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::proto::ib {
namespace {

using wireproof::fuzz::Input;
using wireproof::fuzz::touch;

constexpr std::uint32_t domain = 1;
constexpr std::uint64_t base = 0x1000;
constexpr std::size_t region_size = 512;
constexpr std::uint32_t first_psn = 0xFFFFFC;
constexpr std::array transports = {Transport::uc, Transport::rc, Transport::rc, Transport::ud};
constexpr std::uint32_t first_number = 8;

/// Regions with unregistered bytes between them. The regions are small, so an address or a length
/// that is a little too large is already outside.
struct Memory {
    enum Place : std::size_t { writable, readable, window, local, places };

    std::array<std::byte, (2 * places + 1) * region_size> bytes{};

    Memory() { bytes.fill(std::byte{0xA5}); }
    Bytes at(Place place) {
        return Bytes(bytes).subspan((2 * place + 1) * region_size, region_size);
    }
    void check() {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            const std::size_t block = i / region_size;
            const bool own = block % 2 == 1 && block / 2 != readable;
            // The window gives access to the middle of its region. The peers do not know the key of
            // the region itself.
            const bool shown =
                block / 2 != window || (i % region_size >= 128 && i % region_size < 384);
            if (!own || !shown) WIREPROOF_CHECK(bytes[i] == std::byte{0xA5});
        }
    }
};

/// The work that was posted to a queue. Work from `oldest` to before `next` has not completed.
struct Ledger {
    std::uint64_t next = 0;
    std::uint64_t oldest = 0;

    void completed(std::uint64_t id) {
        WIREPROOF_CHECK(id >= oldest && id < next);  // some work completes silently
        oldest = id + 1;
    }
};

class Target {
public:
    explicit Target(std::uint8_t choice) : port_({.path_mtu = 256}) {
        keys_[Memory::writable] = add(Memory::writable, {true, true, true, true, false});
        keys_[Memory::readable] = add(Memory::readable, {false, false, true, false, false});
        keys_[Memory::local] = add(Memory::local, {.local_write = true});
        const std::uint32_t region =
            add(Memory::window, {.local_write = true, .window_bind = true});
        completions_[0] = port_.add_completion_queue(64);
        completions_[1] = port_.add_completion_queue(64);
        for (std::uint32_t i = 0; i < transports.size(); ++i) add_queue_pair(i, choice);
        const std::uint32_t free = port_.memory().add_window(domain, WindowType::type_2b);
        keys_[Memory::window] =
            port_.memory()
                .bind(
                    {.window = free,
                     .key_byte = 7,
                     .region = region,
                     .address = address(Memory::window) + 128,
                     .length = 256,
                     .access = {.remote_write = true, .remote_read = true, .remote_atomic = true}},
                    {domain, first_number + 1})
                .value();
    }

    void turn(Input& in) {
        const std::uint8_t op = in.byte();
        switch (op % 8) {
            case 0: give(raw(in)); break;
            case 1:
            case 2:
            case 3:
            case 4: give(forged(in)); break;
            case 5: post(in); break;
            case 6:
                now_ = now_ + Duration::microseconds(in.byte() * 4);
                if (port_.next_deadline() <= now_) port_.on_deadline(now_);
                break;
            default: drain(in.byte() % 16U); break;
        }
        draw();
    }

    void finish() {
        drain(1000);
        draw();
        memory_.check();
        std::uint64_t counted = 0;
        for (const std::uint64_t count : port_.counters().received) counted += count;
        WIREPROOF_CHECK(counted == given_);
        Fingerprint sink;
        port_.fingerprint(now_, sink);
    }

private:
    static std::uint64_t address(std::size_t place) { return base + place * 0x1000; }

    std::uint32_t add(Memory::Place place, const Access& access) {
        return port_.memory()
            .add_region({.domain = domain,
                         .address = address(place),
                         .memory = memory_.at(place),
                         .access = access})
            .value();
    }

    void add_queue_pair(std::uint32_t i, std::uint8_t choice) {
        const std::uint32_t number = first_number + i;
        const Transport transport = transports[i];
        const bool added = port_
                               .add_queue_pair({.transport = transport,
                                                .number = number,
                                                .domain = domain,
                                                .send_completions = completions_[0],
                                                .receive_completions = completions_[1],
                                                .limits = {.sends = 8, .receives = 8, .pieces = 2},
                                                .uc_drop_behind = (choice & 1) != 0,
                                                .tell_lost = true,
                                                .credits = (choice & 2) != 0,
                                                .ack_every = 4,
                                                .in_flight_max = 8,
                                                .ack_delay = Duration::microseconds(choice >> 2)})
                               .has_value();
        WIREPROOF_CHECK(added);
        const bool connected = transport != Transport::ud;
        QueuePairChange init{.state = QueuePairState::init,
                             .partition_index = std::uint16_t{0},
                             .port = std::uint8_t{1}};
        QueuePairChange rtr{.state = QueuePairState::rtr};
        QueuePairChange rts{.state = QueuePairState::rts, .send_psn = Psn(first_psn)};
        if (connected) {
            init.access = Access{.remote_write = true, .remote_read = true, .remote_atomic = true};
            rtr.address = PeerId{0};
            rtr.path_mtu = std::size_t{256};
            rtr.dest_queue_pair = number;
            rtr.receive_psn = Psn(first_psn);
        } else {
            init.qkey = 5U;
        }
        if (transport == Transport::rc) {
            rtr.max_dest_rd_atomic = rts.max_rd_atomic = std::uint8_t{2};
            rtr.min_rnr_timer = std::uint8_t{1};
            rts.timeout = std::uint8_t{3};
            rts.retry_count = rts.rnr_retry = std::uint8_t{3};
        }
        for (const auto& change : {init, rtr, rts}) {
            WIREPROOF_CHECK(port_.modify(number, change) == ModifyStatus::done);
        }
    }

    static std::vector<std::byte> raw(Input& in) {
        const ConstBytes bytes = in.bytes(in.byte());
        return {bytes.begin(), bytes.end()};
    }

    std::uint32_t key(std::uint8_t choice) const {
        const std::uint32_t key = keys_[choice % Memory::places];
        return (choice & 0x40) != 0 ? key ^ choice : key;
    }

    std::vector<std::byte> forged(Input& in) {
        const std::uint32_t which = in.byte() % transports.size();
        Headers headers;
        const auto operation = static_cast<std::uint8_t>(in.byte() & 0x1F);
        headers.bth.opcode =
            static_cast<std::uint8_t>(static_cast<unsigned>(transports[which]) << 5 | operation);
        headers.bth.dest_qp = first_number + which;
        headers.bth.psn = Psn((first_psn + in.byte() % 24U - 4) & 0xFFFFFF);
        const std::uint8_t flags = in.byte();
        headers.bth.ack_request = (flags & 1) != 0;
        headers.bth.solicited = (flags & 2) != 0;
        const std::uint8_t choice = in.byte();
        const std::uint64_t to = address(choice % Memory::places) + in.pair() % 600U - 40;
        const std::uint32_t length = in.pair() % 700U;
        headers.reth = {to, key(choice), length};
        headers.atomic = {(flags & 4) != 0 ? to & ~std::uint64_t{7} : to, key(choice), in.byte(),
                          0};
        headers.aeth = {Syndrome{in.byte()}, Msn(in.byte())};
        headers.invalidate = {key(choice)};
        headers.deth = {in.byte() % 8U, 3};
        std::vector<std::byte> payload((flags & 8) != 0    ? 256
                                       : (flags & 16) != 0 ? length % 257
                                                           : in.byte());
        const Opcode* opcode = find_opcode(headers.bth.opcode);
        if (opcode == nullptr) {
            std::vector<std::byte> reserved(64);
            headers.bth.encode(std::span(reserved).first<Bth::size>());
            return reserved;
        }
        if (opcode->payload == PayloadRule::none && (flags & 32) == 0) payload.clear();
        std::vector<std::byte> room(packet_max(256) + 64);
        TxFrame out;
        out.open(room, {.frame_max = room.size()});
        const ConstBytes piece = payload;
        encode(headers, std::span(&piece, 1), out);
        std::vector<std::byte> packet(out.size());
        out.gather(packet);
        return packet;
    }

    void give(const std::vector<std::byte>& packet) {
        ++given_;
        port_.on_frame(now_, {.bytes = packet, .integrity = Integrity::intact});
    }

    void post(Input& in) {
        const std::uint32_t which = in.byte() % transports.size();
        const std::uint32_t number = first_number + which;
        const std::uint8_t what = in.byte();
        const std::uint16_t at = in.pair();
        const Piece piece{address(Memory::local) + at % 512U, (at >> 9) * 4U,
                          (what & 0x80) != 0 ? key(in.byte()) : keys_[Memory::local]};
        if ((what & 0x40) != 0) {
            Ledger& ledger = received_[which];
            if (port_.post_receive(number, {.id = ledger.next, .pieces = std::span(&piece, 1)}) ==
                PostStatus::accepted) {
                ++ledger.next;
            }
            return;
        }
        Ledger& ledger = sent_[which];
        const WorkTerms terms{.id = ledger.next,
                              .request = static_cast<Request>(what % 10),
                              .signalled = (what & 0x20) == 0,
                              .fence = (what & 0x10) != 0,
                              .remote_address = address(0),
                              .remote_key = keys_[0],
                              .qkey = 5};
        const Piece eight{piece.address, 8, piece.key};
        const Piece& local = is_atomic(terms.request) ? eight : piece;
        if (port_.post_send(number, {.terms = terms, .pieces = std::span(&local, 1)}) ==
            PostStatus::accepted) {
            ++ledger.next;
        }
    }

    void drain(std::size_t packets) {
        std::array<std::byte, packet_max(256)> room;
        for (; packets > 0; --packets) {
            TxFrame out;
            out.open(room, {.frame_max = room.size()});
            if (!port_.poll_transmit(now_, out)) return;
            for (const ConstBytes piece : out.pieces()) touch(piece);
        }
    }

    void draw() {
        while (port_.next_delivery()) {
        }
        for (const std::size_t side : {0U, 1U}) {
            while (const auto completion = port_.poll(completions_[side])) {
                auto& ledgers = side == 0 ? sent_ : received_;
                ledgers[completion->queue_pair - first_number].completed(completion->id);
            }
        }
    }

    Memory memory_;
    Port port_;
    std::array<std::uint32_t, Memory::places> keys_{};
    std::array<CompletionQueueId, 2> completions_{};
    std::array<Ledger, transports.size()> sent_{};
    std::array<Ledger, transports.size()> received_{};
    std::uint64_t given_ = 0;
    Instant now_;
};

}  // namespace
}  // namespace wireproof::proto::ib

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    wireproof::fuzz::Input in(data, size);
    wireproof::proto::ib::Target target(in.byte());
    while (!in.empty()) target.turn(in);
    target.finish();
    return 0;
}
