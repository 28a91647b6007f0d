// Dissects frames with tshark, an implementation that shares no code with ours.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/pcap.hpp"
#include "wireproof/base/pcapng.hpp"

namespace wireproof::test {

/// Returns one line for each Ethernet frame: the fields in their order with spaces between them,
/// and then the complaints of tshark. The result is empty if there is no tshark. Over loopback, a
/// kernel that computes UDP checksums leaves them to hardware that does not exist, so they cannot
/// be checked.
inline std::optional<std::vector<std::string>> dissected(
    const std::vector<std::vector<std::byte>>& frames,
    std::initializer_list<std::string_view> fields, bool check_udp = true) {
    if (std::system("command -v tshark > /dev/null 2>&1") != 0) return std::nullopt;
    PcapngFile capture("wireproof");
    capture.add_interface("lo", link_type_ethernet);
    for (const auto& frame : frames) capture.add({.bytes = frame});
    const auto file = std::filesystem::temp_directory_path() /
                      ("wireproof-" + std::to_string(::getpid()) + ".pcapng");
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(capture.bytes().data()),
               static_cast<std::streamsize>(capture.bytes().size()));

    std::string command =
        "tshark -r " + file.string() +
        " -o ip.check_checksum:TRUE -o udp.check_checksum:" + (check_udp ? "TRUE" : "FALSE") +
        // tshark's heuristic takes some Sends for RPC and calls them malformed.
        " --disable-protocol rpcordma"
        " -T fields -E separator=/s -E occurrence=f";
    for (const std::string_view field : fields) command += " -e " + std::string(field);
    command += " -e _ws.malformed -e _ws.expert.message 2> /dev/null";
    std::string text;
    std::FILE* output = ::popen(command.c_str(), "r");
    EXPECT_NE(output, nullptr);
    if (output == nullptr) return std::nullopt;
    for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) {
        text.push_back(static_cast<char>(c));
    }
    EXPECT_EQ(::pclose(output), 0) << command;
    std::filesystem::remove(file);
    std::vector<std::string> lines;
    std::istringstream cut(text);
    for (std::string line; std::getline(cut, line);) {
        line.erase(line.find_last_not_of(' ') + 1);
        lines.push_back(line);
    }
    return lines;
}

}  // namespace wireproof::test
