// The states of one end in a search: the engine and its user. What an end does in a state is
// computed only once, and not again for each world with this state, because equal fingerprints mean
// equal futures. doubt() checks this.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wireproof/core/engine.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/lab/search/search.hpp"
#include "wireproof/lab/search/search_labels.hpp"
#include "wireproof/lab/search/search_setting.hpp"

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
    { end.receive(frame, Arrives{}) } -> std::same_as<RxVerdict>;
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

/// An end whose engine has labels. The frame's are set to zero where set_labels_aside() reads them.
template <class End>
concept LabelledEnd = SearchEnd<End> && requires(const End& end, std::vector<std::byte>& frame) {
    { end.labels() } -> std::same_as<Labels>;
    { end.fingerprint_without_labels() } -> std::same_as<Fingerprint::Value>;
    { End::set_labels_aside(frame) } -> std::same_as<Labels>;
    { end.label_count() } -> std::same_as<std::uint32_t>;  // labels count modulo this
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
        if constexpr (LabelledEnd<End>) label_count_ = first[0].label_count();
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
    const Frame& frame(Id frame) const { return frames_[frame]; }
    const Labelled& labelled_end(Id id) const { return entries_[id].labelled; }
    const Labelled& labelled_frame(Id frame) const { return labelled_frames_[frame]; }
    std::uint32_t label_count() const { return label_count_; }
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

    Arrival arrive(Id id, Id frame, Arrives how) {
        const std::uint32_t key = frame * ways_to_arrive + static_cast<std::uint32_t>(how);
        for (const auto& [known, arrival] : entries_[id].arrivals) {
            if (known == key) return arrival;
        }
        End end = *entries_[id].state;
        const RxVerdict verdict = end.receive(frames_[frame], how);
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

    /// Compares all states that were met more than once: each must act like the first one. And it
    /// compares states that differ only in their labels, in what both have done.
    SearchDoubts doubt() const {
        SearchDoubts doubts;
        std::vector<const Entry*> first_of_kind(kinds_.size());
        for (const Entry& entry : entries_) {
            for (const End& twin : entry.twins) {
                ++doubts.compared;
                if (!same_future(entry, twin)) ++doubts.differing;
            }
            if (!LabelledEnd<End> || entry.labelled.labels.peers == Labels::none) continue;
            const Entry*& first = first_of_kind[entry.labelled.kind];
            if (first == nullptr) {
                first = &entry;
            } else {
                compare_shifted(*first, entry, doubts);
            }
        }
        return doubts;
    }

private:
    static constexpr std::size_t twins_max = 2;
    static constexpr std::uint32_t ways_to_arrive = 3;

    struct Entry {
        std::unique_ptr<const End> state;
        bool done = false;
        bool has_timer = false;
        bool timer_due = false;
        bool can_offer = false;
        Labelled labelled{};
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
        if constexpr (LabelledEnd<End>) {
            const auto kind = kinds_.find_or_add(end.fingerprint_without_labels());
            entry.labelled = {kind.id, end.labels()};
        }
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
            const auto how = static_cast<Arrives>(key % ways_to_arrive);
            if (end.receive(frames_[key / ways_to_arrive], how) != arrival.verdict) return false;
            if (!leads_to(end, arrival.end)) return false;
        }
        if (entry.waited != none) {
            End end = twin;
            end.wait();
            if (!leads_to(end, entry.waited)) return false;
        }
        return true;
    }

    void compare_shifted(const Entry& one, const Entry& other, SearchDoubts& doubts) const {
        const LabelShift shift(one.labelled.labels, other.labelled.labels, label_count_);
        const auto compare = [&](bool alike) {
            ++doubts.shifts_compared;
            if (!alike) ++doubts.shifts_differing;
        };
        const auto ends_alike = [&](Id a, Id b) {
            if (a == none || b == none) return a == b;
            const Labelled& end_a = entries_[a].labelled;
            const Labelled& end_b = entries_[b].labelled;
            return end_a.kind == end_b.kind && shift.of_end(end_a.labels) == end_b.labels;
        };
        compare(one.done == other.done && one.has_timer == other.has_timer &&
                one.timer_due == other.timer_due && one.can_offer == other.can_offer);
        if (one.waited != none && other.waited != none) {
            compare(ends_alike(one.waited, other.waited));
        }
        if (one.leave_known && other.leave_known) {
            bool alike = ends_alike(one.left.end, other.left.end);
            if (alike && one.left.end != none) {
                const Labelled& frame = labelled_frames_[one.left.frame];
                const Labelled& other_frame = labelled_frames_[other.left.frame];
                alike = frame.kind == other_frame.kind &&
                        shift.of_end(frame.labels) == other_frame.labels;
            }
            compare(alike);
        }
        for (const auto& [key, arrival] : one.arrivals) {
            const Labelled& frame = labelled_frames_[key / ways_to_arrive];
            for (const auto& [other_key, other_arrival] : other.arrivals) {
                const Labelled& other_frame = labelled_frames_[other_key / ways_to_arrive];
                if (key % ways_to_arrive != other_key % ways_to_arrive ||
                    frame.kind != other_frame.kind ||
                    shift.of_frame_of_peer(frame.labels) != other_frame.labels) {
                    continue;
                }
                compare(arrival.verdict == other_arrival.verdict &&
                        ends_alike(arrival.end, other_arrival.end));
            }
        }
    }

    Id number_of(const Frame& frame) {
        Fingerprint sink;
        sink.add_bytes(frame);
        const auto place = frame_numbers_.find_or_add(sink.value());
        if (!place.is_new) return place.id;
        frames_.push_back(frame);
        if constexpr (LabelledEnd<End>) {
            Frame bare = frame;
            const Labels labels = End::set_labels_aside(bare);
            Fingerprint kind;
            kind.add_bytes(bare);
            labelled_frames_.push_back({frame_kinds_.find_or_add(kind.value()).id, labels});
        }
        return place.id;
    }

    SearchSetting setting_;
    FingerprintTable known_;
    std::vector<Entry> entries_;
    std::vector<Frame> frames_;
    FingerprintTable frame_numbers_;
    // If the ends have labels: all states, and all frames, without them.
    FingerprintTable kinds_;
    FingerprintTable frame_kinds_;
    std::vector<Labelled> labelled_frames_;
    std::uint32_t label_count_ = 0;
    std::array<Id, 2> first_{};
};

}  // namespace wireproof::lab
