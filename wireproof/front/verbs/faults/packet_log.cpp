#include "wireproof/front/verbs/faults/packet_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "wireproof/core/packet_marks.hpp"
#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::verbs {
namespace {

constexpr std::size_t ipv4_size = 20;
constexpr std::size_t udp_size = 8;
constexpr std::byte udp{17};
constexpr std::byte hops{64};

void put_le(std::vector<std::byte>& to, std::size_t value, std::size_t size) {
    while (size-- > 0) to.push_back(static_cast<std::byte>(value >> 8 * size));
}

void put_host(std::vector<std::byte>& to, const Address& address, std::size_t size) {
    const auto host = std::as_bytes(std::span(address.host)).first(size);
    to.insert(to.end(), host.begin(), host.end());
}

std::size_t checksum_of(ConstBytes header) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < header.size(); i += 2) {
        sum += std::to_integer<std::size_t>(header[i]) << 8 |
               std::to_integer<std::size_t>(header[i + 1]);
    }
    while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
    return ~sum & 0xFFFF;
}

void put_ipv4(std::vector<std::byte>& to, const PacketLog::Entry& entry, std::size_t behind) {
    put_le(to, 0x4500, 2);
    put_le(to, ipv4_size + behind, 2);
    put_le(to, 0x0000'4000, 4);  // identification 0; do not fragment
    to.insert(to.end(), {hops, udp, std::byte{0}, std::byte{0}});
    put_host(to, entry.from, 4);
    put_host(to, entry.to, 4);
    const std::size_t sum = checksum_of(to);
    to[10] = static_cast<std::byte>(sum >> 8);
    to[11] = static_cast<std::byte>(sum);
}

void put_ipv6(std::vector<std::byte>& to, const PacketLog::Entry& entry, std::size_t behind) {
    put_le(to, 0x6000'0000, 4);
    put_le(to, behind, 2);
    to.insert(to.end(), {udp, hops});
    put_host(to, entry.from, 16);
    put_host(to, entry.to, 16);
}

/// The datagram as on the wire, with no UDP checksum.
void put_datagram(std::vector<std::byte>& to, const PacketLog::Entry& entry) {
    const std::size_t size = udp_size + entry.packet.size() + IcrcCover::icrc_size;
    to.clear();
    if (entry.from.family == Address::Family::ipv4) {
        put_ipv4(to, entry, size);
    } else {
        put_ipv6(to, entry, size);
    }
    put_le(to, entry.from.port, 2);
    put_le(to, entry.to.port, 2);
    put_le(to, size, 2);
    put_le(to, 0, 2);
    const std::size_t packet_at = to.size();
    to.insert(to.end(), entry.packet.begin(), entry.packet.end());
    to.resize(to.size() + IcrcCover::icrc_size);
    const IcrcCover cover({.from = entry.from, .to = entry.to, .packet = entry.packet.size()});
    store_le<std::uint32_t>(Bytes(to).last<IcrcCover::icrc_size>(), cover.icrc(entry.packet));
    if (entry.flipped) {
        to[packet_at + *entry.flipped / 8] ^= std::byte{1} << (*entry.flipped % 8);
    }
}

}  // namespace

Expected<PacketLog> PacketLog::create(const std::string& path, Instant now) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file.is_open()) return unexpected(path + ": " + std::strerror(errno));
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    const std::int64_t since_1970 = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    PacketLog log(std::move(file), since_1970 - now.since_start().nanoseconds());
    log.flush();
    return log;
}

PacketLog::PacketLog(Descriptor file, std::int64_t offset)
    : file_(std::move(file)), offset_(offset), pcapng_(packet_log_application) {
    pcapng_.add_interface("wireproof0", link_type_raw);
}

PacketLog::~PacketLog() {
    if (file_.is_open()) flush();
}

void PacketLog::add(Instant now, const Entry& entry) {
    if (!file_.is_open()) return;
    put_datagram(datagram_, entry);
    pcapng_.add(
        {.interface = 0,
         .nanoseconds = static_cast<std::uint64_t>(offset_ + now.since_start().nanoseconds()),
         .bytes = datagram_,
         .comment = entry.mark});
}

void PacketLog::flush() {
    const std::vector<std::byte> bytes = pcapng_.take();
    ConstBytes left = bytes;
    while (!left.empty() && file_.is_open()) {
        const ssize_t written = ::write(file_.handle(), left.data(), left.size());
        if (written > 0) {
            left = left.subspan(static_cast<std::size_t>(written));
        } else if (errno != EINTR) {
            file_.close();
        }
    }
}

}  // namespace wireproof::verbs
