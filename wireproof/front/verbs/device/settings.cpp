#include "wireproof/front/verbs/device/settings.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::verbs {
namespace {

std::string in_quotes(std::string_view text) {
    return "'" + std::string(text) + "'";
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stopped != end) return std::nullopt;
    return number;
}

Expected<void> read_address(Settings& into, std::string_view text) {
    const std::string host(text);
    auto address = Address::parse_host(text);
    if (!address) return tl::unexpected(address.error());
    address->port = rocev2_port;
    if (const auto why = address->why_no_peer(); !why.empty()) {
        return unexpected(host + " " + std::string(why));
    }
    into.address = *address;
    return {};
}

Expected<void> read_link(Settings& into, std::string_view text) {
    if (text != "ethernet" && text != "infiniband") {
        return unexpected(in_quotes(text) + " is neither ethernet nor infiniband");
    }
    into.link = text == "ethernet" ? Link::ethernet : Link::infiniband;
    return {};
}

Expected<void> read_seed(Settings& into, std::string_view text) {
    const auto seed = number_in<std::uint64_t>(text);
    if (!seed) return unexpected(in_quotes(text) + " is not a number of at most 64 bits");
    into.seed = *seed;
    return {};
}

Expected<void> read_receive_buffer(Settings& into, std::string_view text) {
    constexpr int least = 4096;
    constexpr int most = 1 << 30;
    const auto bytes = number_in<int>(text);
    if (!bytes || *bytes < least || *bytes > most) {
        return unexpected(in_quotes(text) + " is not a number of bytes, " + std::to_string(least) +
                          " to " + std::to_string(most));
    }
    into.receive_buffer = *bytes;
    return {};
}

Expected<void> read_no_shm(Settings& into, std::string_view text) {
    if (text != "0" && text != "1") return unexpected(in_quotes(text) + " is neither 0 nor 1");
    into.shared_memory = text == "0";
    return {};
}

Expected<void> read_congestion(Settings& into, std::string_view text) {
    using With = proto::ib::CongestionChoice::With;
    using proto::ib::Congestion;
    if (text == "auto") {
        into.congestion = {};
    } else if (text == "off") {
        into.congestion.with = With::none;
    } else if (text == "loss") {
        into.congestion = {With::all, Congestion::by_loss};
    } else if (text == "on" || text == "path") {
        into.congestion = {With::all, Congestion::by_path};
    } else {
        return unexpected(in_quotes(text) + " is not one of auto, on, off, loss, path");
    }
    return {};
}

Expected<void> read_poll(Settings& into, std::string_view text) {
    if (text != "sleep" && text != "spin") {
        return unexpected(in_quotes(text) + " is neither sleep nor spin");
    }
    into.empty_poll = text == "sleep" ? EmptyPoll::sleeps : EmptyPoll::spins;
    return {};
}

Expected<void> read_faults(Settings& into, std::string_view text) {
    const std::string file(text);
    const auto content = file_text(file);
    if (!content) return unexpected(file + ": " + content.error().message);
    const auto script = read_fault_script(*content, file);
    if (!script) return tl::unexpected(script.error());
    into.faults = *script;
    return {};
}

Expected<void> read_chance(double& into, std::string_view text) {
    const auto chance = number_in<double>(text);
    if (!chance || !(*chance >= 0 && *chance <= 1)) {
        return unexpected(in_quotes(text) + " is not a probability, 0 to 1");
    }
    into = *chance;
    return {};
}

Expected<void> read_loss(Settings& into, std::string_view text) {
    return read_chance(into.faults.sent.rates.loss, text);
}

Expected<void> read_damage(Settings& into, std::string_view text) {
    return read_chance(into.faults.sent.damage, text);
}

Expected<void> read_duplicate(Settings& into, std::string_view text) {
    return read_chance(into.faults.sent.rates.duplicate, text);
}

