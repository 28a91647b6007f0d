// A Connection. The fuzzer is its peer. It sends raw bytes, or frames with the right nodes, cookie
// and checksum and with numbers near the expected ones, so the engine does not drop them early. The
// engine may write only memory that is registered or lent, and it may send only few frames for each
// step.
#include "fuzz/am_kit.hpp"

namespace wireproof::am::fuzz {
namespace {

using wireproof::fuzz::Input;
using wireproof::fuzz::touch;

// Small, so an address or a length that is a little too large is already outside.
constexpr std::size_t memory_size = 256;
constexpr std::uint16_t handlers = 256;  // those with an odd number exist

class Target {
public:
    explicit Target(std::uint8_t choice)
        : config_(small_config(choice)), engine_(config_, memory_.table) {
        for (std::uint16_t i = 1; i < handlers; i += 2) handlers_.set(HandlerId{i}, true);
        engine_.bind_handlers(handlers_);
        if (!config_.cookie) meet();
        (void)engine_.request(HandlerId{1}, {});
        drain();  // the frames contain the cookie
    }

    void turn(Input& in) {
        const std::uint8_t op = in.byte();
        switch (op % 8) {
            case 0: receive(raw_frame(in), (op & 8) != 0); break;
            case 1:
            case 2:
            case 3:
            case 4: receive(forged_frame(in), true); break;
            case 5: post(in); break;
            case 6: pass_time(in); break;
            default: other(in); break;
        }
        draw();
        drain();
    }

    void finish() {
        memory_.check();
        std::uint64_t counted = 0;
        for (const std::uint64_t count : engine_.stats().received) counted += count;
        WIREPROOF_CHECK(counted == received_);
        Fingerprint sink;
        engine_.fingerprint(now_, sink);
    }

private:
    // Begins a session with an honest peer. Afterwards the fuzzer takes the place of this peer.
    void meet() {
        const MemoryTable nothing;
        Connection peer(mirrored(config_), nothing);
        peer.set_awaiting(true);
        for (int i = 0; i < 4; ++i) {
            while (const auto sent = next_sent(peer, now_)) receive(sent->bytes, false);
            while (const auto sent = next_sent(engine_, now_)) {
                note(*sent);
                peer.on_frame(now_, {sent->bytes});
                while (peer.next_delivery()) {
                }
            }
        }
        WIREPROOF_CHECK(engine_.established());
    }

    void receive(ConstBytes frame, bool intact) {
        // The frame has its own memory, so the address sanitizer finds a read after its end. A
        // delivery may refer to this memory only until draw() returns.
        const std::vector<std::byte> bytes(frame.begin(), frame.end());
        engine_.on_frame(now_, {bytes, PeerId{0}, intact ? Integrity::intact : Integrity::check});
        ++received_;
        draw();
    }

    std::vector<std::byte> raw_frame(Input& in) {
        const std::uint8_t patches = in.byte();
        const ConstBytes raw = in.bytes(in.byte());
        std::vector<std::byte> frame(raw.begin(), raw.end());
        if (frame.size() < config_.header_size()) return frame;
        if ((patches & 1) != 0) {
            store_le<std::uint16_t>(Bytes(frame).subspan<0, 2>(), config_.node);
            store_le<std::uint16_t>(Bytes(frame).subspan<2, 2>(), config_.peer);
        }
        if ((patches & 2) != 0) store_le<std::uint64_t>(Bytes(frame).subspan<8, 8>(), cookie_);
        if ((patches & 4) != 0) seal(frame);
        return frame;
    }

    // Makes a frame that decodes, from few bytes of input.
    std::vector<std::byte> forged_frame(Input& in) {
        Header header;
        header.dst = config_.node;
        header.src = config_.peer;
        const std::uint8_t kind = in.byte();
        header.kind = static_cast<Kind>(1 + kind % 9);
        header.channel = header.kind == Kind::reply ? Channel::reply : Channel::request;
        const bool either = header.kind == Kind::chunk || header.kind == Kind::nack ||
                            header.kind == Kind::keepalive;
        if (either && (kind & 0x80) != 0) header.channel = Channel::reply;
        header.round = static_cast<std::uint8_t>(in.byte() % 8);
        header.cookie = header.kind == Kind::hello ? 0 : cookie_;
        const std::size_t of = static_cast<std::size_t>(header.channel);
        header.number = near(header.kind == Kind::nack ? next_out_[of] : expected_[of], in.byte());
        const std::uint8_t acks = in.byte();
        header.ack = {near(next_out_[0], acks % 16), near(next_out_[1], acks / 16)};
        header.id = in.byte() % 8;
        const std::uint8_t place = in.byte();
        header.offset = (place % 32) * config_.data_max();
        const ConstBytes data = data_of(header, in);
        header.count =
            static_cast<std::uint16_t>(header.kind == Kind::chunk ? 1 + place / 32 : data.size());
        if (header.kind == Kind::hello) header.count = place % 2;
        // Some frames have filler. Most of this filler is valid.
        std::size_t filler = 0;
        if (config_.layout == Layout::ethernet && (kind & 0x40) != 0) {
            const std::size_t most = config_.data_max();
            filler = std::min<std::size_t>(place, most - std::min(most, data.size()));
            header.filler = static_cast<std::uint16_t>(place == 255 ? 256 : filler);
        }
        std::vector<std::byte> frame(config_.header_size());
        encode(header, config_.layout, frame);
        frame.insert(frame.end(), data.begin(), data.end());
        frame.resize(frame.size() + filler, std::byte{0xF1});
        return frame;
    }

