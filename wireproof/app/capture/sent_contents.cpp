#include "wireproof/app/capture/sent_contents.hpp"

#include <utility>

#include "wireproof/app/capture/pairing.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::capture {
namespace {

constexpr std::size_t size_first = 64;
// A number with a PSN farther away is known to be used again.
constexpr std::size_t size_max = Pairing::near;

std::uint64_t hash_of(ConstBytes bytes) {
    Fingerprint content;
    content.add_bytes(bytes);
    return content.value().low;
}

}  // namespace

std::uint64_t SentContents::place_of(proto::ib::Psn psn) const {
    return last_place_ + static_cast<std::uint64_t>(proto::ib::difference(psn, last_));
}

// Of the base header, routers and path migration may change other fields, and a sender may ask for
// an acknowledgement only when it sends again.
SentContents::Content SentContents::content_of(const SeenPacket& seen) const {
    const ConstBytes bytes = seen.datagram.packet;
    const std::size_t headers = proto::ib::Bth::size + seen.packet->opcode->extended_size();
    if (bytes.size() < headers) return {};
    const ConstBytes payload = bytes.subspan(headers);
    return {.used = true,
            .opcode = seen.packet->bth().opcode,
            .captured = static_cast<std::uint16_t>(payload.size()),
            .place = place_of(seen.packet->bth().psn),
            .size = static_cast<std::uint32_t>(seen.datagram.packet_size()),
            .headers = hash_of(bytes.first(headers).subspan(proto::ib::Bth::size)),
            .payload = hash_of(payload)};
}

SentContents::Again SentContents::compare(const SeenPacket& seen) const {
    if (contents_.empty()) return Again::not_known;
    const Content now = content_of(seen);
    const Content& before = contents_[now.place % contents_.size()];
    if (!now.used || !before.used || before.place != now.place) return Again::not_known;
    if (before.opcode != now.opcode || before.size != now.size || before.headers != now.headers) {
        return Again::other_message;
    }
    return before.captured == now.captured && before.payload != now.payload ? Again::other_payload
                                                                            : Again::same;
}

void SentContents::note(const SeenPacket& seen) {
    const Content now = content_of(seen);
    if (!now.used) return;
    if (contents_.empty()) contents_.resize(size_first);
    const auto is_taken = [&] {
        const Content& before = contents_[now.place % contents_.size()];
        return before.used && before.place != now.place;
    };
    while (is_taken() && contents_.size() < size_max) {
        std::vector<Content> smaller(2 * contents_.size());
        std::swap(smaller, contents_);
        for (const Content& one : smaller) {
            if (one.used) contents_[one.place % contents_.size()] = one;
        }
    }
    contents_[now.place % contents_.size()] = now;
    last_ = seen.packet->bth().psn;
    last_place_ = now.place;
}

}  // namespace wireproof::capture
