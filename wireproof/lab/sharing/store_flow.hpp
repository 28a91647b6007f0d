// A flow of a shared link: SP AM stores without end from one node to another, by the real engine.
#pragma once

#include <vector>

#include "wireproof/core/pump.hpp"
#include "wireproof/lab/sharing/shared_link.hpp"
#include "wireproof/proto/am/connection.hpp"

namespace wireproof::lab {

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
    static constexpr std::size_t pieces_under_way = 64;

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

}  // namespace wireproof::lab