    ConstBytes data_of(const Header& header, Input& in) {
        const std::uint8_t shape = in.byte();
        data_.assign(config_.data_max(), std::byte{shape});
        const Bytes data(data_);
        const std::uint64_t total = shape < 200 ? shape * 4U : in.pair() * 0x10001ULL;
        switch (header.kind) {
            case Kind::open: {
                // The store ends at the end of the memory, or begins near its first byte.
                const std::uint8_t where = in.byte();
                const std::uint64_t at = where % 2 == 0 ? memory_size - total : where;
                OpenBody{PeerMemory::stores_at + at, total, in.byte(), 5}.encode(
                    data.first<OpenBody::size>());
                return data.first(OpenBody::size + in.byte() % (data.size() - OpenBody::size + 1));
            }
            case Kind::get_request:
                GetBody{PeerMemory::gets_at + in.byte(), total}.encode(data.first<GetBody::size>());
                return data.first(GetBody::size);
            case Kind::hello:
                HelloBody{config_.job, in.byte() % 4U, shape % 2 == 0 ? 0 : nonce_, config_.terms()}
                    .encode(data.first<HelloBody::size>());
                return data.first(HelloBody::size);
            case Kind::reply:
                if (header.id != 0) break;
                RefusalBody{shape % 5U, in.byte() % 5U, in.byte() % 3U}.encode(
                    data.first<RefusalBody::size>());
                return data.first(RefusalBody::size);
            case Kind::nack:
                NackBody{shape % 32U, in.byte() % 32U}.encode(data.first<NackBody::size>());
                return data.first(shape % (data.size() + 1));
            default: break;
        }
        return data.first(shape % (data.size() + 1));
    }

    // A number from 16 before `number` to 47 after it.
    std::uint32_t near(std::uint32_t number, std::uint8_t distance) const {
        return static_cast<std::uint32_t>((number + config_.modulus + distance % 64U - 16) %
                                          config_.modulus);
    }

    void seal(Bytes frame) const {
        const Bytes head = frame.first(config_.header_size());
        const auto header = decode(config_.layout, frame);
        const ConstBytes behind = frame.subspan(head.size());
        const std::size_t filler = header && header->filler < behind.size() ? header->filler : 0;
        store_checksum(config_.layout, head,
                       checksum(config_.layout, head, behind.first(behind.size() - filler)));
    }

    void post(Input& in) {
        const std::uint8_t what = in.byte();
        const std::size_t size = in.byte() * 4U;
        Lent::Transfer transfer{what % 3 == 1, 0, pattern(size, what)};
        PostStatus status{};
        if (what % 3 == 0) {
            status = engine_.request(HandlerId{7}, transfer.bytes);
        } else if (what % 3 == 1) {
            status = engine_.store({0x99, transfer.bytes, HandlerId{3}, 1, lent_.next_tag()});
        } else {
            status = engine_.get({0x99, transfer.bytes, lent_.next_tag()});
        }
        // The engine uses these bytes. A move of the vector does not change their address.
        if (what % 3 != 0 && status == PostStatus::accepted) lent_.add(std::move(transfer));
    }

    void pass_time(Input& in) {
        now_ = now_ + Duration::microseconds(std::int64_t{1} << (in.byte() % 24));
        if (engine_.next_deadline() > now_) return;
        engine_.on_deadline(now_);
        draw();
        drain();
        WIREPROOF_CHECK(engine_.next_deadline() > now_);  // otherwise a host could never sleep
    }

