// Writes the packets of the device to a capture file (pcapng), each with the faults that it met.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/base/pcapng.hpp"
#include "wireproof/os/address.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::verbs {

class PacketLog {
public:
    /// Creates the file or empties it. `now` is the present time on the clock of the later calls.
    static Expected<PacketLog> create(const std::string& path, Instant now);

    PacketLog(PacketLog&& other) = default;
    PacketLog& operator=(PacketLog&&) = delete;
    ~PacketLog();

    struct Entry {
        Address from;
        Address to;
        ConstBytes packet;                   // from the base header to the padding
        std::optional<std::size_t> flipped;  // a bit that was flipped after the ICRC
        std::string mark;                    // the faults that the packet met; empty: none
    };
    void add(Instant now, const Entry& entry);
    /// Writes the packets that were added. If a write fails, for example because the disk is full,
    /// the log ends there.
    void flush();

private:
    PacketLog(Descriptor file, std::int64_t offset);

    Descriptor file_;
    std::int64_t offset_;  // nanoseconds from our instants to the time since 1970
    PcapngFile pcapng_;
    std::vector<std::byte> datagram_;
};

}  // namespace wireproof::verbs
