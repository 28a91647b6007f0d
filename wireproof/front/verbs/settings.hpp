// What a user chooses: by environment variables, by a file of TOML that one of them names, or by
// options of `wireproof verbs`. One table has the names of each; what reads settings goes through
// it. A program with raised privileges reads none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "wireproof/base/expected.hpp"
#include "wireproof/front/verbs/fault_script.hpp"
#include "wireproof/wire/udp/address.hpp"

namespace wireproof::verbs {

/// What the port says that it is connected to. On InfiniBand programs may name hosts by LIDs.
enum class Link : std::uint8_t { ethernet, infiniband };

struct Settings {
    /// Of an interface of this host. Nothing: the first of 127.0.0.1, 127.0.0.2, … that no other
    /// process has.
    std::optional<Address> address = {};
    /// Of numbers that a peer should not be able to guess. Nothing: the system's random source.
    std::optional<std::uint64_t> seed = {};
    Link link = Link::ethernet;
    /// Bytes wanted of the socket; the kernel may grant less.
    int receive_buffer = 4 << 20;
    /// With processes of this host and user.
    bool shared_memory = true;
    /// A file (pcapng) of the packets that leave and come; empty: none.
    std::string packet_log = {};
    FaultScript faults = {};
};

struct Setting {
    const char* option;    // of `wireproof verbs`: "--seed"
    const char* variable;  // of the environment
    const char* key;       // of the file
    const char* value;     // what stands for its value in a help text; "": none, it means 1
    const char* help;
    bool names_file;
    /// The error does not say where the text stood.
    Expected<void> (*read)(Settings& into, std::string_view text);
};

/// In the order in which they are to be read.
std::span<const Setting> all_settings();

/// The environment variable that names the file. What the environment says itself wins over it.
inline constexpr const char* file_variable = "WIREPROOF_VERBS_CONFIG";

/// The text of an environment variable; empty: it is not set, which chooses nothing.
using Variables = std::string_view (*)(const char* name);

/// Errors are one line that begins with the variable, or with the file and the place in it.
Expected<Settings> settings_of(Variables variable);
/// The same of this process. Nothing is read where it has raised privileges.
Expected<Settings> settings_of_environment();

/// Reads the keys of a file's text into `settings`. `name` is the file's, for errors.
Expected<void> read_settings_file(std::string_view text, const std::string& name,
                                  Settings& settings);

/// A file's bytes, at most a megabyte of them; an error says why not, without the name.
Expected<std::string> file_text(const std::string& path);

}  // namespace wireproof::verbs