    void other(Input& in) {
        const std::uint8_t what = in.byte();
        mood_ = what / 16;
        switch (what % 16) {
            case 0: engine_.set_awaiting(true); break;
            case 1: engine_.set_awaiting(false); break;
            case 2: engine_.on_wire_event(now_, WireEvent::peer_gone); break;
            case 3: engine_.on_wire_event(now_, WireEvent::new_life); break;
            case 4: {
                Connection copy = engine_;
                engine_ = std::move(copy);
                break;
            }
            case 5: (void)engine_.touches(memory_.stores()); break;
            case 7: {  // a handler appears or disappears, also during a store
                const HandlerId handler{in.byte()};
                handlers_.set(handler, !handlers_.has(handler));
                break;
            }
            case 6:
                WIREPROOF_CHECK(engine_.reply(HandlerId{1}, {}) == PostStatus::not_allowed);
                break;
            default: break;
        }
    }

    void draw() {
        for (int count = 0; const auto delivery = engine_.next_delivery(); ++count) {
            WIREPROOF_CHECK(count < 200);
            std::visit([this](const auto& d) { take(d); }, *delivery);
        }
    }

    void take(const Request& request) {
        WIREPROOF_CHECK(request.handler != HandlerId{});
        touch(request.arguments);
        respond(request.arguments);
    }
    void take(const Reply& reply) {
        WIREPROOF_CHECK(reply.handler != HandlerId{});
        touch(reply.arguments);
        WIREPROOF_CHECK(engine_.reply(HandlerId{2}, {}) == PostStatus::not_allowed);
    }
    void take(const Stored& stored) {
        const Bytes region = memory_.stores();
        WIREPROOF_CHECK(stored.memory.empty() || (stored.memory.data() >= region.data() &&
                                                  stored.memory.data() + stored.memory.size() <=
                                                      region.data() + region.size()));
        WIREPROOF_CHECK(stored.handler != HandlerId{} && handlers_.has(stored.handler));
        respond({});
    }
    void take(const StoreEnded& ended) { lent_.end(ended.tag, true); }
    void take(const GetEnded& ended) { touch(lent_.end(ended.tag, false).bytes); }
    void take(const Refused&) {}
    void take(const SessionBegan&) { WIREPROOF_CHECK(engine_.established()); }
    void take(const FateUnknown& fate) {
        touch(fate.arguments);
        if (fate.what == FateUnknown::What::store) lent_.end(fate.tag, true);
        if (fate.what == FateUnknown::What::get) lent_.end(fate.tag, false);
    }
    void take(const SessionEnded&) { WIREPROOF_CHECK(lent_.empty()); }

    void respond(ConstBytes arguments) {
        if (mood_ % 4 == 0) return;
        const PostStatus status =
            mood_ % 4 == 1 ? engine_.refuse(HandlerId{9}) : engine_.reply(HandlerId{2}, arguments);
        WIREPROOF_CHECK(status == PostStatus::accepted);
        WIREPROOF_CHECK(engine_.reply(HandlerId{2}, {}) == PostStatus::not_allowed);  // AM-22
    }

    void drain() {
        for (int count = 0; const auto sent = next_sent(engine_, now_); ++count) {
            WIREPROOF_CHECK(count < 100);
            note(*sent);
        }
    }

    void note(const Sent& sent) {
        const Header& header = sent.header;
        if (header.kind == Kind::hello) {
            nonce_ = HelloBody::decode(ConstBytes(sent.bytes).last<HelloBody::size>()).nonce;
            return;
        }
        cookie_ = header.cookie;
        expected_ = header.ack;
        if (!is_numbered(header.kind)) return;
        const std::uint32_t span = header.kind == Kind::chunk ? header.count : 1;
        next_out_[static_cast<std::size_t>(header.channel)] =
            static_cast<std::uint32_t>((header.number + span) % config_.modulus);
    }

    Config config_;
    PeerMemory memory_{memory_size};
    HandlerTable handlers_;
    Lent lent_;
    Connection engine_;
    std::vector<std::byte> data_;
    Instant now_{Duration::milliseconds(1)};
    std::uint64_t received_ = 0;
    std::uint8_t mood_ = 0;

    // Read from the frames of the engine.
    std::uint64_t cookie_ = 1;
    std::uint64_t nonce_ = 0;
    std::array<std::uint32_t, channel_count> expected_ = config_.first_number;
    std::array<std::uint32_t, channel_count> next_out_ = config_.first_number;
};

}  // namespace
}  // namespace wireproof::am::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    wireproof::fuzz::Input in(data, size);
    wireproof::am::fuzz::Target target(in.byte());
    while (!in.empty()) target.turn(in);
    target.finish();
    return 0;
}
