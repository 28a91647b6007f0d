// One line of text in memory that its owner has already: no text allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace wireproof::c {

/// Copies `text` and a 0 to `room`, which has `bytes` bytes. A text that is too long is cut between
/// two characters of UTF-8.
inline void put_text(std::string_view text, char* room, std::size_t bytes) {
    if (room == nullptr || bytes == 0) return;
    std::size_t length = text.size();
    if (length >= bytes) {
        length = bytes - 1;
        // The byte after the cut must not continue a character. A character has at most 4 bytes.
        const auto continues = [&] { return (static_cast<unsigned char>(text[length]) >> 6) == 2; };
        for (int i = 0; i < 3 && length > 0 && continues(); ++i) --length;
    }
    if (length > 0) std::memcpy(room, text.data(), length);
    room[length] = '\0';
}

class Text {
public:
    void set(std::string_view text) { put_text(text, bytes_.data(), bytes_.size()); }
    void clear() { bytes_[0] = '\0'; }
    const char* c_str() const { return bytes_.data(); }

private:
    std::array<char, 1024> bytes_{};
};

}  // namespace wireproof::c
