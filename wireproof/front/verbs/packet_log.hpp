// The packets of the device in a capture file (pcapng), each with what was done to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/base/pcapng.hpp"
#include "wireproof/wire/udp/address.hpp"

namespace wireproof::verbs {

class PacketLog {
public:
    /// Makes the file, empty if there was one. `now` is the time of the instants to come.
    static Expected<PacketLog> create(const std::string& path, Instant now);

    PacketLog(PacketLog&& other) noexcept;
    PacketLog& operator=(PacketLog&&) = delete;
    ~PacketLog();

    struct Entry {
        Address from;
        Address to;
        ConstBytes packet;                   // from base header to pad
        std::optional<std::size_t> flipped;  // a bit, behind the ICRC
        std::string mark;                    // what was done to it; empty: nothing
    };
    void add(Instant now, const Entry& entry);
    /// Writes what was added. A file that cannot be written (a full disk) ends there.
    void flush();

private:
    PacketLog(int file, std::int64_t offset);

    int file_;
    std::int64_t offset_;  // from our instants to the time since 1970, nanoseconds
    PcapngFile pcapng_;
    std::vector<std::byte> datagram_;
};

}  // namespace wireproof::verbs
