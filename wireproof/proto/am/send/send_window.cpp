#include "wireproof/proto/am/send/send_window.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace wireproof::am {

SendWindow::Buffers::Buffers(std::uint32_t window, std::size_t save_bytes)
    : saved(window),
      bytes(save_bytes),
      in_flight(window),
      lost(window),
      there(window),
      round_sent(std::bit_ceil(std::size_t{window})) {}

SendWindow::SendWindow(const Config& config, Channel channel, Buffers buffers)
    : circle_(config.modulus),
      first_(config.first_number[static_cast<std::size_t>(channel)]),
      window_(config.window_of(channel)),
      data_max_(config.data_max()),
      bundle_max_(config.bundle_max),
      recovery_(config.recovery),
      saved_(std::move(buffers.saved)),
      bytes_(std::move(buffers.bytes)),
      in_flight_(std::move(buffers.in_flight), config.congestion != Congestion::off),
      lost_(std::move(buffers.lost)),
      there_(std::move(buffers.there)),
      round_sent_(std::move(buffers.round_sent)) {
    una_number_ = high_number_ = first_;
}

void SendWindow::exchange(Buffers& buffers) {
    WIREPROOF_CHECK(empty() && saved_.empty() && lost_count_ == 0);
    if (marked_) there_.clear_all();
    marked_ = false;
    saved_.clear();
    bytes_.clear();
    unsent_message_ = 0;
    std::swap(saved_, buffers.saved);
    std::swap(bytes_, buffers.bytes);
    in_flight_.exchange(buffers.in_flight);
    std::swap(lost_, buffers.lost);
    std::swap(there_, buffers.there);
    std::swap(round_sent_, buffers.round_sent);
}

bool SendWindow::push(Kind kind, std::uint32_t id, ConstBytes data, std::uint32_t owner) {
    return push_here(kind, id, data, owner);
}

SendWindow::Saved* SendWindow::save_open(std::uint32_t transfer, const OpenBody& body,
                                         ConstBytes bytes) {
    SaveBytes::Place place;
    std::byte* const to = take_bytes(Kind::open, transfer, 0, OpenBody::size + bytes.size(), place);
    if (to == nullptr) return nullptr;
    body.encode(std::span<std::byte, OpenBody::size>(to, OpenBody::size));
    if (!bytes.empty()) std::memcpy(to + OpenBody::size, bytes.data(), bytes.size());
    Saved& message = append(Kind::open, transfer, transfer, 1);
    keep_place(message, place);
    return &message;
}

bool SendWindow::push_open(std::uint32_t transfer, const OpenBody& body, ConstBytes begin) {
    if (save_open(transfer, body, begin) == nullptr) return false;
    ++watched_;
    return true;
}

bool SendWindow::push_note(const OpenBody& body, ConstBytes bytes, std::uint64_t tag,
                           bool awaited) {
    Saved* const message = save_open(0, body, bytes);
    if (message == nullptr) return false;
    message->count = awaited ? 1 : 0;
    message->in_place = true;
    message->offset = tag;
    if (awaited) ++watched_;
    if (!bytes.empty()) ++carrying_;
    return true;
}

SendWindow::Saved* SendWindow::note(std::uint32_t number) {
    if (!circle_.holds(number)) return nullptr;
    const std::uint64_t position = una_ + circle_.steps_after(Number(number), una_number_);
    if (position >= high_) return nullptr;
    for (std::size_t i = 0; i < saved_.size() && saved_[i].position <= position; ++i) {
        if (saved_[i].position == position && saved_[i].in_place) return &saved_[i];
    }
    return nullptr;
}

void SendWindow::push_chunk(std::uint32_t id, std::uint32_t owner, ConstBytes data,
                            std::uint64_t offset, std::uint32_t packets) {
    Saved& message = append(Kind::chunk, id, owner, packets);
    message.count = static_cast<std::uint16_t>(packets);
    message.lent = data.data();
    message.size = data.size();
    message.offset = offset;
    ++watched_;
}

SendWindow::Departure SendWindow::fast_chunk_packet(const Saved& chunk) const {
    const std::uint64_t place = high_ - chunk.position;
    const std::size_t begin = static_cast<std::size_t>(place) * data_max_;
    Departure packet;
    packet.message = &chunk;
    packet.number = place == 0 ? high_number_.value()
                               : circle_.advance(una_number_, chunk.position - una_).value();
    packet.offset = chunk.offset + begin;
    packet.data = ConstBytes(chunk.lent + begin, std::min(data_max_, chunk.size - begin));
    return packet;
}

