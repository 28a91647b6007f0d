// Reads capture files of other programs, pcap and pcapng, packet by packet: both byte orders, every
// time resolution, any number of sections and interfaces. If a file is damaged or cut short, the
// error is one line that names the packet at which reading ended. All packets before it are good.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/expected.hpp"

namespace wireproof {

inline constexpr std::uint16_t link_type_ethernet = 1;

struct CapturedPacket {
    std::uint64_t number = 0;             // from 1, in the order of the file
    std::optional<std::uint64_t> time{};  // nanoseconds since 1970; not every block has one
    /// Its fraction of a second is a second or more, so the file counts in another unit than it
    /// says, or is damaged. There is no `time` then.
    bool time_above_unit = false;
    std::uint16_t link_type = 0;
    ConstBytes bytes{};           // valid until the next call of next()
    std::size_t length = 0;       // on the wire; the capture may have fewer bytes
    std::uint32_t interface = 0;  // in pcapng, of its section
    std::string_view comment{};   // the first, in pcapng; any bytes; valid like `bytes`
    /// The program that wrote the section, in pcapng; any bytes. Valid until the next call.
    std::string_view application{};
};

class CaptureReader {
public:
    /// Puts the next bytes of the capture at the beginning of `to` (never empty) and returns their
    /// number: at least one, or 0 at the end of the file. It may return fewer bytes than `to` has
    /// room for, like a pipe. If it throws, next() passes the exception on.
    using Read = std::function<std::size_t(Bytes to)>;

    /// Reads forward only, so a pipe works. If the file header is wrong, the first next() returns
    /// the error.
    explicit CaptureReader(Read read);

    /// Empty at the end of the file, and in each call after an error.
    Expected<std::optional<CapturedPacket>> next();

private:
    enum class Format : std::uint8_t { unknown, pcap, pcapng };

    struct Interface {
        std::uint16_t link_type = 0;
        std::uint32_t snap_length = 0;  // 0: without limit
        std::uint64_t ticks_per_second = 1'000'000;
        std::uint64_t offset_seconds = 0;
    };
    struct Block {
        std::uint32_t type = 0;
        ConstBytes body;
    };

    Expected<void> read_file_header();
    Expected<std::optional<CapturedPacket>> next_record();
    Expected<std::optional<CapturedPacket>> next_in_blocks();
    Expected<Block> read_block();
    Expected<void> begin_section(ConstBytes first);
    void read_application(ConstBytes body);
    Expected<void> add_interface(ConstBytes body);
    Expected<void> read_option(Interface& to, std::uint16_t code, ConstBytes value) const;
    Expected<CapturedPacket> enhanced_packet(ConstBytes body);
    Expected<CapturedPacket> obsolete_packet(ConstBytes body);
    Expected<CapturedPacket> simple_packet(ConstBytes body);
    Expected<CapturedPacket> packet_in(ConstBytes behind, std::uint32_t interface,
                                       std::uint32_t captured, std::uint32_t length);

    /// The value of the first option with this code; empty: none, or it is cut short.
    std::string_view option_in(ConstBytes options, std::uint16_t code) const;
    /// Nanoseconds since 1970.
    static std::uint64_t time_of(std::uint64_t ticks, const Interface& interface);

    /// The next `size` bytes of the file, without moving on; empty if the file ends before.
    std::optional<ConstBytes> peek(std::size_t size);
    /// Moves past bytes that peek() has returned.
    void skip(std::size_t size) { at_ += size; }
    bool at_end() { return failed_ || !peek(1); }
    std::size_t buffered() const { return filled_ - at_; }
    std::uint16_t word_16(ConstBytes bytes, std::size_t at) const;
    std::uint32_t word_32(ConstBytes bytes, std::size_t at) const;
    /// "packet 7: what", for the next packet.
    tl::unexpected<Error> wrong(const std::string& what) const;
    tl::unexpected<Error> cut(const char* what, std::uint64_t needed) const;

    Read read_;
    std::uint64_t packets_ = 0;
    bool failed_ = false;
    Format format_ = Format::unknown;
    bool big_endian_ = false;
    std::vector<Interface> interfaces_;  // of the present section; a pcap file has one
    std::string application_;            // of the present section

    std::size_t record_header_size_ = 0;  // pcap only

    // A part of the file. The bytes that are read but not yet consumed begin at at_ and end before
    // filled_.
    std::vector<std::byte> window_;
    std::size_t at_ = 0;
    std::size_t filled_ = 0;
};

/// Reads a capture in memory, which must outlive the reader. Each call returns at most `piece`
/// bytes.
CaptureReader::Read capture_in(ConstBytes file, std::size_t piece = SIZE_MAX);

}  // namespace wireproof
