// A flow of a shared link: packets of a model of TCP. The receiver acknowledges each packet. The
// sender takes a packet as lost when a packet that it sent at least three packets later is
// acknowledged. A loss counts once for all packets in flight at that time. The sender does not
// retransmit: only its share of the link matters.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "wireproof/lab/sharing/shared_link.hpp"
#include "wireproof/lab/sharing/tcp_windows.hpp"

namespace wireproof::lab {

class TcpFlow final : public LinkFlow {
public:
    /// `number`: the place of the flow among the flows of its link, from 0.
    TcpFlow(Tcp tcp, std::uint16_t number) : number_(number), window_(make_window(tcp)) {}

    void on_data(Instant, const RxFrame& frame) override {
        to_answer_.push_back(load_le<std::uint64_t>(frame.bytes.subspan<2>().first<8>()));
        arrived_ += payload;
    }
    void on_answer(Instant now, const RxFrame& frame) override {
        const auto packet = load_le<std::uint64_t>(frame.bytes.subspan<2>().first<8>());
        heard_ = now;
        ++delivered_;
        if (const auto sent = in_flight_.find(packet); sent != in_flight_.end()) {
            const Sent& was = sent->second;
            const Duration since = std::max(now - was.delivered_at, Duration::microseconds(1));
            window_->on_ack(
                {.now = now,
                 .rtt = now - was.left,
                 .rate = static_cast<double>(delivered_ - was.delivered) / since.seconds(),
                 .in_flight = static_cast<double>(in_flight_.size())});
            in_flight_.erase(sent);
        }
        delivered_at_ = now;
        while (!in_flight_.empty() && in_flight_.begin()->first + 3 <= packet) {
            if (in_flight_.begin()->first >= recovered_) {
                window_->on_loss(now);
                recovered_ = next_;
            }
            in_flight_.erase(in_flight_.begin());
        }
    }
    void turn(Instant now, SharedLink& link) override {
        if (heard_ + patience <= now) {
            in_flight_.clear();
            window_->on_timeout();
            heard_ = now;
        }
        while (is_open() && may_leave_ <= now) {
            const double pace = window_->pace();
            if (pace > 0) {
                // After a pause, at most two packets leave at once.
                const Duration gap = Duration::from_seconds(1 / pace);
                may_leave_ = std::max(may_leave_, Instant(now.since_start() - gap)) + gap;
            }
            if (in_flight_.empty()) delivered_at_ = now;
            in_flight_.emplace(next_, Sent{now, delivered_, delivered_at_});
            send(link.there(), 2 * number_ + 1, next_++, header + payload);
        }
        link.there().flush(now);
        for (const std::uint64_t packet : std::exchange(to_answer_, {})) {
            send(link.back(), 2 * number_, packet, header);
        }
        link.back().flush(now);
    }
    Instant next_deadline() const override {
        const Instant timeout = heard_ + patience;
        return is_open() ? earliest(timeout, may_leave_) : timeout;
    }
    std::uint64_t arrived() const override { return arrived_; }

private:
    struct Sent {
        Instant left;
        std::uint64_t delivered = 0;  // packets, when it left
        Instant delivered_at;
    };
    static constexpr std::size_t header = 48;
    static constexpr std::size_t payload = 1424;
    static constexpr Duration patience = Duration::milliseconds(200);

    bool is_open() const {
        return static_cast<double>(in_flight_.size() + 1) <= window_->packets();
    }
    static void send(sim::Cable& cable, int to, std::uint64_t packet, std::size_t size) {
        TxFrame* room = cable.claim();
        WIREPROOF_CHECK(room != nullptr);
        const Bytes bytes = room->add_room(size);
        store_le<std::uint16_t>(bytes.first<2>(), static_cast<std::uint16_t>(to));
        store_le<std::uint64_t>(bytes.subspan<2>().first<8>(), packet);
        cable.commit();
    }

    std::uint16_t number_;
    std::unique_ptr<TcpWindow> window_;
    std::uint64_t next_ = 0;
    std::uint64_t recovered_ = 0;
    std::map<std::uint64_t, Sent> in_flight_;  // by packet number
    std::vector<std::uint64_t> to_answer_;
    Instant heard_;
    Instant may_leave_;
    std::uint64_t delivered_ = 0;
    Instant delivered_at_;
    std::uint64_t arrived_ = 0;
};

}  // namespace wireproof::lab
