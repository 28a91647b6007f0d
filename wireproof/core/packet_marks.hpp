// What the packet log of `wireproof verbs` says about its packets, for those who write and read it.
#pragma once

#include <string_view>

namespace wireproof {

/// The name of the program in a packet log.
inline constexpr std::string_view packet_log_application = "wireproof verbs";

/// The word of a lost packet in its comment. A comment is words, separated by ", ", and perhaps a
/// colon and the name of the packet.
inline constexpr std::string_view mark_lost = "lost";

constexpr bool says_lost(std::string_view comment) {
    comment = comment.substr(0, comment.find(':'));
    while (!comment.empty()) {
        const std::size_t end = comment.find(", ");
        if (comment.substr(0, end) == mark_lost) return true;
        if (end == std::string_view::npos) break;
        comment.remove_prefix(end + 2);
    }
    return false;
}

}  // namespace wireproof