std::size_t SendWindow::full_packets_waiting(const Saved& chunk) const {
    if (in_flight_.counted()) return 0;  // how many may leave is to be asked for each
    const auto left = static_cast<std::size_t>(high_ - chunk.position) * data_max_;
    return (chunk.size - left) / data_max_;
}

std::size_t SendWindow::message_at(std::uint64_t position) {
    if (position >= high_) {
        (void)first_unsent_message();
        return unsent_message_;
    }
    std::size_t first = 0;
    std::size_t end = saved_.size();
    while (end - first > 1) {
        const std::size_t middle = first + (end - first) / 2;
        (saved_[middle].position <= position ? first : end) = middle;
    }
    return first;
}

// How many messages of a row, from that position on and before `end`, fit into so many bytes.
std::uint32_t SendWindow::joining(const Saved& row, std::uint64_t from, std::uint64_t end,
                                  std::size_t room) {
    WIREPROOF_CHECK(from < end_of(row));
    const std::size_t messages = std::min(end_of(row), end) - from;
    const std::size_t each = size_in_row(row);
    return static_cast<std::uint32_t>(messages * each <= room ? messages : room / each);
}

// Joins messages that follow each other in the save queue. The wrap of the queue ends a bundle, and
// so does a message that is not short.
SendWindow::Bundle SendWindow::bundle_from(std::size_t first, std::uint64_t from,
                                           std::uint64_t end) const {
    Bundle bundle;
    if (!may_join(saved_[first])) return bundle;
    SaveBytes::Place place = place_at(saved_[first], from);
    place.size = 0;
    bundle.messages = 0;
    for (std::size_t i = first; i < saved_.size() && from < end; ++i) {
        const Saved& next = saved_[i];
        const bool joins = i == first || (may_join(next) && next.copy.at == place.at + place.size);
        if (!joins || place.size >= bundle_max_) break;
        const std::uint32_t messages = joining(next, from, end, bundle_max_ - place.size);
        place.size += messages * size_in_row(next);
        bundle.messages += messages;
        from += messages;
        if (from != end_of(next)) break;
    }
    if (bundle.messages == 0) return {};  // longer than a bundle
    bundle.entries = bytes_.view(place);
    return bundle;
}

std::optional<SendWindow::Departure> SendWindow::next_departure() {
    if (!may_leave()) return std::nullopt;
    leaving_ = lost_count_ > 0 ? next_lost() : high_;
    const std::size_t place = message_at(leaving_);
    const Saved& message = saved_[place];
    Departure departure;
    departure.message = &message;
    const bool of_chunk = message.kind == Kind::chunk;
    // All packets of a chunk carry the number of its first (AM-3).
    const std::uint64_t numbered = of_chunk ? message.position : leaving_;
    departure.number = circle_.advance(una_number_, numbered - una_).value();
    departure.data = data_at(message, leaving_);
    if (of_chunk) {
        const std::size_t begin = static_cast<std::size_t>(leaving_ - message.position) * data_max_;
        departure.offset = message.offset + begin;
        departure.data =
            departure.data.subspan(begin, std::min(data_max_, departure.data.size() - begin));
    }
    departure.resent = leaving_ < high_;
    if (bundle_max_ > 0) {
        const Bundle bundle =
            bundle_from(place, leaving_, departure.resent ? end_of_lost(leaving_) : next_);
        if (bundle.messages > 1) {
            departure.messages = bundle.messages;
            departure.data = bundle.entries;
        }
    }
    leaving_messages_ = departure.messages;
    return departure;
}

void SendWindow::departed() {
    const std::uint64_t end = leaving_ + leaving_messages_;
    if (in_flight_.counted()) in_flight_.left(leaving_, leaving_messages_);
    if (leaving_ < high_) {
        for (std::uint64_t at = leaving_; at < end; ++at) unmark_lost(at);
    } else {
        high_ = end;
        high_number_ = circle_.advance(high_number_, leaving_messages_);
    }
    cursor_ = end;
    note_round(leaving_, leaving_messages_);
}

// In at most two pieces, because the positions wrap.
void SendWindow::note_rounds(std::uint64_t first, std::uint32_t messages) {
    const std::size_t place = round_place(first);
    const std::size_t straight = std::min<std::size_t>(messages, round_sent_.size() - place);
    std::memset(round_sent_.data() + place, round_, straight);
    std::memset(round_sent_.data(), round_, messages - straight);
}

bool SendWindow::lies_in_chunk(std::uint64_t position) const {
    for (std::size_t i = 0; i < saved_.size() && saved_[i].position < position; ++i) {
        if (end_of(saved_[i]) > position) return saved_[i].kind == Kind::chunk;
    }
    return false;
}

