#include "wireproof/app/perf/perf_datagrams.hpp"

#include <algorithm>

namespace wireproof::app {
namespace {

// The first byte of a datagram. If a part of an earlier message was lost, its other parts do not
// count for the next message.
constexpr std::byte message_begins{7};
constexpr std::byte message_goes_on{8};
constexpr std::size_t datagram_room = 65'536;

}  // namespace

BareDatagrams::BareDatagrams(std::size_t sent, std::size_t expected, std::size_t longest)
    : expected_(expected),
      longest_(longest),
      one_there_(sent <= longest),
      one_back_(expected <= longest),
      message_(sent, message_goes_on) {
    message_.front() = message_begins;
    for (std::size_t at = 0; at < sent; at += longest_) {
        pieces_.push_back({message_.data() + at, std::min(longest_, sent - at)});
    }
    sent_.resize(pieces_.size());
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        sent_[i].msg_hdr.msg_iov = &pieces_[i];
        sent_[i].msg_hdr.msg_iovlen = 1;
    }
    const std::size_t at_once = one_back_ ? 1 : taken_at_once;
    room_.resize(at_once * datagram_room);
    places_.resize(at_once);
    taken_.resize(at_once);
    for (std::size_t i = 0; i < at_once; ++i) {
        places_[i] = {room_.data() + i * datagram_room, datagram_room};
        taken_[i].msg_hdr.msg_iov = &places_[i];
        taken_[i].msg_hdr.msg_iovlen = 1;
    }
}

void BareDatagrams::send(int socket, bool connected) {
    sockaddr* const to = connected ? nullptr : &from_.any;
    const socklen_t to_size = connected ? 0 : from_size_;
    if (one_there_) {
        ::sendto(socket, message_.data(), message_.size(), 0, to, to_size);
        return;
    }
    for (mmsghdr& one : sent_) {
        one.msg_hdr.msg_name = to;
        one.msg_hdr.msg_namelen = to_size;
    }
    for (std::size_t at = 0; at < sent_.size();) {
        const int taken =
            ::sendmmsg(socket, &sent_[at], static_cast<unsigned>(sent_.size() - at), 0);
        if (taken <= 0) return;
        at += static_cast<std::size_t>(taken);
    }
}

BareDatagrams::Came BareDatagrams::receive(int socket) {
    if (one_back_) {
        from_size_ = sizeof from_;
        const ssize_t size =
            ::recvfrom(socket, room_.data(), datagram_room, 0, &from_.any, &from_size_);
        if (size < 0) return Came::nothing;
        return took(room_.data(), static_cast<std::size_t>(size));
    }
    taken_.front().msg_hdr.msg_name = &from_.any;
    taken_.front().msg_hdr.msg_namelen = sizeof from_;
    const int taken = ::recvmmsg(socket, taken_.data(), static_cast<unsigned>(taken_.size()),
                                 MSG_DONTWAIT, nullptr);
    if (taken <= 0) return Came::nothing;
    from_size_ = taken_.front().msg_hdr.msg_namelen;
    Came came = Came::part;
    for (std::size_t i = 0; i < static_cast<std::size_t>(taken); ++i) {
        const Came next = took(room_.data() + i * datagram_room, taken_[i].msg_len);
        if (next != Came::part) came = next;
    }
    return came;
}

BareDatagrams::Came BareDatagrams::took(const std::byte* datagram, std::size_t size) {
    if (size == 0) return Came::end;
    if (*datagram == message_begins) come_ = 0;
    come_ += size;
    if (come_ < expected_) return Came::part;
    come_ = 0;
    return Came::whole;
}

}  // namespace wireproof::app
