// Two ends of a wire, the frames between them, and everything that can happen: frames leave,
// arrive, are overtaken, repeated, lost or damaged in every order, and timers expire at any moment.
//
// No time passes while frames move. Each end has its own clock, which moves only when one of its
// timers expires, to the deadline of that timer. So states that differ only in their age are one
// state.
//
// The search computes only once what an end does in a state, and not again for each world with this
// state, because equal fingerprints mean equal futures. doubt() checks this.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/core/engine.hpp"
#include "wireproof/lab/search/search.hpp"
#include "wireproof/lab/search/search_setting.hpp"
#include "wireproof/lab/search/search_story.hpp"

namespace wireproof::lab {

/// An engine and its user, as a value. A copy is the same end in another world.
template <class End>
concept SearchEnd = std::copyable<End> &&
    requires(End end, const End& still, const std::vector<std::byte>& frame, ConstBytes bytes) {
    // Submits all messages for which the engine has room, or only the next message.
    { end.offer_all() } -> std::same_as<void>;
    { still.can_offer() } -> std::same_as<bool>;
    { end.offer() } -> std::same_as<void>;
    // Nothing if there is nothing to send. An empty frame is lost at once.
    { end.transmit() } -> std::same_as<std::optional<std::vector<std::byte>>>;
    { end.receive(frame, bool()) } -> std::same_as<RxVerdict>;
    { still.deadline() } -> std::same_as<Instant>;
    { still.now() } -> std::same_as<Instant>;
    { end.wait() } -> std::same_as<void>;
    // This end's part is done: it submitted all messages, and all are acknowledged.
    { still.done() } -> std::same_as<bool>;
    { still.replays() } -> std::same_as<std::uint64_t>;
    // The first promise that this end broke, or that both ends broke, judged by their states.
    { still.violation() } -> std::same_as<const char*>;
    { End::contradiction(still, still) } -> std::same_as<const char*>;
    // Each end received all messages that the other submitted.
    { End::agree(still, still) } -> std::same_as<bool>;
    { still.fingerprint() } -> std::same_as<Fingerprint::Value>;
    { still.describe(bytes) } -> std::same_as<FrameInfo>;
    // What the end delivered to its user between two states.
    { End::news(still, still) } -> std::same_as<std::string>;
};

/// Every state in which an end was, by number, and what the end does in it.
template <SearchEnd End>
class SearchEnds {
public:
    using Id = FingerprintTable::Id;
    using Frame = std::vector<std::byte>;
    static constexpr Id none = 0xFFFFFFFF;

    struct Left {
        Id end = none;  // none: there was nothing to send
        Id frame = none;
    };
    struct Arrival {
        Id end = none;
        RxVerdict verdict = RxVerdict::control;
    };

    SearchEnds(const SearchSetting& setting, const std::array<End, 2>& first) : setting_(setting) {
        WIREPROOF_CHECK(setting.in_flight >= 1 &&
                        setting.in_flight <= SearchSetting::in_flight_max);
        WIREPROOF_CHECK(!setting.replays_per_fault || setting.faults);
        for (std::size_t i = 0; i < 2; ++i) first_[i] = add(first[i]);
    }

    const SearchSetting& setting() const { return setting_; }
    std::size_t size() const { return known_.size(); }
    Id first(std::size_t end) const { return first_[end]; }

    const End& state(Id id) const { return *entries_[id].state; }
    bool done(Id id) const { return entries_[id].done; }
    bool has_timer(Id id) const { return entries_[id].has_timer; }
    bool timer_due(Id id) const { return entries_[id].timer_due; }
    bool can_offer(Id id) const { return entries_[id].can_offer; }
    FrameInfo info(Id frame) const { return entries_.front().state->describe(frames_[frame]); }

    Left leave(Id id) {
        if (!entries_[id].leave_known) {
            Left left;
            End end = *entries_[id].state;
            if (const auto frame = end.transmit()) left = {add(std::move(end)), number_of(*frame)};
            entries_[id].left = left;
            entries_[id].leave_known = true;
        }
        return entries_[id].left;
    }

