#include "wireproof/wire/udp/kernel_errors.hpp"

#include <cerrno>
#include <utility>

#include "wireproof/wire/udp/send_errors.hpp"

namespace wireproof {

void KernelErrors::note(std::size_t peer, int error, const char* call, std::size_t frames) {
    if (peer >= entries_.size()) entries_.resize(peer + 1);
    Entry& entry = entries_[peer];
    if (std::exchange(entry.error, error) == 0) ++known_;
    entry.call = call;
    entry.frames += frames;
}

void KernelErrors::forget(std::size_t peer) {
    if (peer >= entries_.size() || std::exchange(entries_[peer].error, 0) == 0) return;
    --known_;
}

void KernelErrors::forget_unreachable(std::size_t peer) {
    if (peer < entries_.size() && entries_[peer].error != EMSGSIZE) forget(peer);
}

PeerTrouble KernelErrors::of(std::size_t peer) const {
    if (peer >= entries_.size()) return {};
    const Entry& entry = entries_[peer];
    PeerTrouble trouble{.frames_refused = entry.frames};
    if (entry.error == 0) return trouble;
    trouble.cause = text_of_send_error(entry.error) + " (" + entry.call + ")";
    return trouble;
}

}  // namespace wireproof
