#include "wireproof/front/link/message_stream.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/base/check.hpp"

namespace wireproof::link {

void MessageStream::submit(ConstBytes message) {
    queue_.push_back({{message.begin(), message.end()}});
    queued_bytes_ += message.size();
}

void MessageStream::on_up() {
    up_ = true;
    stand_due_ = true;
    peer_stands_ = false;
}

void MessageStream::on_down() {
    up_ = peer_stands_ = false;
    stand_due_ = ask_due_ = false;
}

Arrival MessageStream::on_segment(ConstBytes segment) {
    const auto head = Segment::decode(segment);
    if (!head) return Arrival::broken;
    const ConstBytes rest = segment.subspan(Segment::size);
    switch (head->kind) {
        case Segment::Kind::data: return on_data(*head, rest);
        case Segment::Kind::stand: return on_stand(*head, rest);
        case Segment::Kind::ask: return Arrival::nothing;
    }
    return Arrival::broken;
}

// A valid STAND names a place between the oldest message in the queue and the last byte sent. If
// the peer forgot messages that it had confirmed, the stream cannot resend them.
Arrival MessageStream::on_stand(const Segment& stand, ConstBytes life) {
    if (life.size() != life_size) return Arrival::broken;
    const auto told = load_le<std::uint64_t>(life.first<life_size>());
    if (peer_life_ && *peer_life_ != told) return Arrival::peer_restarted;
    peer_life_ = told;
    const std::uint32_t done = stand.number - first_number_;
    if (done > queue_.size()) return Arrival::broken;
    const bool within = done < queue_.size() && stand.offset <= queue_[done].bytes.size();
    if (!within && stand.offset != 0) return Arrival::broken;
    for (std::uint32_t i = 0; i < done; ++i) {
        queued_bytes_ -= queue_.front().bytes.size();
        queue_.pop_front();
    }
    first_number_ = stand.number;
    delivered_ += done;
    if (!peer_stands_) {
        peer_stands_ = true;
        cursor_ = 0;
        offset_ = static_cast<std::size_t>(stand.offset);
    } else {
        // The peer cannot have messages that were not sent to it.
        if (cursor_ < done) return Arrival::broken;
        cursor_ -= done;
    }
    return Arrival::nothing;
}

// While a link is up, it delivers everything in order. After it comes up again, the peer resumes
// where the last STAND of this side says. A gap is therefore an error of the peer, not of the wire.
Arrival MessageStream::on_data(const Segment& data, ConstBytes bytes) {
    if (complete_ || data.number != number_ || data.offset != arriving_.size()) {
        return Arrival::broken;
    }
    if (bytes.size() > config_.message_max - arriving_.size()) return Arrival::broken;
    arriving_.insert(arriving_.end(), bytes.begin(), bytes.end());
    since_stand_ += bytes.size();
    if (data.last || since_stand_ >= config_.stand_every) stand_due_ = true;
    complete_ = data.last;
    return complete_ ? Arrival::message : Arrival::nothing;
}

std::vector<std::byte> MessageStream::take_message() {
    WIREPROOF_CHECK(complete_);
    complete_ = false;
    ++number_;
    return std::exchange(arriving_, {});
}

std::size_t MessageStream::write_stand(Bytes room) {
    stand_due_ = false;
    since_stand_ = 0;
    Segment{Segment::Kind::stand, false, number_, arriving_.size()}.encode(
        room.first<Segment::size>());
    store_le<std::uint64_t>(room.subspan<Segment::size, life_size>(), config_.life);
    return Segment::size + life_size;
}

std::size_t MessageStream::next_segment(Bytes room) {
    WIREPROOF_CHECK(room.size() > Segment::size + life_size);
    if (!up_) return 0;
    if (stand_due_ && !complete_) return write_stand(room);
    if (ask_due_) {
        ask_due_ = false;
        Segment{Segment::Kind::ask, false, 0, 0}.encode(room.first<Segment::size>());
        return Segment::size;
    }
    if (!peer_stands_ || cursor_ == queue_.size()) return 0;
    const ConstBytes left = ConstBytes(queue_[cursor_].bytes).subspan(offset_);
    const ConstBytes now = left.first(std::min(left.size(), room.size() - Segment::size));
    const bool last = now.size() == left.size();
    Segment{Segment::Kind::data, last, first_number_ + static_cast<std::uint32_t>(cursor_), offset_}
        .encode(room.first<Segment::size>());
    std::copy(now.begin(), now.end(), room.begin() + Segment::size);
    offset_ = last ? 0 : offset_ + now.size();
    cursor_ += last ? 1 : 0;
    return Segment::size + now.size();
}

}  // namespace wireproof::link
