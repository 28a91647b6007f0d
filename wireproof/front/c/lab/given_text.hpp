// Texts that the caller frees.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

namespace wireproof::c {

struct FreeText {
    void operator()(char* text) const { std::free(text); }
};
using GivenText = std::unique_ptr<char, FreeText>;

/// A copy for wireproof_text_free(). Throws std::bad_alloc.
inline GivenText given_text(std::string_view text) {
    GivenText copy(static_cast<char*>(std::malloc(text.size() + 1)));
    if (copy == nullptr) throw std::bad_alloc();
    if (!text.empty()) std::memcpy(copy.get(), text.data(), text.size());
    copy.get()[text.size()] = '\0';
    return copy;
}

}  // namespace wireproof::c
