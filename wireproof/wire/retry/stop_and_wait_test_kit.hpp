// The smallest link engine, and a cable to test it. The engine sends one message at a time and
// resends it until its acknowledgement comes. The cable loses and damages frames but keeps their
// order.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "wireproof/base/crc.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/wire/retry/retry_wire.hpp"

namespace wireproof::test {

/// A frame has a kind, a number of one bit, the CRC-32C of both and of the message, and the
/// message.
class StopAndWait {
public:
    using Delivery = LinkDelivery;

    static constexpr std::size_t head_size = 6;
    static constexpr Duration resend_after = Duration::milliseconds(1);

    std::size_t message_max() const { return 64; }
    bool has_room() const { return !waiting_; }
    SubmitStatus submit(ConstBytes message) {
        if (waiting_) return SubmitStatus::no_room;
        if (message.size() > message_max()) return SubmitStatus::too_long;
        message_.assign(message.begin(), message.end());
        waiting_ = send_due_ = true;
        return SubmitStatus::accepted;
    }

    RxVerdict on_frame(Instant, const RxFrame& frame) { return stats_.count(judge(frame.bytes)); }

    std::optional<LinkDelivery> next_delivery() {
        if (notes_.empty()) return std::nullopt;
        const LinkDelivery delivery = notes_.front();
        notes_.pop_front();
        return delivery;
    }

    void on_deadline(Instant) {
        send_due_ = waiting_;
        deadline_ = never;
        ++stats_.timeouts;
    }

    void on_wire_event(Instant, WireEvent event) {
        const LinkStats kept = stats_;
        *this = StopAndWait();
        stats_ = kept;
        notes_ = {{LinkDelivery::What::down, {}}};
        if (event == WireEvent::new_life) notes_.push_back({LinkDelivery::What::up, {}});
    }

    bool poll_transmit(Instant now, TxFrame& out) {
        if (std::exchange(ack_due_, false)) {
            write(out, 'A', !expected_, {});
            ++stats_.acks;
            return true;
        }
        if (!std::exchange(send_due_, false)) return false;
        write(out, 'M', number_, message_);
        if (sent_before_) {
            out.mark_resent();
            ++stats_.resent;
        }
        ++stats_.numbered;
        sent_before_ = true;
        deadline_ = now + resend_after;
        return true;
    }

    Instant next_deadline() const { return deadline_; }
    void fingerprint(Instant now, Fingerprint& sink) const { sink.add_deadline(deadline_, now); }
    const LinkStats& stats() const { return stats_; }
    Unanswered unanswered() const { return {}; }

private:
    static std::uint32_t check_of(std::byte kind, std::byte number, ConstBytes message) {
        Crc32c check;
        check.add(std::array{kind, number});
        check.add(message);
        return check.value();
    }

    static void write(TxFrame& out, char kind, bool number, ConstBytes message) {
        const auto head = out.add_header<head_size>();
        head[0] = static_cast<std::byte>(kind);
        head[1] = static_cast<std::byte>(number);
        store_le_at<std::uint32_t, 2>(head, check_of(head[0], head[1], message));
        out.add_payload(message);
    }

    RxVerdict judge(ConstBytes frame) {
        if (frame.size() < head_size) return RxVerdict::malformed;
        const auto head = frame.first<head_size>();
        const ConstBytes message = frame.subspan(head_size);
        if (load_le_at<std::uint32_t, 2>(head) != check_of(head[0], head[1], message)) {
            return RxVerdict::corrupt;
        }
        const bool number = head[1] != std::byte{0};
        if (head[0] == std::byte{'A'}) {
            if (!waiting_ || number != number_) return RxVerdict::stale;
            waiting_ = send_due_ = sent_before_ = false;
            number_ = !number_;
            deadline_ = never;
            return RxVerdict::control;
        }
        ack_due_ = true;
        if (number != expected_) return RxVerdict::duplicate;
        expected_ = !expected_;
        notes_.push_back({LinkDelivery::What::message, message});
        return RxVerdict::accepted;
    }

    std::vector<std::byte> message_;
    bool number_ = false;
    bool expected_ = false;
    bool waiting_ = false;
    bool send_due_ = false;
    bool sent_before_ = false;
    bool ack_due_ = false;
    Instant deadline_ = never;
    std::deque<LinkDelivery> notes_{{LinkDelivery::What::up, {}}};
    LinkStats stats_;
};

static_assert(LinkEngine<StopAndWait>);

/// One end of a cable with random faults. A committed frame arrives at once.
class LossyEnd {
public:
    struct Rates {
        double loss = 0;
        double damage = 0;
    };
    using Line = std::deque<std::vector<std::byte>>;

    LossyEnd(std::shared_ptr<Line> out, std::shared_ptr<Line> in, Rates rates, std::uint64_t seed)
        : out_(std::move(out)), in_(std::move(in)), rates_(rates), random_(seed) {}

    LossyEnd& lane(PeerId) { return *this; }
    LaneCapabilities capabilities() const { return {.frame_max = 100}; }
    TxFrame* claim() {
        if (shelf_ == shelf_max) return nullptr;
        frame_.open(room_, capabilities());
        return &frame_;
    }
    void commit() {
        std::vector<std::byte> bytes(frame_.size());
        frame_.gather(bytes);
        ++shelf_;
        if (random_.chance(rates_.loss)) return;
        if (random_.chance(rates_.damage)) {
            bytes[random_.below(bytes.size())] ^= std::byte{1} << random_.below(8);
        }
        out_->push_back(std::move(bytes));
    }
    void flush(Instant) { shelf_ = 0; }
    std::optional<RxFrame> receive(Instant) {
        if (in_->empty()) return std::nullopt;
        received_ = std::move(in_->front());
        in_->pop_front();
        return RxFrame{.bytes = received_, .lent = {}};
    }
    std::optional<std::pair<PeerId, WireEvent>> next_event() {
        if (!event) return std::nullopt;
        return std::pair(PeerId{0}, *std::exchange(event, std::nullopt));
    }
    Instant next_deadline() const { return deadline; }

    std::optional<WireEvent> event;
    Instant deadline = never;
    std::size_t shelf_max = 8;  // frames between two flushes

private:
    std::shared_ptr<Line> out_;
    std::shared_ptr<Line> in_;
    Rates rates_;
    Random random_;
    std::vector<std::byte> room_ = std::vector<std::byte>(100);
    std::vector<std::byte> received_;
    std::size_t shelf_ = 0;
    TxFrame frame_;
};

static_assert(Wire<LossyEnd>);

}  // namespace wireproof::test