    Arrival arrive(Id id, Id frame, bool damaged) {
        const std::uint32_t key = frame * 2 + (damaged ? 1 : 0);
        for (const auto& [known, arrival] : entries_[id].arrivals) {
            if (known == key) return arrival;
        }
        End end = *entries_[id].state;
        const RxVerdict verdict = end.receive(frames_[frame], damaged);
        const Arrival arrival{add(std::move(end)), verdict};
        entries_[id].arrivals.emplace_back(key, arrival);
        return arrival;
    }

    Id wait(Id id) {
        if (entries_[id].waited == none) {
            End end = *entries_[id].state;
            end.wait();
            const Id next = add(std::move(end));
            entries_[id].waited = next;
        }
        return entries_[id].waited;
    }

    Id offer(Id id) {
        if (entries_[id].offered == none) {
            End end = *entries_[id].state;
            end.offer();
            const Id next = add(std::move(end));
            entries_[id].offered = next;
        }
        return entries_[id].offered;
    }

    /// Compares all states that were met more than once: each must act like the first one.
    SearchDoubts doubt() const {
        SearchDoubts doubts;
        for (const Entry& entry : entries_) {
            for (const End& twin : entry.twins) {
                ++doubts.compared;
                if (!same_future(entry, twin)) ++doubts.differing;
            }
        }
        return doubts;
    }

private:
    static constexpr std::size_t twins_max = 2;

    struct Entry {
        std::unique_ptr<const End> state;
        bool done = false;
        bool has_timer = false;
        bool timer_due = false;
        bool can_offer = false;
        bool leave_known = false;
        Left left{};
        Id waited = none;
        Id offered = none;
        std::vector<std::pair<std::uint32_t, Arrival>> arrivals{};
        std::vector<End> twins{};
    };

    // Users that do not hesitate submit their messages at once.
    void settle(End& end) const {
        if (!setting_.users_hesitate) end.offer_all();
    }

    Fingerprint::Value fingerprint(const End& end) const {
        const Fingerprint::Value value = end.fingerprint();
        if (!setting_.replays_per_fault) return value;
        Fingerprint sink;
        sink.add(value.high);
        sink.add(value.low);
        sink.add(end.replays());
        return sink.value();
    }

    Id add(End end) {
        settle(end);
        const auto place = known_.find_or_add(fingerprint(end));
        if (!place.is_new) {
            auto& twins = entries_[place.id].twins;
            if (setting_.doubt && twins.size() < twins_max) twins.push_back(std::move(end));
            return place.id;
        }
        Entry entry;
        const Instant deadline = end.deadline();
        entry.has_timer = deadline != never;
        entry.timer_due = deadline <= end.now();
        entry.done = end.done();
        entry.can_offer = setting_.users_hesitate && end.can_offer();
        entry.state = std::make_unique<const End>(std::move(end));
        entries_.push_back(std::move(entry));
        return place.id;
    }

    bool same_future(const Entry& entry, const End& twin) const {
        const End& state = *entry.state;
        const auto left = [](const End& end) {
            return end.deadline() == never ? Duration(-1) : end.deadline() - end.now();
        };
        const auto leads_to = [this](End& end, Id id) {
            settle(end);
            return fingerprint(end) == known_.value(id);
        };
        if (left(twin) != left(state) || twin.done() != state.done()) return false;
        if (setting_.users_hesitate && twin.can_offer() != state.can_offer()) return false;
        if (entry.leave_known) {
            End end = twin;
            const auto frame = end.transmit();
            if (frame.has_value() != (entry.left.end != none)) return false;
            if (frame && *frame != frames_[entry.left.frame]) return false;
            if (frame && !leads_to(end, entry.left.end)) return false;
        }
        for (const auto& [key, arrival] : entry.arrivals) {
            End end = twin;
            if (end.receive(frames_[key / 2], key % 2 == 1) != arrival.verdict) return false;
            if (!leads_to(end, arrival.end)) return false;
        }
        if (entry.waited != none) {
            End end = twin;
            end.wait();
            if (!leads_to(end, entry.waited)) return false;
        }
        return true;
    }

    Id number_of(const Frame& frame) {
        Fingerprint sink;
        sink.add_bytes(frame);
        const auto place = frame_numbers_.find_or_add(sink.value());
        if (place.is_new) frames_.push_back(frame);
        return place.id;
    }

