// Two ends of a wire, the frames between them, and everything that can happen: frames leave,
// arrive, are overtaken, repeated, lost or damaged in every order, and timers expire at any moment.
//
// No time passes while frames move. Each end has its own clock, which moves only when one of its
// timers expires, to the deadline of that timer. So states that differ only in their age are one
// state.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/lab/search/search_ends.hpp"
#include "wireproof/lab/search/search_story.hpp"

namespace wireproof::lab {

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
    std::size_t in_flight(std::size_t from) const { return roads_[from].size; }
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
            return "more was sent again than the faults explain";
        }
        return {};
    }

    // Places on a road without a frame come last.
    PackedState packed() const {
        PackedState packed;
        for (std::size_t i = 0; i < 2; ++i) {
            packed.add(at_[i], 4);
            for (std::size_t k = 0; k < ends_->setting().in_flight; ++k) {
                packed.add(k < roads_[i].size ? roads_[i].frames[k] + 1 : 0, 3);
            }
        }
        if (ends_->setting().faults) packed.add(faults_, 1);
        return packed;
    }
    void unpack(ConstBytes bytes) {
        PackedReader reader(bytes);
        for (std::size_t i = 0; i < 2; ++i) {
            at_[i] = reader.read(4);
            roads_[i] = {};
            for (std::size_t k = 0; k < ends_->setting().in_flight; ++k) {
                if (const Id frame = reader.read(3); frame > 0) roads_[i].push(frame - 1);
            }
        }
        if (ends_->setting().faults) faults_ = static_cast<std::uint8_t>(reader.read(1));
    }

    /// States that differ by a shift of labels have the same key: the ends and the frames without
    /// labels, and how far each label is from the newest one of the end that counted it.
    PackedState key_of(ConstBytes bytes) const {
        PairWorld world = *this;
        world.unpack(bytes);
        std::array<std::uint32_t, 2> newest{};
        for (std::size_t i = 0; i < 2; ++i)
            newest[i] = ends_->labelled_end(world.at_[i]).labels.own;
        PackedState key;
        const auto add = [&](std::uint16_t label, std::size_t counted_by) {
            const std::uint32_t count = ends_->label_count();
            const bool none = label == Labels::none;
            key.add(none ? 0 : 1 + (label + count - newest[counted_by]) % count, 2);
        };
        for (std::size_t i = 0; i < 2; ++i) {
            const Labelled& end = ends_->labelled_end(world.at_[i]);
            key.add(end.kind, 4);
            add(end.labels.peers, 1 - i);
            for (std::size_t k = 0; k < ends_->setting().in_flight; ++k) {
                if (k >= world.roads_[i].size) {
                    key.add(0, 3);
                    continue;
                }
                const Labelled& frame = ends_->labelled_frame(world.roads_[i].frames[k]);
                key.add(1 + frame.kind, 3);
                if (frame.labels == Labels()) continue;
                add(frame.labels.own, i);
                add(frame.labels.peers, 1 - i);
            }
        }
        if (ends_->setting().faults) key.add(world.faults_, 1);
        return key;
    }
    bool has_keys() const {
        const SearchSetting& setting = ends_->setting();
        return LabelledEnd<End> && setting.shift_labels && !setting.replays_per_fault;
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
            case What::damage:
            case What::damage_tail: {
                const Id frame = move.what == What::repeat ? on_its_way(end, move.place)
                                                           : roads_[end].take(move.place);
                const Arrives how = move.what == What::damage        ? Arrives::damaged
                                    : move.what == What::damage_tail ? Arrives::with_damaged_tail
                                                                     : Arrives::intact;
                const auto arrival = ends_->arrive(at_[1 - end], frame, how);
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
                if (setting.separate_front > 0)
                    moves.push_back({What::damage_tail, i, place, true});
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
                if (move.what == What::damage_tail) {
                    step.intact_front = ends_.setting().separate_front;
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
