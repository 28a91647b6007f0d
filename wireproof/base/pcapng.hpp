// A capture file as bytes, for dissectors to open: sections of the pcapng draft that a tap needs
// (header, interfaces, enhanced packets), times in nanoseconds. Numbers are little-endian, and the
// header says so.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "wireproof/base/bytes.hpp"

namespace wireproof {

/// LINKTYPE_USER0: what it means is agreed between whoever writes and whoever reads.
inline constexpr std::uint16_t link_type_user0 = 147;

/// Packets that begin with their IP header.
inline constexpr std::uint16_t link_type_raw = 101;

class PcapngFile {
public:
    /// `application` is who wrote it.
    explicit PcapngFile(std::string_view application);

    /// What packets are captured on; they name it by the number returned, counted from 0.
    std::uint32_t add_interface(std::string_view name, std::uint16_t link_type);

    struct Packet {
        std::uint32_t interface = 0;
        std::uint64_t nanoseconds = 0;
        ConstBytes bytes;
        std::string_view comment = {};  // none if empty
    };
    void add(const Packet& packet);

    /// The whole file so far, but for what was taken.
    ConstBytes bytes() const { return file_; }
    /// What was added since the last time, for a file that is written as it grows.
    std::vector<std::byte> take() { return std::exchange(file_, {}); }

private:
    void begin(std::uint32_t type);
    void end();
    void put(std::uint64_t value, std::size_t size);
    void put(ConstBytes bytes);
    void put_option(std::uint16_t code, std::string_view text);
    void pad();

    std::vector<std::byte> file_;
    std::size_t block_at_ = 0;  // of the block that is being written
    std::uint32_t interfaces_ = 0;
};

}  // namespace wireproof