    SearchSetting setting_;
    FingerprintTable known_;
    std::vector<Entry> entries_;
    std::vector<Frame> frames_;
    FingerprintTable frame_numbers_;
    std::array<Id, 2> first_{};
};

/// Two of these ends and the frames in flight between them.
template <SearchEnd End>
class PairWorld {
public:
    using Ends = SearchEnds<End>;
    using Id = typename Ends::Id;
    using What = SearchMove::What;
    static constexpr std::uint8_t both = SearchMove::both;

    explicit PairWorld(Ends& ends) : ends_(&ends), at_{ends.first(0), ends.first(1)} {}

    Id at(std::size_t end) const { return at_[end]; }
    Id on_its_way(std::size_t from, std::size_t place) const { return roads_[from].frames[place]; }

    // No frame may be left to send: an exchange that goes on forever after the last message does
    // not count as finished.
    bool finished() const {
        for (std::size_t i = 0; i < 2; ++i) {
            if (!ends_->done(at_[i]) || roads_[i].size > 0) return false;
            if (ends_->leave(at_[i]).end != Ends::none) return false;
        }
        return End::agree(ends_->state(at_[0]), ends_->state(at_[1]));
    }

    std::string violation() const {
        const End& a = ends_->state(at_[0]);
        const End& b = ends_->state(at_[1]);
        for (const char* sentence : {a.violation(), b.violation(), End::contradiction(a, b)}) {
            if (sentence != nullptr) return sentence;
        }
        const auto& worth = ends_->setting().replays_per_fault;
        if (worth && a.replays() + b.replays() > std::uint64_t{*worth} * faults_) {
            return "more was sent again than the faults are reason for";
        }
        return {};
    }

    void fingerprint(Fingerprint& sink) const {
        for (std::size_t i = 0; i < 2; ++i) {
            sink.add(at_[i] | std::uint64_t{roads_[i].size} << 32);
            for (std::size_t k = 0; k < roads_[i].size; ++k) sink.add(roads_[i].frames[k]);
        }
        if (ends_->setting().faults) sink.add(faults_);
    }

    void moves(std::vector<SearchMove>& moves) const {
        const SearchSetting& setting = ends_->setting();
        const auto for_each_end = [&](What what, bool fault, auto&& possible) {
            for (std::uint8_t i = 0; i < 2; ++i) {
                if (possible(i)) moves.push_back({what, i, 0, fault});
            }
        };
        for_each_end(What::arrive, false, [&](auto i) { return roads_[i].size > 0; });
        for_each_end(What::offer, false, [&](auto i) { return ends_->can_offer(at_[i]); });
        for_each_end(What::leave, false, [&](auto i) {
            return roads_[i].size < setting.in_flight && ends_->leave(at_[i]).end != Ends::none;
        });
        for_each_end(What::due, false, [&](auto i) { return ends_->timer_due(at_[i]); });
        const auto late = [&](auto i) {
            return ends_->has_timer(at_[i]) && !ends_->timer_due(at_[i]);
        };
        const bool quiet = moves.empty();
        if (quiet) {
            // If both ends only wait, their timers may expire at the same time.
            if (late(0U) && late(1U)) moves.push_back({What::wait, both});
            for_each_end(What::wait, false, late);
        }
        if (setting.faults && faults_ >= *setting.faults) return;
        if (!quiet && setting.early_timers) for_each_end(What::wait, true, late);
        add_faults_of_the_wire(moves);
    }

