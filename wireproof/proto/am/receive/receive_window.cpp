#include "wireproof/proto/am/receive/receive_window.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace wireproof::am {

namespace {

/// Lists `count` numbers from `first` on in falling order: the last of the list is taken first.
void list_slots(std::vector<std::uint32_t>& free, std::uint32_t first, std::uint32_t count) {
    free.clear();
    for (std::uint32_t i = count; i-- > 0;) free.push_back(first + i);
}

}  // namespace

std::size_t ReceiveWindow::held_bytes(const Config& config, std::uint32_t window) {
    if (config.recovery == Recovery::go_back_n || window == 0) return 0;
    return window * small_size + config.held_packets * config.data_max();
}

ReceiveWindow::Buffers::Buffers(const Config& config, std::uint32_t window)
    : arrived(window),
      messages(std::bit_ceil(window)),
      early(config.recovery == Recovery::selective ? messages.size() : 0),
      held(held_bytes(config, window)) {
    if (held.size() == 0) return;
    free_small.reserve(window);
    free_large.reserve(config.held_packets);
    list_slots(free_small, 0, window);
    list_slots(free_large, window, config.held_packets);
}

ReceiveWindow::ReceiveWindow(const Config& config, Channel channel, Buffers buffers)
    : circle_(config.modulus),
      first_(config.first_number[static_cast<std::size_t>(channel)]),
      window_(config.window_of(channel)),
      mark_(std::max(1U, window_ / 4)),
      recovery_(config.recovery),
      large_size_(config.data_max()),
      arrived_(std::move(buffers.arrived)),
      messages_(std::move(buffers.messages)),
      early_(std::move(buffers.early)),
      small_slots_(recovery_ == Recovery::selective ? window_ : 0),
      large_slots_(recovery_ == Recovery::selective ? config.held_packets : 0),
      held_(std::move(buffers.held)),
      free_small_(std::move(buffers.free_small)),
      free_large_(std::move(buffers.free_large)) {
    expected_number_ = first_;
}

void ReceiveWindow::exchange(Buffers& buffers) {
    WIREPROOF_CHECK(holds_nothing());
    if (marked_) forget_arrived();
    std::swap(arrived_, buffers.arrived);
    std::swap(messages_, buffers.messages);
    std::swap(early_, buffers.early);
    std::swap(held_, buffers.held);
    std::swap(free_small_, buffers.free_small);
    std::swap(free_large_, buffers.free_large);
}

void ReceiveWindow::put_off(std::uint8_t round, std::uint32_t distance) {
    const std::uint64_t end = expected_ + distance;
    put_off_ = {round, put_off_ ? std::max(put_off_->end, end) : end, true};
}

void ReceiveWindow::ask_for_put_off() {
    const std::uint64_t end = std::max(put_off_->end, expected_);
    owe_nack(put_off_->round, static_cast<std::uint32_t>(end - expected_), true);
    put_off_.reset();
}

// AM-15: only the next message is delivered. AM-33: distances are counted round the circle.
ReceiveWindow::Placement ReceiveWindow::placement_of(std::uint32_t number) const {
    if (!circle_.holds(number)) return {};
    const Number wanted = expected_number_;
    const std::uint32_t ahead = circle_.steps_after(Number(number), wanted);
    if (ahead == 0) return {Place::expected, 0};
    if (ahead < window_) return {Place::ahead, ahead};
    const std::uint32_t behind = circle_.steps_after(wanted, Number(number));
    if (behind <= circle_.modulus() / 2) return {Place::behind, 0};
    return {};  // AM-48: a window ahead or more
}

void ReceiveWindow::mark(std::uint32_t distance) {
    marked_ = true;
    arrived_.set(expected_ + distance);
    highest_ = std::max(highest_, expected_ + distance + 1);
}

std::size_t ReceiveWindow::slot_begin(std::uint32_t slot) const {
    if (slot < small_slots_) return slot * small_size;
    return small_slots_ * small_size + (slot - small_slots_) * large_size_;
}

std::optional<std::uint32_t> ReceiveWindow::fill_slot(const Body& body, ConstBytes payload) {
    const std::size_t before = size_of(body);
    auto& free = before + payload.size() <= small_size ? free_small_ : free_large_;
    if (free.empty()) return std::nullopt;
    const std::uint32_t slot = free.back();
    free.pop_back();
    const Bytes to = held_.bytes().subspan(slot_begin(slot));
    encode(body, to);
    std::copy(payload.begin(), payload.end(), to.subspan(before).begin());
    return slot;
}

bool ReceiveWindow::hold(Message& message, const Body& body, ConstBytes payload) {
    const auto slot = fill_slot(body, payload);
    if (!slot) return false;
    message.slot = *slot;
    message.size = size_of(body) + payload.size();
    return true;
}

bool ReceiveWindow::keep_early(std::uint32_t distance, std::uint32_t place, const Early& packet,
                               ConstBytes data) {
    const auto slot = fill_slot({}, data);
    if (!slot) return false;
    Early& kept = early_[place_of(std::uint64_t{distance} + place)];
    kept = packet;
    kept.kept = true;
    kept.message = expected_ + distance;
    kept.slot = *slot;
    kept.size = data.size();
    ++early_count_;
    mark(distance + place);
    return true;
}

std::optional<ReceiveWindow::Early> ReceiveWindow::take_early(std::uint32_t chunk_packets) {
    if (early_count_ == 0) return std::nullopt;
    for (std::uint64_t at = expected_; at < expected_ + std::min(chunk_packets, window_); ++at) {
        Early& kept = early_[place_of(at - expected_)];
        if (!kept.kept || kept.message != expected_) continue;
        const Early taken = kept;
        kept = Early{};
        --early_count_;
        arrived_.clear(at, at + 1);  // on_chunk() marks it again
        return taken;
    }
    return std::nullopt;
}

