// Flows that share a link: SP AM stores without end between two nodes, and for comparison a flow
// with the congestion window of TCP Reno.
#pragma once

#include <set>

#include "tests/sim/shared_link.hpp"

#include "wireproof/core/pump.hpp"
#include "wireproof/proto/am/connection.hpp"

namespace wireproof {

class StoreFlow final : public LinkFlow {
public:
    /// `number`: the place of the flow among the flows of its link, from 0.
    StoreFlow(const am::Config& config, std::uint16_t number)
        : memory_(piece),
          source_(piece, std::byte{7}),
          asking_(config_of(config, number, 0), nothing_),
          storing_(config_of(config, number, 1), table_) {
        const bool added = table_.add(address, memory_, {.write = true});
        WIREPROOF_CHECK(added);
    }

    void on_data(Instant now, const RxFrame& frame) override {
        storing_.on_frame(now, frame);
        draw(storing_);
    }
    void on_answer(Instant now, const RxFrame& frame) override {
        asking_.on_frame(now, frame);
        draw(asking_);
    }
    void turn(Instant now, SharedLink& link) override {
        for (am::Connection* end : {&asking_, &storing_}) {
            if (end->next_deadline() <= now) end->on_deadline(now);
            draw(*end);
        }
        while (under_way_ < pieces_under_way && asking_.store({address, source_, am::HandlerId{1},
                                                               0, 0}) == am::PostStatus::accepted) {
            ++under_way_;
        }
        transmit(asking_, link.there(), now);
        link.there().flush(now);
        transmit(storing_, link.back(), now);
        link.back().flush(now);
    }
    Instant next_deadline() const override {
        return earliest(asking_.next_deadline(), storing_.next_deadline());
    }
    std::uint64_t arrived() const override { return arrived_; }
    const am::Connection& asking() const { return asking_; }

private:
    static constexpr std::uint64_t address = 0x1000;
    static constexpr std::size_t piece = 32 * 1024;
    static constexpr std::size_t pieces_under_way = 16;

    static am::Config config_of(am::Config config, std::uint16_t number, std::uint16_t end) {
        config.node = static_cast<std::uint16_t>(2 * number + end);
        config.peer = static_cast<std::uint16_t>(2 * number + 1 - end);
        config.cookie = 0x5EED + number;
        return config;
    }

    void draw(am::Connection& end) {
        while (const auto delivery = end.next_delivery()) {
            if (std::holds_alternative<am::Stored>(*delivery)) arrived_ += piece;
            if (std::holds_alternative<am::StoreEnded>(*delivery)) --under_way_;
            WIREPROOF_CHECK(!std::holds_alternative<am::SessionEnded>(*delivery));
        }
    }

    std::vector<std::byte> memory_;
    std::vector<std::byte> source_;
    am::MemoryTable nothing_;
    am::MemoryTable table_;
    am::Connection asking_;
    am::Connection storing_;
    std::size_t under_way_ = 0;
    std::uint64_t arrived_ = 0;
};

/// The receiver acknowledges each packet. The sender takes a packet as lost when a packet that it
/// sent at least three packets later is acknowledged. A loss halves the window, once for all
/// packets in flight at that time. The sender does not retransmit: only its share of the link
/// matters.
class RenoFlow final : public LinkFlow {
public:
    explicit RenoFlow(std::uint16_t number) : number_(number) {}

    void on_data(Instant, const RxFrame& frame) override {
        to_answer_.push_back(load_le<std::uint64_t>(frame.bytes.subspan<2>().first<8>()));
        arrived_ += payload;
    }
    void on_answer(Instant now, const RxFrame& frame) override {
        const auto packet = load_le<std::uint64_t>(frame.bytes.subspan<2>().first<8>());
        under_way_.erase(packet);
        heard_ = now;
        window_ += window_ < threshold_ ? 1.0 : 1.0 / window_;
        while (!under_way_.empty() && *under_way_.begin() + 3 <= packet) {
            if (*under_way_.begin() >= recovered_) {
                threshold_ = window_ = std::max(2.0, window_ / 2);
                recovered_ = next_;
            }
            under_way_.erase(under_way_.begin());
        }
    }
    void turn(Instant now, SharedLink& link) override {
        if (next_deadline() <= now) {
            under_way_.clear();
            threshold_ = std::max(2.0, window_ / 2);
            window_ = 1;
            heard_ = now;
        }
        while (static_cast<double>(under_way_.size() + 1) <= window_) {
            under_way_.insert(next_);
            send(link.there(), 2 * number_ + 1, next_++, header + payload);
        }
        link.there().flush(now);
        for (const std::uint64_t packet : std::exchange(to_answer_, {})) {
            send(link.back(), 2 * number_, packet, header);
        }
        link.back().flush(now);
    }
    Instant next_deadline() const override { return heard_ + Duration::milliseconds(200); }
    std::uint64_t arrived() const override { return arrived_; }

private:
    static constexpr std::size_t header = 48;
    static constexpr std::size_t payload = 1424;

    static void send(sim::Cable& cable, int to, std::uint64_t packet, std::size_t size) {
        TxFrame* room = cable.claim();
        WIREPROOF_CHECK(room != nullptr);
        const Bytes bytes = room->add_room(size);
        store_le<std::uint16_t>(bytes.first<2>(), static_cast<std::uint16_t>(to));
        store_le<std::uint64_t>(bytes.subspan<2>().first<8>(), packet);
        cable.commit();
    }

    std::uint16_t number_;
    double window_ = 10;
    double threshold_ = 1e9;
    std::uint64_t next_ = 0;
    std::uint64_t recovered_ = 0;
    std::set<std::uint64_t> under_way_;
    std::vector<std::uint64_t> to_answer_;
    Instant heard_;
    std::uint64_t arrived_ = 0;
};

}  // namespace wireproof
