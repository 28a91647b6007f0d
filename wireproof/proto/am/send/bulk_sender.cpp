#include "wireproof/proto/am/send/bulk_sender.hpp"

#include <algorithm>
#include <utility>

namespace wireproof::am {

BulkSender::BulkSender(const Config& config, std::vector<Transfer> transfers)
    : data_max_(config.data_max()),
      chunk_bytes_(config.chunk_bytes()),
      in_flight_max_(config.chunks_in_flight),
      transfers_(std::move(transfers)) {
    reset();
}

// Both tables have the same number of places, or one has none.
void BulkSender::exchange(std::vector<Transfer>& transfers) {
    WIREPROOF_CHECK(active_ == 0 && !waits_);
    std::swap(transfers_, transfers);
    begin_at_first();
}

void BulkSender::begin_at_first() {
    latest_ = transfers_.empty() ? 0 : static_cast<std::uint32_t>(transfers_.size()) - 1;
    turn_ = 0;
}

std::optional<std::uint32_t> BulkSender::free_place() const {
    if (active_ == transfers_.size()) return std::nullopt;
    std::uint32_t place = after(latest_);
    while (transfers_[place].active) place = after(place);
    return place;
}

void BulkSender::begin(std::uint32_t place, Transfer transfer) {
    transfers_[place] = transfer;
    transfers_[place].active = true;
    ++active_;
    if (!transfer.bytes.empty()) ++uncut_;
    latest_ = place;
}

// AM-7: chunk N leaves only after the ack of chunk N - in_flight_max. AM-8: it need not wait for
// the acks of the chunks between. Transfers take turns (AM-46).
std::optional<std::uint32_t> BulkSender::next_turn() const {
    if (uncut_ == 0) return std::nullopt;
    std::uint32_t place = turn_;
    for (std::size_t i = 0; i < transfers_.size(); ++i, place = after(place)) {
        const Transfer& transfer = transfers_[place];
        if (transfer.active && transfer.next < transfer.bytes.size() &&
            transfer.in_flight < in_flight_max_) {
            return place;
        }
    }
    return std::nullopt;
}

// AM-2: all chunks have one size; the last one has the rest.
void BulkSender::admit(SendWindow& window) {
    waits_ = false;
    while (const auto place = next_turn()) {
        Transfer& transfer = transfers_[*place];
        const auto begin = static_cast<std::size_t>(transfer.next);
        const std::size_t size = std::min(chunk_bytes_, transfer.bytes.size() - begin);
        const auto packets = static_cast<std::uint32_t>((size + data_max_ - 1) / data_max_);
        if (window.room() < packets) {
            waits_ = true;
            return;
        }
        window.push_chunk(transfer.id, *place, transfer.bytes.subspan(begin, size), begin, packets);
        transfer.next += size;
        if (transfer.next == transfer.bytes.size()) --uncut_;
        ++transfer.in_flight;
        turn_ = after(*place);
    }
}

bool BulkSender::on_chunk_acked(std::uint32_t place, std::size_t bytes) {
    Transfer& transfer = transfers_[place];
    --transfer.in_flight;
    transfer.acknowledged += bytes;
    return transfer.acknowledged == transfer.bytes.size();
}

void BulkSender::reset() {
    std::fill(transfers_.begin(), transfers_.end(), Transfer{});
    active_ = uncut_ = 0;
    begin_at_first();
    waits_ = false;
}

void BulkSender::fingerprint(Fingerprint& sink) const {
    sink.add(latest_);
    sink.add(turn_);
    sink.add(waits_);
    for (const Transfer& transfer : transfers_) transfer.fingerprint(sink);
}

void BulkSender::Transfer::fingerprint(Fingerprint& sink) const {
    sink.add(active);
    if (!active) return;
    sink.add(id);
    sink.add(bytes.size());
    sink.add(next);
    sink.add(acknowledged);
    sink.add(tag);
    sink.add(handler);
    sink.add(reason);
    sink.add(reported);
}

}  // namespace wireproof::am
