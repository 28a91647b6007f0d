#include "wireproof/app/transfer/transfer_side.hpp"

#include <span>
#include <utility>

#include "wireproof/app/common/text.hpp"

namespace wireproof::app {

void TransferSide::end_with(TransferEnd end) {
    if (!end_) end_ = std::move(end);
}

void TransferSide::end_as(bool verified, const char* wrong) {
    end_with({verified, verified ? "" : wrong});
}

void TransferSide::fail(const std::string& why) {
    tell_failed(why);
    end_with({false, why});
}

void TransferSide::other_failed(const char* who, ConstBytes line) {
    end_with({false, std::string(who) + ": " + printable(line)});
}

bool TransferSide::finish_at(Instant now) {
    if (!end_ || finished_) return false;
    finished_ = now;
    return true;
}

std::vector<std::byte> transfer_message(TransferWord what, ConstBytes body) {
    std::vector<std::byte> message;
    message.reserve(1 + body.size());
    message.push_back(static_cast<std::byte>(what));
    message.insert(message.end(), body.begin(), body.end());
    return message;
}

std::vector<std::byte> failed_message(const std::string& why, std::size_t longest) {
    const std::string text = shortened(one_line(why), longest);
    return transfer_message(TransferWord::failed, std::as_bytes(std::span(text)));
}

std::array<std::byte, 8> eight_bytes(std::uint64_t value) {
    std::array<std::byte, 8> bytes;
    store_le<std::uint64_t>(bytes, value);
    return bytes;
}

}  // namespace wireproof::app
