#include "wireproof/app/capture/link_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::capture {
namespace {

// The link types of tcpdump.org's list that are read.
constexpr std::uint16_t link_null = 0;
constexpr std::uint16_t link_ppp = 9;
constexpr std::uint16_t link_raw_bsd = 12;  // the number of RAW on some systems
constexpr std::uint16_t link_raw_openbsd = 14;
constexpr std::uint16_t link_ppp_hdlc = 50;
constexpr std::uint16_t link_raw = 101;
constexpr std::uint16_t link_c_hdlc = 104;
constexpr std::uint16_t link_loop = 108;
constexpr std::uint16_t link_enc = 109;
constexpr std::uint16_t link_sll = 113;
constexpr std::uint16_t link_ipv4 = 228;
constexpr std::uint16_t link_ipv6 = 229;
constexpr std::uint16_t link_sll2 = 276;

constexpr std::uint16_t type_ipv4 = 0x0800;
constexpr std::uint16_t type_ipv6 = 0x86DD;
constexpr std::uint16_t type_bridged = 0x6558;  // content is an Ethernet frame
constexpr std::uint16_t type_erspan_2 = 0x88BE;
constexpr std::uint16_t type_erspan_3 = 0x22EB;
constexpr std::uint16_t type_mpls = 0x8847;
constexpr std::uint16_t type_mpls_multicast = 0x8848;
constexpr std::uint16_t type_pppoe = 0x8864;
constexpr std::uint16_t type_rocev1 = 0x8915;
constexpr std::uint16_t type_macsec = 0x88E5;
constexpr std::uint16_t type_nsh = 0x894F;
constexpr std::array<std::uint16_t, 4> types_vlan = {0x8100, 0x88A8, 0x9100, 0x9200};

constexpr unsigned protocol_ipv4 = 4;
constexpr unsigned protocol_udp = 17;
constexpr unsigned protocol_ipv6 = 41;
constexpr unsigned protocol_gre = 47;
constexpr unsigned protocol_esp = 50;
constexpr unsigned protocol_ah = 51;
constexpr unsigned protocol_etherip = 97;
constexpr unsigned protocol_l2tp = 115;
constexpr unsigned protocol_mpls = 137;

constexpr std::uint16_t port_vxlan = 4789;
constexpr std::uint16_t port_vxlan_linux = 8472;  // of Linux, from the time before the standard
constexpr std::uint16_t port_vxlan_gpe = 4790;
constexpr std::uint16_t port_geneve = 6081;
constexpr std::uint16_t port_mpls = 6635;

constexpr auto cut_too_early = "the snap length, which ends before the UDP header";

constexpr std::size_t ethernet_addresses = 12;
constexpr std::size_t ipv4_least = 20;
constexpr std::size_t ipv6_size = 40;
constexpr std::size_t udp_size = 8;

// 0 after the end.
unsigned byte_at(ConstBytes bytes, std::size_t at) {
    return at < bytes.size() ? std::to_integer<unsigned>(bytes[at]) : 0;
}

std::uint16_t pair_at(ConstBytes bytes, std::size_t at) {
    return static_cast<std::uint16_t>(byte_at(bytes, at) << 8 | byte_at(bytes, at + 1));
}

std::uint32_t triple_at(ConstBytes bytes, std::size_t at) {
    return std::uint32_t{pair_at(bytes, at)} << 8 | byte_at(bytes, at + 2);
}

bool is_vlan(std::uint16_t type) {
    return std::ranges::find(types_vlan, type) != types_vlan.end();
}

bool is_read(std::uint16_t type) {
    return type == type_ipv4 || type == type_ipv6 || is_vlan(type);
}

ConstBytes behind(ConstBytes bytes, std::size_t size) {
    return bytes.subspan(std::min(size, bytes.size()));
}

/// Goes from header to header. Each function takes the bytes that start with its header.
class Opener {
public:
    explicit Opener(bool cut) : cut_(cut) {}

    void on_link(std::uint16_t link_type, ConstBytes bytes);
    FrameContent take() { return std::move(found_); }

private:
    // Headers nested deeper than this come from damage or an attack, not from a network.
    static constexpr int depth_max = 16;

    bool too_deep();
    void on_ethernet(ConstBytes bytes);
    void on_type(std::uint16_t type, ConstBytes bytes);
    void on_family(ConstBytes bytes);
    void on_ppp(ConstBytes bytes);
    void on_mpls(ConstBytes bytes);
    void on_ip(ConstBytes bytes);
    void on_ipv4(ConstBytes bytes);
    void on_ipv6(ConstBytes bytes);
    void on_protocol(unsigned protocol, ConstBytes ip, std::size_t header_size);
    void on_udp(ConstBytes ip, std::size_t header_size);
    void on_gre(ConstBytes bytes);
    void on_vxlan(ConstBytes bytes, bool names_content);
    void on_geneve(ConstBytes bytes);

