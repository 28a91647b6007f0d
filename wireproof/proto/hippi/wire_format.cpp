#include "wireproof/proto/hippi/wire_format.hpp"

#include <algorithm>
#include <string_view>

#include "wireproof/base/crc.hpp"

namespace wireproof::hippi {
namespace {

constexpr std::size_t ecrc_at = 4;
constexpr std::size_t lcrc_at = 6;

template <std::size_t At>
void store_be16(std::span<std::byte, control_size> to, std::uint16_t value) {
    to[At] = static_cast<std::byte>(value >> 8);
    to[At + 1] = static_cast<std::byte>(value);
}

template <std::size_t At>
std::uint16_t load_be16(std::span<const std::byte, control_size> from) {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(from[At]) << 8 |
                                      std::to_integer<unsigned>(from[At + 1]));
}

bool known(unsigned type) {
    return type <= 5 || (type >= 8 && type <= 11);
}

std::string_view kind_of(Type type) {
    switch (type) {
        case Type::null: return "null";
        case Type::header: return "header";
        case Type::data: return "data";
        case Type::credit: return "credit";
        case Type::admin: return "admin";
        case Type::status_null: return "status null";
        case Type::init: return "init";
        case Type::init_ack: return "init-ack";
        case Type::reset: return "reset";
        case Type::reset_ack: return "reset-ack";
    }
    return "frame";
}

}  // namespace

// HIPPI-2
void Control::encode(std::span<std::byte, size> to) const {
    to[0] = static_cast<std::byte>(unsigned{channel} << 6 | static_cast<unsigned>(type) << 2 |
                                   unsigned{tail} << 1 | unsigned{error});
    to[1] = static_cast<std::byte>(unsigned{credit_channel} << 6 | credits);
    to[2] = std::byte{tseq};
    to[3] = std::byte{rseq};
    store_be16<ecrc_at>(to, ecrc);
    store_be16<lcrc_at>(to, lcrc);
}

std::optional<Control> Control::decode(std::span<const std::byte, size> from) {
    const auto first = std::to_integer<unsigned>(from[0]);
    const auto second = std::to_integer<unsigned>(from[1]);
    const unsigned type = first >> 2 & 0xF;
    if (!known(type)) return std::nullopt;
    Control control;
    control.channel = static_cast<std::uint8_t>(first >> 6);
    control.type = static_cast<Type>(type);
    control.tail = (first & 2) != 0;
    control.error = (first & 1) != 0;
    control.credit_channel = static_cast<std::uint8_t>(second >> 6);
    control.credits = static_cast<std::uint8_t>(second & credits_max);
    control.tseq = std::to_integer<std::uint8_t>(from[2]);
    control.rseq = std::to_integer<std::uint8_t>(from[3]);
    control.ecrc = load_be16<ecrc_at>(from);
    control.lcrc = load_be16<lcrc_at>(from);
    // HIPPI-4, HIPPI-18: exactly the units that the sender keeps have a number.
    if (is_numbered(control.type) != (control.tseq != no_number)) return std::nullopt;
    return control;
}

// HIPPI-3
std::uint16_t lcrc(std::span<const std::byte, data_size> data,
                   std::span<const std::byte, control_size> control) {
    constexpr std::array<std::byte, control_size - lcrc_at> zero{};
    Crc16Iba crc;
    crc.add(data);
    crc.add(control.first<lcrc_at>());
    crc.add(zero);
    return crc.value();
}

void store_lcrc(std::span<std::byte, control_size> control, std::uint16_t value) {
    store_be16<lcrc_at>(control, value);
}

std::uint16_t stored_lcrc(std::span<const std::byte, control_size> control) {
    return load_be16<lcrc_at>(control);
}

void HeaderBody::encode(std::span<std::byte, size> to) const {
    std::fill(to.begin(), to.end(), std::byte{0});
    store_le_at<std::uint64_t, 0>(to, length);
}

std::optional<HeaderBody> HeaderBody::decode(std::span<const std::byte, size> from) {
    const auto rest = from.subspan<8>();
    if (std::any_of(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{0}; })) {
        return std::nullopt;
    }
    return HeaderBody{.length = load_le_at<std::uint64_t, 0>(from)};
}

void StartBody::encode(std::span<std::byte, size> to) const {
    store_le_at<std::uint64_t, 0>(to, epoch);
    store_le_at<std::uint64_t, 8>(to, echo);
    store_le_at<std::uint64_t, 16>(to, terms);
    store_le_at<std::uint16_t, 24>(to, credits[0]);
    store_le_at<std::uint16_t, 26>(to, credits[1]);
    store_le_at<std::uint16_t, 28>(to, credits[2]);
    store_le_at<std::uint16_t, 30>(to, credits[3]);
}

StartBody StartBody::decode(std::span<const std::byte, size> from) {
    StartBody body;
    body.epoch = load_le_at<std::uint64_t, 0>(from);
    body.echo = load_le_at<std::uint64_t, 8>(from);
    body.terms = load_le_at<std::uint64_t, 16>(from);
    body.credits = {load_le_at<std::uint16_t, 24>(from), load_le_at<std::uint16_t, 26>(from),
                    load_le_at<std::uint16_t, 28>(from), load_le_at<std::uint16_t, 30>(from)};
    return body;
}

FrameInfo describe(ConstBytes frame) {
    FrameInfo info = describe_nothing(frame);
    if (frame.size() != unit_size && frame.size() != control_size) return info;
    const auto control = Control::decode(frame.last<control_size>());
    if (!control) return info;
    info.kind = kind_of(control->type);
    info.channel = control->channel;
    if (control->tseq != no_number) info.number = control->tseq;
    if (control->rseq != no_number) info.ack = control->rseq;
    if (control->type == Type::null || control->type == Type::status_null) info.number = info.ack;
    info.length = unit_size;
    return info;
}

}  // namespace wireproof::hippi
