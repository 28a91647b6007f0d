// Converts texts to addresses and back. The function inet_aton also accepts 127.1 for 127.0.0.1;
// this parser does not.
#include "wireproof/os/address.hpp"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "wireproof/base/random.hpp"

namespace wireproof {
namespace {

template <class T>
std::optional<T> decimal(std::string_view text) {
    T value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) return std::nullopt;
    return value;
}

/// False also if a zero byte would end the text for inet_pton.
bool read_bytes(int family, std::string_view text, Address& address) {
    const std::string whole(text);
    return text.find('\0') == text.npos &&
           ::inet_pton(family, whole.c_str(), address.host.data()) == 1;
}

bool read_ipv4(std::string_view text, Address& address) {
    address.family = Address::Family::ipv4;
    return read_bytes(AF_INET, text, address);
}

// Of an IPv4 address in IPv6 form.
constexpr std::array<std::uint8_t, 12> mapped_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

bool is_mapped(const Address& address) {
    return address.family == Address::Family::ipv6 &&
           std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.host.begin());
}

Expected<void> read_ipv6(std::string_view text, Address& address) {
    address.family = Address::Family::ipv6;
    const std::size_t percent = std::min(text.find('%'), text.size());
    if (!read_bytes(AF_INET6, text.substr(0, percent), address)) {
        return unexpected("not a numeric IPv6 address");
    }
    if (percent < text.size()) {
        const std::string scope(text.substr(percent + 1));
        address.scope = decimal<std::uint32_t>(scope).value_or(::if_nametoindex(scope.c_str()));
        if (address.scope == 0) return unexpected("no interface \"" + scope + "\"");
    } else if (address.is_link_local()) {
        return unexpected("a link-local address names its interface, as in [fe80::1%eth0]:7000");
    }
    return {};
}

Expected<Address> read_host(std::string_view text, bool ipv6) {
    Address address;
    if (ipv6) {
        if (auto read = read_ipv6(text, address); !read) return tl::unexpected(read.error());
    } else if (!read_ipv4(text, address)) {
        return unexpected("not a numeric IPv4 address");
    }
    return address;
}

Expected<Address> read(std::string_view text) {
    const auto parts = split_host(text);
    if (!parts) return tl::unexpected(parts.error());
    if (!parts->bracketed && parts->host.find(':') != text.npos) {
        return unexpected("an IPv6 address stands in brackets, as in [::1]:7000");
    }
    if (parts->rest.empty()) return unexpected("an address without port: add one, as in :7000");
    if (parts->rest.front() != ':') return unexpected("a colon is missing before the port");
    const auto port = decimal<std::uint16_t>(parts->rest.substr(1));
    if (!port) return unexpected("the port is not a number from 0 to 65535");
    auto address = read_host(parts->host, parts->bracketed);
    if (address) address->port = *port;
    return address;
}

Expected<Address> or_bad(Expected<Address> address, std::string_view text) {
    return std::move(address).map_error([text](const Error& error) {
        return Error{"bad address \"" + std::string(text) + "\": " + error.message};
    });
}

}  // namespace

Expected<HostText> split_host(std::string_view text) {
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == text.npos) return unexpected("a closing bracket is missing");
        return HostText{text.substr(1, close - 1), text.substr(close + 1), true};
    }
    const std::size_t colon = std::min(text.find(':'), text.size());
    if (text.find(':', colon + 1) != text.npos) return HostText{text, {}};
    return HostText{text.substr(0, colon), text.substr(colon)};
}

Expected<Address> Address::parse(std::string_view text) {
    return or_bad(read(text), text);
}

Expected<Address> Address::parse_host(std::string_view text) {
    return or_bad(read_host(text, text.find(':') != text.npos), text);
}

std::string_view Address::why_no_peer() const {
    const std::string_view why = why_no_host();
    return why.empty() && port == 0 ? "has port 0, which no peer can have" : why;
}

std::string_view Address::why_no_host() const {
    const auto all_are = [this](std::uint8_t byte, std::size_t first, std::size_t size) {
        const auto* const begin = host.data() + first;
        return std::all_of(begin, begin + size, [byte](std::uint8_t b) { return b == byte; });
    };
    const bool v4 = family == Family::ipv4;
    if (family == Family::none) return "is no address";
    if (is_any()) return "means every address of a host, and names no peer";
    if (v4 && all_are(0xFF, 0, 4)) return "is a broadcast address, and no peer's";
    if (v4 ? host[0] >= 224 && host[0] < 240 : host[0] == 0xFF) {
        return "is a multicast address, and no peer's";
    }
    if (v4 && (host[0] == 0 || host[0] >= 240)) return "is a reserved address, and no peer's";
    if (is_mapped(*this)) {
        return "is an IPv4 address in IPv6 form: write it as IPv4";
    }
    return {};
}

bool Address::is_link_local() const {
    if (family == Family::ipv4) return host[0] == 169 && host[1] == 254;
    return family == Family::ipv6 && host[0] == 0xFE && (host[1] & 0xC0) == 0x80;
}

bool Address::is_loopback() const {
    const Address own = in_own_form();
    if (own.family == Family::ipv4) return own.host[0] == 127;
    constexpr std::array<std::uint8_t, 16> one = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    return own.host == one;
}

Address Address::in_own_form() const {
    if (!is_mapped(*this)) return *this;
    Address own{.family = Family::ipv4, .port = port};
    std::copy(host.begin() + mapped_prefix.size(), host.end(), own.host.begin());
    return own;
}

std::string Address::host_text() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int kind = family == Family::ipv4 ? AF_INET : AF_INET6;
    const std::string numeric =
        ::inet_ntop(kind, host.data(), text.data(), static_cast<socklen_t>(text.size()));
    return scope == 0 ? numeric : numeric + "%" + std::to_string(scope);
}

std::string Address::to_string() const {
    const std::string tail = ":" + std::to_string(port);
    switch (family) {
        case Family::none: return "no address";
        case Family::ipv4: return host_text() + tail;
        case Family::ipv6: break;
    }
    return "[" + host_text() + "]" + tail;
}

std::size_t AddressHash::operator()(const Address& address) const {
    std::uint64_t hash = (std::uint64_t{address.scope} << 16) | address.port;
    for (std::size_t half = 0; half < 2; ++half) {
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < 8; ++i) word = (word << 8) | address.host[half * 8 + i];
        hash = mix64(hash ^ word);
    }
    return hash;
}

}  // namespace wireproof