Expected<void> read_reorder(Settings& into, std::string_view text) {
    return read_chance(into.faults.sent.rates.reorder, text);
}

Expected<void> read_packet_log(Settings& into, std::string_view text) {
    into.packet_log = text;
    for (std::size_t at = 0; (at = into.packet_log.find("%p", at)) != std::string::npos;) {
        into.packet_log.replace(at, 2, std::to_string(::getpid()));
    }
    return {};
}

constexpr std::array table = {
    Setting{"--address", "WIREPROOF_VERBS_ADDRESS", "address", "A",
            "address of the device: of an interface of this host", false, read_address},
    Setting{"--link", "WIREPROOF_VERBS_LINK", "link", "KIND",
            "network that the port shows: ethernet, infiniband", false, read_link,
            "ethernet,infiniband"},
    Setting{"--seed", "WIREPROOF_VERBS_SEED", "seed", "N",
            "repeat faults, queue pair numbers, keys of memory", false, read_seed},
    Setting{"--receive-buffer", "WIREPROOF_VERBS_RECEIVE_BUFFER", "receive_buffer", "BYTES",
            "buffer wanted of the socket; the kernel may grant less", false, read_receive_buffer},
    Setting{"--no-shm", "WIREPROOF_VERBS_NO_SHM", "no_shm", "",
            "share no memory with other processes of this host", false, read_no_shm},
    Setting{"--congestion", "WIREPROOF_VERBS_CONGESTION", "congestion", "KIND",
            "control of RC: auto, on, off, loss, path", false, read_congestion,
            "auto,on,off,loss,path"},
    Setting{"--poll", "WIREPROOF_VERBS_POLL", "poll", "KIND",
            "what a poll of an empty queue may do: sleep, spin", false, read_poll, "sleep,spin"},
    // Before the probabilities: they override the file.
    Setting{"--faults", "WIREPROOF_VERBS_FAULTS", "faults", "FILE",
            "what is to go wrong, in TOML: share/doc/wireproof/guide/rdma/faults.md", true,
            read_faults},
    Setting{"--loss", "WIREPROOF_VERBS_LOSS", "loss", "P",
            "lose a packet that leaves: a probability, 0 to 1", false, read_loss},
    Setting{"--damage", "WIREPROOF_VERBS_DAMAGE", "damage", "P",
            "flip a bit of it, behind its ICRC", false, read_damage},
    Setting{"--duplicate", "WIREPROOF_VERBS_DUPLICATE", "duplicate", "P", "send it twice", false,
            read_duplicate},
    Setting{"--reorder", "WIREPROOF_VERBS_REORDER", "reorder", "P",
            "hold it back behind the next 1 to 8", false, read_reorder},
    Setting{"--pcapng", "WIREPROOF_VERBS_PCAPNG", "pcapng", "FILE",
            "log of packets, for wireproof inspect; %p: process", true, read_packet_log},
};

std::string_view variable_of_process(const char* name) {
    const char* const text = ::secure_getenv(name);
    return text == nullptr ? std::string_view() : text;
}

}  // namespace

std::span<const Setting> all_settings() {
    return table;
}

Expected<Settings> settings_of(Variables variable) {
    Settings settings;
    if (const std::string file(variable(file_variable)); !file.empty()) {
        const auto text = file_text(file);
        if (!text) {
            return unexpected(std::string(file_variable) + ": " + file + ": " +
                              text.error().message);
        }
        const auto read = read_settings_file(*text, file, settings);
        if (!read) return tl::unexpected(read.error());
    }
    for (const Setting& setting : table) {
        const std::string_view text = variable(setting.variable);
        if (text.empty()) continue;
        const auto read = setting.read(settings, text);
        if (!read) return unexpected(setting.variable + (": " + read.error().message));
    }
    return settings;
}

Expected<Settings> settings_of_environment() {
    return settings_of(&variable_of_process);
}

}  // namespace wireproof::verbs
