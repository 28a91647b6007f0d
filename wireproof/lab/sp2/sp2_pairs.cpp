// A pair that is done continues until all pairs are done, because the others are measured beside
// it.
#include "wireproof/lab/sp2/sp2_pairs.hpp"

#include <algorithm>
#include <array>

#include "wireproof/lab/common/am_content.hpp"

namespace wireproof::lab {
namespace {

constexpr am::HandlerId pair_handler{1};

// For each pair: begin and end of the counted part, and whether all content was right.
struct Clocked {
    std::uint64_t events = 0;
    Instant begin;
    Instant end = never;
    bool right = true;

    void count(Instant now, std::uint64_t warm_up, std::uint64_t counted) {
        ++events;
        if (events == warm_up) begin = now;
        if (events == warm_up + counted) end = now;
    }
    Duration taken() const { return end - begin; }
};

Sp2PerPair sum_up(const std::vector<Clocked>& pairs, bool more_is_worse,
                  const std::function<double(const Clocked&)>& figure) {
    Sp2PerPair sum;
    sum.verified = true;
    for (const Clocked& pair : pairs) {
        if (pair.end == never) return {};
        const double here = figure(pair);
        const bool worse = more_is_worse ? here > sum.worst : here < sum.worst;
        if (&pair == &pairs.front() || worse) sum.worst = here;
        sum.mean += here / static_cast<double>(pairs.size());
        sum.verified = sum.verified && pair.right;
    }
    return sum;
}

class PairProgram : public Sp2Program {
public:
    /// Waits for `events` events of each pair.
    PairProgram(Sp2Am& am, std::uint64_t events, const Sp2Progress& progress)
        : am_(am), pairs_(am.nodes() / 2), events_(events), progress_(progress) {}

    const std::vector<Clocked>& pairs() const { return pairs_; }
    void run() {
        am_.run(*this, [this] { return done(); });
    }

protected:
    bool asks(std::size_t node) const { return node % 2 == 0 && node / 2 < pairs_.size(); }
    bool done() {
        constexpr std::uint64_t turns_between = 10'000;
        if (progress_ && ++turns_ % turns_between == 0) {
            const auto events = std::min(pairs_.front().events, events_);
            progress_(static_cast<double>(events) / static_cast<double>(events_));
        }
        while (done_ < pairs_.size() && pairs_[done_].end != never) ++done_;
        return done_ == pairs_.size();
    }

    Sp2Am& am_;
    std::vector<Clocked> pairs_;

private:
    std::uint64_t events_;
    Sp2Progress progress_;
    std::uint64_t turns_ = 0;
    std::size_t done_ = 0;  // number of the first pairs that are done
};

class PingPong : public PairProgram {
public:
    PingPong(Sp2Am& am, const Sp2PingPong& plan, const Sp2Progress& progress)
        : PairProgram(am, plan.warm_up + plan.counted, progress),
          plan_(plan),
          waits_(am.nodes() / 2) {}

    Instant on_turn(std::size_t node) override {
        if (!asks(node) || waits_[node / 2]) return never;
        waits_[node / 2] = true;
        const auto status =
            am_.request(node, node + 1, pair_handler, word(pairs_[node / 2].events));
        pairs_[node / 2].right &= status == am::PostStatus::accepted;
        return never;
    }

    void on_delivery(std::size_t node, std::size_t peer, const am::Delivery& delivery) override {
        Clocked& pair = pairs_[node / 2];
        if (const auto* request = std::get_if<am::Request>(&delivery)) {
            // The reply is the word plus one.
            const auto number = load_le<std::uint32_t>(request->arguments.first<4>());
            const auto status =
                am_.reply(node, peer, pair_handler, word(number + std::uint64_t{1}));
            pair.right &= status == am::PostStatus::accepted && number == pair.events;
        } else if (const auto* reply = std::get_if<am::Reply>(&delivery)) {
            const auto number = load_le<std::uint32_t>(reply->arguments.first<4>());
            pair.right &= number == pair.events + 1 && waits_[node / 2];
            pair.count(am_.host(node).now(), plan_.warm_up, plan_.counted);
            waits_[node / 2] = false;
        }
    }

private:
    ConstBytes word(std::uint64_t value) {
        store_le<std::uint32_t>(word_, static_cast<std::uint32_t>(value));
        return word_;
    }