void ReceiveWindow::free_slot(std::uint32_t slot) {
    (slot < small_slots_ ? free_small_ : free_large_).push_back(slot);
}

ConstBytes ReceiveWindow::held(const Message& message) const {
    return held_.bytes().subspan(slot_begin(message.slot), message.size);
}

void ReceiveWindow::pass() {
    Message& done = message(0);
    const std::uint32_t span = done.span;
    done.forget();
    arrived_.clear(expected_, expected_ + span);
    expected_ += span;
    expected_number_ = circle_.advance(expected_number_, span);
    highest_ = std::max(highest_, expected_);
    owed_ += span;
}

// Packets that arrive in one turn share one NACK. A NACK for a later round replaces one for an
// earlier.
void ReceiveWindow::owe_nack(std::uint8_t round, std::uint32_t distance, bool demanded) {
    const std::uint64_t end = expected_ + distance;
    if (!pending_nack_) {
        pending_nack_ = PendingNack{round, end, demanded};
        return;
    }
    pending_nack_->demanded = pending_nack_->demanded || demanded;
    const auto newer =
        static_cast<std::int8_t>(static_cast<std::uint8_t>(round - pending_nack_->round));
    if (newer < 0) return;
    pending_nack_->end = newer > 0 ? end : std::max(pending_nack_->end, end);
    pending_nack_->round = round;
}

std::uint32_t ReceiveWindow::distance_sent(std::uint32_t number) const {
    if (!circle_.holds(number)) return 0;
    const std::uint32_t distance = circle_.steps_after(Number(number), expected_number_);
    return distance <= window_ ? distance : 0;
}

bool ReceiveWindow::says_something_new() const {
    const bool same_round = told_ && told_->round == pending_nack_->round;
    const std::uint64_t from = same_round ? std::max(told_->end, expected_) : expected_;
    for (std::uint64_t at = from; at < pending_nack_->end; ++at) {
        if (!arrived_.test(at)) return true;
    }
    return false;
}

const std::optional<ReceiveWindow::PendingNack>& ReceiveWindow::pending_nack() {
    if (!pending_nack_ || pending_nack_->demanded) return pending_nack_;
    if (pending_nack_->end <= expected_) {
        pending_nack_.reset();
    } else if (recovery_ == Recovery::selective && !says_something_new()) {
        // The NACK that said this may be lost, so it is repeated from time to time.
        constexpr std::uint32_t repeat_after = 32;
        if (++untold_ < repeat_after) pending_nack_.reset();
    }
    return pending_nack_;
}

void ReceiveWindow::nack_left() {
    told_ = pending_nack_;
    untold_ = 0;
    pending_nack_.reset();
}

std::size_t ReceiveWindow::map_bytes() const {
    return static_cast<std::size_t>((highest_ - expected_ + 7) / 8);
}

void ReceiveWindow::write_map(Bytes map) const {
    std::fill(map.begin(), map.end(), std::byte{0});
    const std::uint64_t bits = std::min<std::uint64_t>(map.size() * 8, highest_ - expected_);
    for (std::uint64_t i = 0; i < bits; ++i) {
        if (arrived_.test(expected_ + i)) map[i / 8] |= std::byte{1} << (i % 8);
    }
}

void ReceiveWindow::reset() {
    expected_ = highest_ = 0;
    expected_number_ = first_;
    owed_ = 0;
    ack_due_ = false;
    pending_nack_.reset();
    told_.reset();
    untold_ = 0;
    put_off_.reset();
    forget_arrived();
}

void ReceiveWindow::forget_arrived() {
    marked_ = false;
    std::fill(early_.begin(), early_.end(), Early{});
    early_count_ = 0;
    arrived_.clear_all();
    std::fill(messages_.begin(), messages_.end(), Message{});
    if (held_.size() == 0) return;
    list_slots(free_small_, 0, small_slots_);
    list_slots(free_large_, small_slots_, large_slots_);
}

void ReceiveWindow::fingerprint(Fingerprint& sink) const {
    sink.add(expected());
    sink.add(highest_ - expected_);
    sink.add(owed_);
    sink.add(ack_due_);
    for (const auto& nack : {pending_nack_, told_, put_off_}) {
        sink.add(nack.has_value());
        if (!nack) continue;
        sink.add(nack->round);
        sink.add(nack->end > expected_ ? nack->end - expected_ : 0);
        sink.add(nack->demanded);
    }
    sink.add(untold_);
    arrived_.fingerprint(expected_, sink);
    for (std::uint64_t i = 0; i < window_; ++i) {
        const Message& message = messages_[place_of(i)];
        sink.add(message.kind);
        if (!message.known()) continue;
        sink.add(message.span);
        sink.add(message.arrived);
        sink.add(message.id);
        sink.add(message.in_place);
        sink.add(message.awaited);
        sink.add(message.base);
        if (message.kind != Kind::chunk) sink.add_bytes(held(message));
    }
    for (std::size_t i = 0; i < early_.size(); ++i) {
        const Early& kept = early_[place_of(i)];
        sink.add(kept.kept);
        if (!kept.kept) continue;
        sink.add(kept.message - expected_);
        sink.add(kept.id);
        sink.add(kept.count);
        sink.add(kept.offset);
        sink.add(kept.round);
        sink.add_bytes(data_of(kept));
    }
}

}  // namespace wireproof::am