    void hidden_by(std::string what) { found_.unread = std::move(what); }
    void enter(const std::string& network) {
        found_.network += found_.network.empty() ? network : ", " + network;
    }

    bool cut_;
    int depth_ = 0;
    bool in_fragment_ = false;     // the datagram continues in other fragments
    bool has_extensions_ = false;  // of IPv6
    FrameContent found_;
};

void Opener::on_link(std::uint16_t link_type, ConstBytes bytes) {
    switch (link_type) {
        case link_type_ethernet: return on_ethernet(bytes);
        case link_null:
        case link_loop: return on_family(bytes);
        case link_ppp:
        case link_ppp_hdlc: return on_ppp(bytes);
        case link_c_hdlc: return on_type(pair_at(bytes, 2), behind(bytes, 4));
        case link_enc: return on_ip(behind(bytes, 12));
        case link_raw_bsd:
        case link_raw_openbsd:
        case link_raw:
        case link_ipv4:
        case link_ipv6: return on_ip(bytes);
        case link_sll:
            found_.place = pair_at(bytes, 0);
            return on_type(pair_at(bytes, 14), behind(bytes, 16));
        case link_sll2:
            found_.place = std::uint64_t{pair_at(bytes, 4)} << 24 |
                           std::uint64_t{pair_at(bytes, 6)} << 8 | byte_at(bytes, 10);
            return on_type(pair_at(bytes, 0), behind(bytes, 20));
        default: break;
    }
    const std::string_view name = link_type_name(link_type);
    hidden_by(
        fmt::format("link type {}{}", link_type, name.empty() ? "" : fmt::format(" ({})", name)));
}

bool Opener::too_deep() {
    if (++depth_ <= depth_max) return false;
    hidden_by("too many headers within each other");
    return true;
}

void Opener::on_ethernet(ConstBytes bytes) {
    if (bytes.size() < ethernet_addresses + 2) return;
    on_type(pair_at(bytes, ethernet_addresses), bytes.subspan(ethernet_addresses + 2));
}

void Opener::on_type(std::uint16_t type, ConstBytes bytes) {
    if (too_deep()) return;
    if (is_vlan(type)) return on_type(pair_at(bytes, 2), behind(bytes, 4));
    switch (type) {
        case type_ipv4:
        case type_ipv6: return on_ip(bytes);
        case type_bridged: return on_ethernet(bytes);
        case type_mpls:
        case type_mpls_multicast: return on_mpls(bytes);
        case type_pppoe: return on_ppp(behind(bytes, 6));
        case type_rocev1: return hidden_by("RoCEv1 (Ethernet type 8915)");
        case type_macsec: return hidden_by("MACsec");
        case type_nsh: return hidden_by("NSH");
        default: return;
    }
}

// The address family, in the byte order of the system that captured, or of the network.
void Opener::on_family(ConstBytes bytes) {
    constexpr std::array<std::uint32_t, 5> families = {2, 10, 24, 28, 30};
    if (bytes.size() < 4) return;
    const auto word = load_le<std::uint32_t>(bytes.first<4>());
    const std::uint32_t other_way = std::uint32_t{pair_at(bytes, 0)} << 16 | pair_at(bytes, 2);
    for (const std::uint32_t family : families) {
        if (word == family || other_way == family) return on_ip(bytes.subspan(4));
    }
}

void Opener::on_ppp(ConstBytes bytes) {
    if (pair_at(bytes, 0) == 0xFF03) bytes = behind(bytes, 2);  // address and control
    const std::uint16_t protocol = pair_at(bytes, 0);
    if (protocol == 0x0021 || protocol == 0x0057) on_ip(behind(bytes, 2));
    if (protocol == 0x0281) on_mpls(behind(bytes, 2));
}

// An MPLS label does not name its content: the first bits after the last label must show it.
void Opener::on_mpls(ConstBytes bytes) {
    while (bytes.size() >= 4) {
        const bool last = (byte_at(bytes, 2) & 1) != 0;
        bytes = bytes.subspan(4);
        if (!last) continue;
        const unsigned version = byte_at(bytes, 0) >> 4;
        if (version == 4 || version == 6) return on_ip(bytes);
        // A pseudowire, with or without its control word, which begins with zeros.
        const bool frame = version != 0 || is_read(pair_at(bytes, ethernet_addresses));
        return on_type(type_bridged, frame ? bytes : behind(bytes, 4));
    }
}

void Opener::on_ip(ConstBytes bytes) {
    if (too_deep()) return;
    in_fragment_ = has_extensions_ = false;
    if (cut_ && bytes.size() < ipv4_least) return hidden_by(cut_too_early);
    const unsigned version = byte_at(bytes, 0) >> 4;
    if (version == 4) on_ipv4(bytes);
    if (version == 6) on_ipv6(bytes);
}

void Opener::on_ipv4(ConstBytes bytes) {
    const std::size_t header_size = 4 * std::size_t{byte_at(bytes, 0) & 15};
    if (header_size < ipv4_least) return;
    const unsigned protocol = byte_at(bytes, 9);
    const unsigned fragment = pair_at(bytes, 6);
    in_fragment_ = (fragment & 0x2000) != 0;
    if ((fragment & 0x1FFF) != 0) {
        if (protocol == protocol_udp) hidden_by("IP fragments behind their first");
        return;
    }
    on_protocol(protocol, bytes, header_size);
}

void Opener::on_ipv6(ConstBytes bytes) {
    constexpr unsigned hop_by_hop = 0;
    constexpr unsigned routing = 43;
    constexpr unsigned fragment = 44;
    constexpr unsigned destination = 60;
    unsigned protocol = byte_at(bytes, 6);
    std::size_t at = ipv6_size;
    while (at < bytes.size()) {
        if (protocol == fragment) {
            const unsigned place = pair_at(bytes, at + 2);
            in_fragment_ = (place & 1) != 0;
            if ((place & 0xFFF8) != 0) {
                if (byte_at(bytes, at) == protocol_udp)
                    hidden_by("IP fragments behind their first");
                return;
            }
        } else if (protocol != hop_by_hop && protocol != routing && protocol != destination) {
            break;
        }
        const std::size_t size = protocol == fragment ? 8 : 8 * (byte_at(bytes, at + 1) + 1);
        protocol = byte_at(bytes, at);
        at += size;
        has_extensions_ = true;
    }
    on_protocol(protocol, bytes, at);
}

void Opener::on_protocol(unsigned protocol, ConstBytes ip, std::size_t header_size) {
    const ConstBytes content = behind(ip, header_size);
    if (in_fragment_ && protocol != protocol_udp) {
        if (protocol == protocol_gre || protocol == protocol_ipv4 || protocol == protocol_ipv6) {
            hidden_by("tunnels in fragments");
        }
        return;
    }
    switch (protocol) {
        case protocol_udp: return on_udp(ip, header_size);
        case protocol_ipv4:
        case protocol_ipv6: return on_ip(content);
        case protocol_gre: return on_gre(content);
        case protocol_etherip: return on_type(type_bridged, behind(content, 2));
        case protocol_mpls: return on_mpls(content);
        case protocol_esp: return hidden_by("ESP");
        case protocol_ah: return hidden_by("AH");
        case protocol_l2tp: return hidden_by("L2TP");
        default: return;
    }
}

void Opener::on_udp(ConstBytes ip, std::size_t header_size) {
    const ConstBytes udp = behind(ip, header_size);
    if (udp.size() < 4) {
        if (cut_) hidden_by(cut_too_early);
        return;
    }
    const std::uint16_t port = pair_at(udp, 2);
    if (port == rocev2_port) {
        if (has_extensions_) return hidden_by("IPv6 extension headers before RoCEv2");
        found_.ip = ip;
        return;
    }
    const bool tunnel = port == port_vxlan || port == port_vxlan_linux || port == port_vxlan_gpe ||
                        port == port_geneve || port == port_mpls;
    if (!tunnel) return;
    if (in_fragment_) return hidden_by("tunnels in fragments");
    const ConstBytes content = behind(udp, udp_size);
    if (port == port_geneve) return on_geneve(content);
    if (port == port_mpls) return on_mpls(content);
    on_vxlan(content, port == port_vxlan_gpe);
}

//   0       flags: C 1 | reserved 1 | K 1 | S 1 | reserved 9 | version 3
//   2       type, then checksum, key and sequence number, 4 bytes each, as the flags say
void Opener::on_gre(ConstBytes bytes) {
    constexpr unsigned checksum = 0x8000;
    constexpr unsigned routing = 0x4000;
    constexpr unsigned key = 0x2000;
    constexpr unsigned sequence = 0x1000;
    const unsigned flags = pair_at(bytes, 0);
    const std::uint16_t type = pair_at(bytes, 2);
    if ((flags & (7 | routing)) != 0) return hidden_by("GRE of another version");
    std::size_t size = 4;
    if ((flags & checksum) != 0) size += 4;
    if ((flags & key) != 0) {
        enter(fmt::format("gre {}",
                          std::uint32_t{pair_at(bytes, size)} << 16 | pair_at(bytes, size + 2)));
        size += 4;
    }
    if ((flags & sequence) != 0) size += 4;
    const ConstBytes content = behind(bytes, size);
    // Copies of frames from a switch. The number of their session is not a network.
    if (type == type_erspan_2) {
        return on_type(type_bridged, behind(content, (flags & sequence) != 0 ? 8 : 0));
    }
    if (type == type_erspan_3) {
        return on_type(type_bridged, behind(content, (byte_at(content, 11) & 1) != 0 ? 20 : 12));
    }
    constexpr std::array<std::uint16_t, 5> known = {type_ipv4, type_ipv6, type_bridged, type_mpls,
                                                    type_mpls_multicast};
    if (std::ranges::find(known, type) == known.end()) {
        return hidden_by(fmt::format("GRE of type {:04x}", type));
    }
    on_type(type, content);
}

//   0  flags (P: the next protocol is named)    3  next protocol    4 … 6  network
void Opener::on_vxlan(ConstBytes bytes, bool names_content) {
    constexpr unsigned ipv4 = 1;
    constexpr unsigned ipv6 = 2;
    constexpr unsigned ethernet = 3;
    enter(fmt::format("vxlan {}", triple_at(bytes, 4)));
    const bool named = names_content && (byte_at(bytes, 0) & 4) != 0;
    const unsigned content = named ? byte_at(bytes, 3) : ethernet;
    if (content == ipv4 || content == ipv6) return on_ip(behind(bytes, 8));
    if (content == ethernet) return on_type(type_bridged, behind(bytes, 8));
    hidden_by(fmt::format("VXLAN of protocol {}", content));
}

//   0  version 2 | words of options 6    2  type    4 … 6  network
void Opener::on_geneve(ConstBytes bytes) {
    enter(fmt::format("geneve {}", triple_at(bytes, 4)));
    on_type(pair_at(bytes, 2), behind(bytes, 8 + 4 * std::size_t{byte_at(bytes, 0) & 63}));
}

}  // namespace

