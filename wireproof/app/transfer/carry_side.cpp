#include "wireproof/app/transfer/carry_side.hpp"

#include <array>
#include <utility>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/transfer/carry_ib.hpp"
#include "wireproof/app/transfer/link_transfer.hpp"
#include "wireproof/core/any_link.hpp"
#include "wireproof/lab/engines/link_engines.hpp"
#include "wireproof/wire/sequenced/sequenced_wire.hpp"

namespace wireproof::app {
namespace {

/// One half of a transfer, sender or receiver, with the functions that carry needs.
template <class Node, class Half>
class SideOf final : public CarrySide {
public:
    template <class MakeNode, class File>
    SideOf(const MakeNode& make, File& file) : node_(make()), half_(make_half(*node_, file)) {}

    std::size_t poll(Instant now) override { return node_->poll(now); }
    void step(Instant now) override { half_->step(now); }
    Instant next_deadline() const override { return node_->next_deadline(); }
    host::AnyWire& wire() override { return node_->wire(); }
    const std::optional<TransferEnd>& end() const override { return half_->end(); }
    bool may_leave(Instant now) const override { return half_->may_leave(now); }
    Duration duration() const override { return half_->duration(); }
    std::uint64_t bytes_taken() const override { return half_->bytes_taken(); }
    SideCounts engine_counts() const override { return counts_of(*node_); }

private:
    template <class File>
    static std::unique_ptr<Half> make_half(am::Node& node, File& file) {
        return std::make_unique<Half>(node, 1 - node.self(), file);
    }
    template <class File>
    static std::unique_ptr<Half> make_half(link::Node& node, File& file) {
        return std::make_unique<Half>(node, file);
    }
    static SideCounts counts_of(const am::Node& node) {
        return app::engine_counts(node, 1 - node.self());
    }
    static SideCounts counts_of(const link::Node& node) {
        const LinkStats& stats = node.engine().stats();
        SideCounts counts;
        counts.acks = stats.acks;
        counts.nacks = stats.naks;
        counts.keepalives = stats.upkeep;
        counts.timeouts = stats.timeouts;
        return counts;
    }

    std::unique_ptr<Node> node_;
    std::unique_ptr<Half> half_;
};

using MakeLink = AnyLink (*)(const CarryOptions&, std::uint16_t, std::size_t);
struct LinkProtocol {
    std::string_view name;
    std::uint32_t missing_max = 0;
    MakeLink make = nullptr;
};

template <class Adapter>
AnyLink make_link(const CarryOptions& options, std::uint16_t node, std::size_t frame_max) {
    auto made = Adapter::over_datagrams(frame_max, mix64(options.seed) + node);
    if (!made) throw Failure("--mtu: " + made.error().message);
    return std::move(*made);
}

constexpr std::size_t link_count = lab::LinkEngines::size;
constexpr std::array<LinkProtocol, link_count> link_protocols = [] {
    std::array<LinkProtocol, link_count> all{};
    std::size_t at = 0;
    lab::LinkEngines::for_each([&]<class Adapter>() {
        all[at++] = {Adapter::name, Adapter::missing_max, make_link<Adapter>};
    });
    return all;
}();
constexpr std::array<std::string_view, link_count + 3> protocol_names = [] {
    std::array<std::string_view, link_count + 3> names = {"sp-am"};
    std::size_t at = 1;
    for (const LinkProtocol& link : link_protocols) names[at++] = link.name;
    for (const std::string_view ib : ib_protocols) names[at++] = ib;
    return names;
}();

std::unique_ptr<am::Node> make_am_node(const CarryOptions& options, std::uint16_t node,
                                       host::AnyWire wire) {
    return std::make_unique<am::Node>(std::move(wire), carry_config(options, node), 2);
}

std::unique_ptr<link::Node> make_link_node(const LinkProtocol& protocol,
                                           const CarryOptions& options, std::uint16_t node,
                                           host::AnyWire wire) {
    const PeerId peer{static_cast<std::uint16_t>(1 - node)};
    SequencedWire<host::AnyWire> sequenced(std::move(wire),
                                           {.link = static_cast<std::uint32_t>(mix64(options.seed)),
                                            .peer = peer,
                                            .seed = mix64(options.seed + 1) + node,
                                            .missing_max = protocol.missing_max});
    const std::size_t frame_max = sequenced.capabilities().frame_max;
    link::Node::Config config;
    config.peer_timeout = Duration::from_seconds(options.peer_timeout);
    config.stream.life = mix64(options.seed + 2) + node;
    return std::make_unique<link::Node>(host::AnyWire(std::move(sequenced)), peer,
                                        protocol.make(options, node, frame_max), config);
}

const LinkProtocol* link_protocol(std::string_view name) {
    for (const LinkProtocol& protocol : link_protocols) {
        if (protocol.name == name) return &protocol;
    }
    return nullptr;
}

template <class AmHalf, class LinkHalf, class File>
std::unique_ptr<CarrySide> make_side(const CarryOptions& options, std::uint16_t node,
                                     host::AnyWire wire, File& file) {
    if (const LinkProtocol* protocol = link_protocol(options.protocol)) {
        const auto make = [&] { return make_link_node(*protocol, options, node, std::move(wire)); };
        return std::make_unique<SideOf<link::Node, LinkHalf>>(make, file);
    }
    const auto make = [&] { return make_am_node(options, node, std::move(wire)); };
    return std::make_unique<SideOf<am::Node, AmHalf>>(make, file);
}

}  // namespace

std::span<const std::string_view> carry_protocols() {
    return protocol_names;
}

std::unique_ptr<CarrySide> make_sending_side(const CarryOptions& options, host::AnyWire wire,
                                             const InputFile& file) {
    if (is_ib(options.protocol)) return make_ib_sending_side(options, std::move(wire), file);
    return make_side<FileSender, LinkFileSender>(options, 0, std::move(wire), file);
}

std::unique_ptr<CarrySide> make_receiving_side(const CarryOptions& options, host::AnyWire wire,
                                               OutputFile& file) {
    if (is_ib(options.protocol)) return make_ib_receiving_side(options, std::move(wire), file);
    return make_side<FileReceiver, LinkFileReceiver>(options, 1, std::move(wire), file);
}

std::size_t datagram_max(const CarryOptions& options) {
    if (is_ib(options.protocol)) return ib_frame_max(options);
    if (link_protocol(options.protocol) != nullptr) return options.mtu - ipv4_framing;
    return carry_config(options, 0).packet_max;
}

}  // namespace wireproof::app
