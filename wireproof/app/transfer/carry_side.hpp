// One end of a transfer, for any protocol. Link engines come from the list in
// lab/engines/link_engines.hpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "wireproof/app/transfer/carry_run.hpp"
#include "wireproof/app/transfer/file_transfer.hpp"
#include "wireproof/host/any_wire.hpp"

namespace wireproof::app {

class CarrySide {
public:
    virtual ~CarrySide() = default;

    virtual std::size_t poll(Instant now) = 0;
    virtual void step(Instant now) = 0;  // call it after every poll
    virtual Instant next_deadline() const = 0;
    virtual host::AnyWire& wire() = 0;

    virtual const std::optional<TransferEnd>& end() const = 0;
    virtual bool may_leave(Instant now) const = 0;
    virtual Duration duration() const = 0;
    virtual std::uint64_t bytes_taken() const = 0;
    /// Empty if the file is one stream.
    virtual std::optional<MessageCounts> messages() const { return std::nullopt; }
    /// The counts of the engine. The owner of the wire adds the counts of the wire.
    virtual SideCounts engine_counts() const = 0;
};

std::span<const std::string_view> carry_protocols();

/// The sender is node 0 of the wire, the receiver node 1. Wire and file must outlive the side.
std::unique_ptr<CarrySide> make_sending_side(const CarryOptions& options, host::AnyWire wire,
                                             const InputFile& file);
std::unique_ptr<CarrySide> make_receiving_side(const CarryOptions& options, host::AnyWire wire,
                                               OutputFile& file);

/// The longest datagram in bytes. Throws Failure if the options cannot work.
std::size_t datagram_max(const CarryOptions& options);

}  // namespace wireproof::app