FrameContent open_frame(const CapturedPacket& frame) {
    Opener opener(frame.bytes.size() < frame.length);
    opener.on_link(frame.link_type, frame.bytes);
    FrameContent found = opener.take();
    if (found.ip.empty()) found.network.clear();
    return found;
}

std::string_view link_type_name(std::uint16_t link_type) {
    static constexpr auto names = std::to_array<std::pair<std::uint16_t, std::string_view>>(
        {{0, "NULL"},
         {1, "ETHERNET"},
         {6, "IEEE802_5"},
         {7, "ARCNET_BSD"},
         {8, "SLIP"},
         {9, "PPP"},
         {10, "FDDI"},
         {50, "PPP_HDLC"},
         {51, "PPP_ETHER"},
         {100, "ATM_RFC1483"},
         {101, "RAW"},
         {104, "C_HDLC"},
         {105, "IEEE802_11"},
         {107, "FRELAY"},
         {108, "LOOP"},
         {109, "ENC"},
         {113, "LINUX_SLL"},
         {117, "PFLOG"},
         {119, "IEEE802_11_PRISM"},
         {122, "IP_OVER_FC"},
         {127, "IEEE802_11_RADIOTAP"},
         {147, "USER0"},
         {189, "USB_LINUX"},
         {192, "PPI"},
         {195, "IEEE802_15_4_WITHFCS"},
         {197, "ERF"},
         {201, "BLUETOOTH_HCI_H4_WITH_PHDR"},
         {220, "USB_LINUX_MMAPPED"},
         {224, "FC_2"},
         {225, "FC_2_WITH_FRAME_DELIMS"},
         {226, "IPNET"},
         {228, "IPV4"},
         {229, "IPV6"},
         {230, "IEEE802_15_4_NOFCS"},
         {231, "DBUS"},
         {239, "NFLOG"},
         {242, "IPOIB"},
         {247, "INFINIBAND"},
         {249, "USBPCAP"},
         {253, "NETLINK"},
         {258, "PKTAP"},
         {274, "ETHERNET_MPACKET"},
         {276, "LINUX_SLL2"}});
    const auto* const known =
        std::ranges::find(names, link_type, &std::pair<std::uint16_t, std::string_view>::first);
    return known == names.end() ? "" : known->second;
}

}  // namespace wireproof::capture
