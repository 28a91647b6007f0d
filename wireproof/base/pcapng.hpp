// Writes a capture file into memory, for packet dissectors. It has the pcapng blocks that a tap
// needs: section header, interfaces, enhanced packets. Times are in nanoseconds. Numbers are
// little-endian, as the section header says.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "wireproof/base/bytes.hpp"

namespace wireproof {

/// LINKTYPE_USER0: the writer and the reader of the file agree on its meaning.
inline constexpr std::uint16_t link_type_user0 = 147;

/// Packets that begin with their IP header.
inline constexpr std::uint16_t link_type_raw = 101;

class PcapngFile {
public:
    /// `application` is the name of the program that writes the file.
    explicit PcapngFile(std::string_view application);

    /// Adds an interface. Packets name it by the number returned, which counts from 0.
    std::uint32_t add_interface(std::string_view name, std::uint16_t link_type);

    struct Packet {
        std::uint32_t interface = 0;
        std::uint64_t nanoseconds = 0;
        ConstBytes bytes;
        std::string_view comment = {};  // none if empty
    };
    void add(const Packet& packet);

    /// All bytes that were added and not taken.
    ConstBytes bytes() const { return file_; }
    /// Returns the bytes that were added since the last call, for a file that is written while it
    /// grows.
    std::vector<std::byte> take() { return std::exchange(file_, {}); }

private:
    void begin(std::uint32_t type);
    void end();
    void put(std::uint64_t value, std::size_t size);
    void put(ConstBytes bytes);
    void put_option(std::uint16_t code, std::string_view text);
    void pad();

    std::vector<std::byte> file_;
    std::size_t block_at_ = 0;  // start of the block that is being written
    std::uint32_t interfaces_ = 0;
};

}  // namespace wireproof
