// Text as HTML and SVG take it.
#pragma once

#include <string>
#include <string_view>

namespace wireproof::report {

/// What a tag or an attribute could be made of is spelt out.
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
