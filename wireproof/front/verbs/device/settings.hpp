// The user's settings. They come from environment variables, from a file of TOML that one variable
// names, or from options of `wireproof verbs`. One table has the three names of each setting. All
// code that reads settings uses this table. A program with raised privileges reads no settings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "wireproof/base/expected.hpp"
#include "wireproof/front/verbs/faults/fault_script.hpp"
#include "wireproof/os/address.hpp"
#include "wireproof/proto/ib/transport/congestion_choice.hpp"

namespace wireproof::verbs {

/// The kind of network that the port reports. On InfiniBand, programs may name hosts by LIDs.
enum class Link : std::uint8_t { ethernet, infiniband };

/// What a poll of a completion queue does if it finds nothing and would wait.
enum class EmptyPoll : std::uint8_t { sleeps, spins };

struct Settings {
    /// The address of an interface of this host. If it is empty, the device takes the first of
    /// 127.0.0.1, 127.0.0.2, … that no other process has.
    std::optional<Address> address = {};
    /// The seed of numbers that a peer should not be able to guess. If it is empty, the system's
    /// random source gives the seed.
    std::optional<std::uint64_t> seed = {};
    Link link = Link::ethernet;
    /// The requested size of the socket's buffer, in bytes. The kernel may grant less.
    int receive_buffer = 4 << 20;
    /// With processes of this host and this user.
    bool shared_memory = true;
    /// Of RC queue pairs.
    proto::ib::CongestionChoice congestion = {};
    EmptyPoll empty_poll = EmptyPoll::sleeps;
    /// A file (pcapng) for the packets that the device sends and receives. Empty: no file.
    std::string packet_log = {};
    FaultScript faults = {};
};

struct Setting {
    const char* option;    // of `wireproof verbs`: "--seed"
    const char* variable;  // of the environment
    const char* key;       // of the file
    const char* value;     // for the help text; "": the option has no value and means 1
    const char* help;
    bool names_file;
    /// The error does not name the place of the text.
    Expected<void> (*read)(Settings& into, std::string_view text);
    const char* choices = "";  // the words that `read` accepts, with commas; "": any
};

/// In the order in which they must be read.
std::span<const Setting> all_settings();

/// The environment variable that names the file. Settings in the environment override the file.
inline constexpr const char* file_variable = "WIREPROOF_VERBS_CONFIG";

/// The text of an environment variable. It is empty if the variable is not set or has no text; then
/// it sets nothing.
using Variables = std::string_view (*)(const char* name);

/// An error is one line. It begins with the variable, or with the file and the place in it.
Expected<Settings> settings_of(Variables variable);
/// The settings of this process. A process with raised privileges reads none.
Expected<Settings> settings_of_environment();

/// Reads the keys in a file's text into `settings`. `name` is the name of the file, for errors.
Expected<void> read_settings_file(std::string_view text, const std::string& name,
                                  Settings& settings);

/// The bytes of a file, up to one megabyte. The error gives the reason, without the file's name.
Expected<std::string> file_text(const std::string& path);

}  // namespace wireproof::verbs
