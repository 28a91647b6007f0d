// Escapes text for HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace wireproof::report {

/// Replaces the characters that could form a tag or end an attribute.
inline std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            default: out += c;
        }
    }
    return out;
}

}  // namespace wireproof::report
