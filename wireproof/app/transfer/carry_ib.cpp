#include "wireproof/app/transfer/carry_ib.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/transfer/ib_transfer.hpp"
#include "wireproof/front/ib/native_wire.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"
#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::app {
namespace {

// The same path MTU on all wires, so that their results can be compared.
std::size_t path_mtu_of(const CarryOptions& options) {
    constexpr std::size_t around = ipv4_framing + IcrcCover::icrc_size;
    const std::size_t path_mtu =
        options.mtu > around ? proto::ib::path_mtu_within(options.mtu - around) : 0;
    if (path_mtu == 0) {
        throw Failure(
            fmt::format("--mtu: {} is too short: packets of InfiniBand take {} bytes at least",
                        options.mtu, around + proto::ib::packet_max(proto::ib::path_mtus.front())));
    }
    return path_mtu;
}

IbTransferTerms terms_of(const CarryOptions& options) {
    return {.path_mtu = path_mtu_of(options),
            .reliable = options.protocol == "rc",
            .rate = options.rate};
}

IbSession::Config session_config(const CarryOptions& options, std::uint16_t node) {
    const std::size_t path_mtu = path_mtu_of(options);
    const bool rocev2 = options.wire == "udp";
    return {.data = options.protocol == "rc" ? proto::ib::Transport::rc : proto::ib::Transport::uc,
            .node = node,
            .path_mtu = path_mtu,
            .piece_max = 16 * path_mtu,
            .seed = options.seed,
            .peer_timeout = Duration::from_seconds(options.peer_timeout),
            .framing = rocev2 ? ipv4_framing + IcrcCover::icrc_size
                              : proto::ib::Lrh::size + proto::ib::native_tail,
            .mtu = options.mtu};
}

/// On RoCEv2 the end already adds the framing; on other wires the frames are those of a native
/// link.
host::AnyWire framed(const CarryOptions& options, std::uint16_t node, host::AnyWire wire) {
    if (options.wire == "udp") return wire;
    return host::AnyWire(proto::ib::NativeWire<host::AnyWire>(
        std::move(wire), {.local = static_cast<PeerId>(node)}));
}

template <class Half>
class IbSide final : public CarrySide {
public:
    template <class File>
    IbSide(const CarryOptions& options, std::uint16_t node, host::AnyWire wire, File& file)
        : session_(framed(options, node, std::move(wire)), session_config(options, node)),
          half_(session_, file, terms_of(options)) {}

    std::size_t poll(Instant now) override { return session_.poll(now); }
    void step(Instant now) override { half_.step(now); }
    Instant next_deadline() const override {
        return earliest(session_.next_deadline(), half_.next_deadline());
    }
    host::AnyWire& wire() override { return session_.wire(); }
    const std::optional<TransferEnd>& end() const override { return half_.end(); }
    bool may_leave(Instant now) const override { return half_.may_leave(now); }
    Duration duration() const override { return half_.duration(); }
    std::uint64_t bytes_taken() const override { return half_.bytes_taken(); }
    std::optional<MessageCounts> messages() const override { return half_.messages(); }

    SideCounts engine_counts() const override {
        SideCounts counts;
        for (const proto::ib::QueuePairCounters* pair :
             {&session_.control_counters(), &session_.data_counters()}) {
            counts.acks += pair->acks_sent;
            counts.nacks += pair->naks_sent + pair->rnr_naks_sent;
            counts.timeouts += pair->timeouts;
        }
        counts.keepalives = session_.keepalives();
        return counts;
    }

private:
    IbSession session_;
    Half half_;
};

}  // namespace

bool is_ib(std::string_view protocol) {
    return std::ranges::find(ib_protocols, protocol) != ib_protocols.end();
}

std::size_t ib_frame_max(const CarryOptions& options) {
    const std::size_t packet = proto::ib::packet_max(path_mtu_of(options));
    if (options.wire == "udp") return packet + IcrcCover::icrc_size;
    return packet + proto::ib::Lrh::size + proto::ib::native_tail;
}

std::unique_ptr<CarrySide> make_ib_sending_side(const CarryOptions& options, host::AnyWire wire,
                                                const InputFile& file) {
    return std::make_unique<IbSide<IbFileSender>>(options, std::uint16_t{0}, std::move(wire), file);
}

std::unique_ptr<CarrySide> make_ib_receiving_side(const CarryOptions& options, host::AnyWire wire,
                                                  OutputFile& file) {
    return std::make_unique<IbSide<IbFileReceiver>>(options, std::uint16_t{1}, std::move(wire),
                                                    file);
}

}  // namespace wireproof::app