    Sp2PingPong plan_;
    std::vector<bool> waits_;
    std::array<std::byte, 4> word_{};
};

class Stream : public PairProgram {
public:
    Stream(Sp2Am& am, const Sp2Stream& plan, const Sp2Progress& progress)
        : PairProgram(am, plan.warm_up + plan.counted, progress),
          plan_(plan),
          source_(plan.store_bytes + shifts),
          places_(am.nodes() / 2) {
        Content(plan.store_bytes).write(source_);
        for (std::size_t pair = 0; pair < places_.size(); ++pair) {
            Place& place = places_[pair];
            place.busy.resize(plan.outstanding);
            place.inbox.resize(plan.outstanding * plan.store_bytes);
            const bool added =
                am.memory(2 * pair + 1, 2 * pair).add(inbox_address, place.inbox, {.write = true});
            WIREPROOF_CHECK(added);
        }
    }

    Instant on_turn(std::size_t node) override {
        if (!asks(node)) return never;
        Place& place = places_[node / 2];
        const std::size_t slot = place.posted % plan_.outstanding;
        if (place.busy[slot]) return never;
        am::Connection::Store store;
        store.address = inbox_address + slot * plan_.store_bytes;
        store.source = content(place.posted);
        store.handler = pair_handler;
        store.argument = static_cast<std::uint32_t>(place.posted);
        store.tag = slot;
        if (am_.store(node, node + 1, store) != am::PostStatus::accepted) return never;
        place.busy[slot] = true;
        ++place.posted;
        return am_.host(node).now();
    }

    void on_delivery(std::size_t node, std::size_t, const am::Delivery& delivery) override {
        Clocked& pair = pairs_[node / 2];
        if (const auto* stored = std::get_if<am::Stored>(&delivery)) {
            const ConstBytes wanted = content(pair.events);
            pair.right &= stored->argument == pair.events &&
                          std::equal(wanted.begin(), wanted.end(), stored->memory.begin(),
                                     stored->memory.end());
            pair.count(am_.host(node).now(), plan_.warm_up, plan_.counted);
        } else if (const auto* ended = std::get_if<am::StoreEnded>(&delivery)) {
            pair.right &= ended->reason == am::Reason::none;
            places_[node / 2].busy[ended->tag] = false;
        }
    }

private:
    static constexpr std::uint64_t inbox_address = 0x1000;
    static constexpr std::size_t shifts = 251;  // so consecutive stores differ in every byte

    struct Place {
        std::vector<bool> busy;
        std::vector<std::byte> inbox;
        std::uint64_t posted = 0;
    };

    ConstBytes content(std::uint64_t number) const {
        return ConstBytes(source_).subspan(number % shifts, plan_.store_bytes);
    }

    Sp2Stream plan_;
    std::vector<std::byte> source_;
    std::vector<Place> places_;
};

}  // namespace

Sp2PerPair measure_round_trip(const Sp2AmConfig& config, const Sp2PingPong& plan,
                              const Sp2Progress& progress) {
    Sp2Am am(config);
    PingPong program(am, plan, progress);
    program.run();
    return sum_up(program.pairs(), true, [&](const Clocked& pair) {
        return pair.taken().seconds() * 1e6 / static_cast<double>(plan.counted);
    });
}

Sp2PerPair measure_bandwidth(const Sp2AmConfig& config, const Sp2Stream& plan,
                             const Sp2Progress& progress) {
    Sp2Am am(config);
    Stream program(am, plan, progress);
    program.run();
    const auto bytes = static_cast<double>(plan.counted * plan.store_bytes);
    return sum_up(program.pairs(), false,
                  [&](const Clocked& pair) { return bytes / pair.taken().seconds(); });
}

}  // namespace wireproof::lab