    /// Returns the verdict about the frame that arrived, if one arrived.
    std::optional<RxVerdict> take_and_tell(SearchMove move) {
        const std::size_t end = move.end;
        if (move.fault && ends_->setting().faults) ++faults_;
        switch (move.what) {
            case What::arrive:
            case What::repeat:
            case What::damage: {
                const Id frame = move.what == What::repeat ? on_its_way(end, move.place)
                                                           : roads_[end].take(move.place);
                const auto arrival = ends_->arrive(at_[1 - end], frame, move.what == What::damage);
                at_[1 - end] = arrival.end;
                return arrival.verdict;
            }
            case What::lose: roads_[end].take(move.place); break;
            case What::offer: at_[end] = ends_->offer(at_[end]); break;
            case What::leave: {
                const auto left = ends_->leave(at_[end]);
                at_[end] = left.end;
                roads_[end].push(left.frame);
                break;
            }
            case What::due:
            case What::wait:
                for (std::size_t i = 0; i < 2; ++i) {
                    if (end == i || end == both) at_[i] = ends_->wait(at_[i]);
                }
                break;
        }
        return std::nullopt;
    }
    void take(SearchMove move) { take_and_tell(move); }

private:
    struct Road {
        std::array<Id, SearchSetting::in_flight_max> frames{};  // oldest first
        std::uint8_t size = 0;

        void push(Id frame) { frames[size++] = frame; }
        Id take(std::size_t place) {
            const Id taken = frames[place];
            std::copy(frames.begin() + place + 1, frames.begin() + size, frames.begin() + place);
            --size;
            return taken;
        }
    };

    // If frames keep their order, only the oldest can meet a fault now. The others can when they
    // are the oldest.
    void add_faults_of_the_wire(std::vector<SearchMove>& moves) const {
        const SearchSetting& setting = ends_->setting();
        for (std::uint8_t i = 0; i < 2; ++i) {
            if (!setting.at_risk[i]) continue;
            const std::size_t places = setting.overtake ? roads_[i].size : roads_[i].size > 0;
            for (std::uint8_t place = 0; place < places; ++place) {
                if (setting.lose) moves.push_back({What::lose, i, place, true});
                if (setting.damage) moves.push_back({What::damage, i, place, true});
                if (setting.repeat) moves.push_back({What::repeat, i, place, true});
                if (place > 0) moves.push_back({What::arrive, i, place, true});
            }
        }
    }

    Ends* ends_;
    std::array<Id, 2> at_;
    std::array<Road, 2> roads_{};  // by sender
    std::uint8_t faults_ = 0;
};

/// The search over two ends.
template <SearchEnd End>
class PairSearch {
public:
    PairSearch(const SearchSetting& setting, const std::array<End, 2>& first)
        : ends_(setting, first) {}
    PairSearch(const PairSearch&) = delete;
    PairSearch& operator=(const PairSearch&) = delete;
    ~PairSearch() = default;

    SearchResult run(const SearchLimits& limits = {}) {
        return Search<PairWorld<End>>(limits).run(PairWorld<End>(ends_));
    }

    /// The path that run() found, frame by frame.
    std::vector<SearchStep> story(const std::vector<SearchMove>& path) {
        using What = SearchMove::What;
        std::vector<SearchStep> steps;
        PairWorld<End> world(ends_);
        std::array<std::size_t, 2> left{};
        std::array<std::vector<std::size_t>, 2> roads;  // indices of frames, by sender
        for (const SearchMove move : path) {
            SearchStep step{.move = move};
            const std::size_t end = move.end;
            const auto moved_on = static_cast<std::ptrdiff_t>(move.place);
            if (move.what == What::leave) {
                step.frame = ++left[end];
                step.info = ends_.info(ends_.leave(world.at(end)).frame);
                roads[end].push_back(step.frame);
            } else if (move.moves_frame()) {
                step.frame = roads[end][move.place];
                step.info = ends_.info(world.on_its_way(end, move.place));
                if (move.what != What::repeat) roads[end].erase(roads[end].begin() + moved_on);
                if (move.what == What::arrive) {
                    step.overtaken.assign(roads[end].begin(), roads[end].begin() + moved_on);
                }
            }
            const PairWorld<End> before = world;
            step.verdict = world.take_and_tell(move);
            if (step.verdict) {
                step.delivered =
                    End::news(ends_.state(before.at(1 - end)), ends_.state(world.at(1 - end)));
            }
            steps.push_back(std::move(step));
        }
        return steps;
    }

    /// The number of different states of an end.
    std::size_t end_states() const { return ends_.size(); }
    /// May be called after run() if SearchSetting::doubt is set.
    SearchDoubts doubt() const { return ends_.doubt(); }

private:
    SearchEnds<End> ends_;
};

}  // namespace wireproof::lab