void SendWindow::drop_front() {
    const Saved& message = saved_.front();
    pass_unacknowledged(end_of(message));
    if (message.kind != Kind::chunk) bytes_.free_up_to(message.copy);
    if (is_watched(message)) --watched_;
    if (carries_bytes(message)) --carrying_;
    if (unsent_message_ > 0) --unsent_message_;
    saved_.pop();
}

// Drops the messages of the first row that are before this position.
void SendWindow::drop_begin(std::uint64_t position) {
    Saved& row = saved_.front();
    const auto messages = static_cast<std::uint32_t>(position - row.position);
    const std::uint32_t size = messages * size_in_row(row);
    pass_unacknowledged(position);
    row.position = position;
    row.span -= messages;
    row.copy.at += size;
    row.copy.size -= size;
    bytes_.free_up_to({row.copy.at - size, size, row.copy.mark - row.copy.size});
}

void SendWindow::pass_unacknowledged(std::uint64_t position) {
    // A resend in progress skips packets that are acknowledged now (AM-36).
    for (std::uint64_t at = una_; lost_count_ > 0 && at < position; ++at) unmark_lost(at);
    in_flight_.arrived(una_, position);
    una_number_ = circle_.advance(una_number_, position - una_);
    una_ = position;
    cursor_ = std::max(cursor_, una_);
}

// Drops short messages and rows; nobody awaits their end.
void SendWindow::drop_short(std::uint64_t position) {
    const std::size_t whole = position == una_ ? 0 : message_at(position);
    for (std::size_t i = whole; i-- > 0;) {
        if (saved_[i].copy.size == 0) continue;
        bytes_.free_up_to(saved_[i].copy);
        break;
    }
    unsent_message_ -= std::min(unsent_message_, whole);
    saved_.pop(whole);
    if (!saved_.empty() && saved_.front().position < position) return drop_begin(position);
    pass_unacknowledged(position);
}

void SendWindow::count_in_flight(bool seldom) {
    const bool counted = in_flight_.counted();
    in_flight_.begin_counting(seldom);
    if (counted) return;
    for (std::uint64_t at = una_; at < high_; ++at) {
        if (!lost_.test(at) && !there_.test(at)) in_flight_.left(at, 1);
    }
}

void SendWindow::reset() {
    una_ = high_ = next_ = cursor_ = leaving_ = 0;
    leaving_messages_ = 1;
    una_number_ = high_number_ = first_;
    watched_ = carrying_ = 0;
    marked_ = false;
    round_ = 0;
    lost_count_ = 0;
    unsent_message_ = 0;
    saved_.clear();
    bytes_.clear();
    in_flight_.clear();
    in_flight_.hold_new(false);
    lost_.clear_all();
    there_.clear_all();
}

// Adds the same as for single messages: how messages are saved must not change the fingerprint.
void SendWindow::fingerprint_row(const Saved& row, Fingerprint& sink) const {
    for (std::uint64_t at = row.position; at < end_of(row); ++at) {
        sink.add(row.kind);
        sink.add(row.in_place);
        sink.add(std::uint32_t{1});
        sink.add(row.id);
        sink.add(row.offset);
        sink.add_bytes(bytes_.view(place_at(row, at)));
    }
}

void SendWindow::fingerprint(Instant now, Fingerprint& sink) const {
    // Frames that have not arrived yet carry numbers and rounds, so the number of una_ and the
    // present round are part of the state.
    sink.add(una_number_.value());
    sink.add(high_ - una_);
    sink.add(next_ - una_);
    sink.add(cursor_ - una_);
    sink.add(round_);
    for (std::size_t i = 0; i < saved_.size(); ++i) {
        const Saved& message = saved_[i];
        if (is_row(message)) {
            fingerprint_row(message, sink);
            continue;
        }
        sink.add(message.kind);
        sink.add(message.in_place);
        if (message.in_place) {
            sink.add(message.owner);
            sink.add(message.count);
        }
        sink.add(message.span);
        sink.add(message.id);
        sink.add(message.offset);
        if (message.kind == Kind::chunk) {
            sink.add(message.size);
        } else {
            sink.add_bytes(bytes_.view(message.copy));
        }
    }
    for (std::uint64_t at = una_; at < high_; ++at) {
        sink.add(lost_.test(at));
        if (recovery_ == Recovery::go_back_n) continue;
        sink.add(there_.test(at));
        sink.add(round_sent_[round_place(at)]);
    }
    in_flight_.fingerprint(now, una_, sink);
}

}  // namespace wireproof::am
