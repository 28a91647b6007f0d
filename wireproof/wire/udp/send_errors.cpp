#include "wireproof/wire/udp/send_errors.hpp"

#include <system_error>

namespace wireproof {

void SendErrors::add(int error, std::uint64_t frames) {
    if (frames == 0) return;
    for (Count& count : std::span(counts_).first(kinds_)) {
        if (count.error != error) continue;
        count.frames += frames;
        return;
    }
    // The last entry counts all errors that have no entry of their own.
    if (kinds_ + 1 < kinds_max) {
        counts_[kinds_++] = {error, frames};
    } else {
        kinds_ = kinds_max;
        counts_[kinds_max - 1].frames += frames;
    }
}

std::string SendErrors::to_string() const {
    std::string text;
    for (const Count& count : counts()) {
        if (!text.empty()) text += ", ";
        text += text_of_send_error(count.error) + " (" + std::to_string(count.frames) +
                (count.frames == 1 ? " packet)" : " packets)");
    }
    return text;
}

std::string text_of_send_error(int error) {
    return error == 0 ? "other errors" : std::generic_category().message(error);
}

}  // namespace wireproof
