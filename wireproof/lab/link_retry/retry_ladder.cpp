#include "wireproof/lab/link_retry/retry_ladder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>

namespace wireproof::lab {
namespace {

constexpr std::size_t events_max = std::size_t{1} << 16;
constexpr std::size_t frames_before = 4;
constexpr std::uint64_t units_after = 2;
constexpr std::size_t frames_max = 60;
constexpr std::size_t alike_max = 6;   // in one direction; of more, the middle is left out
constexpr std::size_t alike_kept = 2;  // at each end

/// The number, counted from 1, of the first unit that the receiver takes only after others were
/// sent in vain. Nothing if there is none until the end of the plan. A run of n + 1 units begins
/// like a run of n units, so a binary search finds the number.
Expected<std::optional<std::uint64_t>> first_failure(const RetrySettings& settings,
                                                     RetryPlan plan) {
    const std::uint64_t most = plan.packets > 0 ? plan.packets : plan.packets_max;
    plan.trace = nullptr;
    const auto fails_within = [&](std::uint64_t units) -> Expected<bool> {
        plan.packets = units;
        const auto point = run_retry_point(settings, plan);
        if (!point) return tl::unexpected(point.error());
        return point->totals[RetryCount::wasted] > 0;
    };
    std::uint64_t without = 0;
    std::uint64_t within = std::min<std::uint64_t>(64, most);
    while (true) {
        const auto fails = fails_within(within);
        if (!fails) return tl::unexpected(fails.error());
        if (*fails) break;
        if (within == most) return std::nullopt;
        without = within;
        within = within > most / 2 ? most : 2 * within;
    }
    while (within - without > 1) {
        const std::uint64_t middle = without + (within - without) / 2;
        const auto fails = fails_within(middle);
        if (!fails) return tl::unexpected(fails.error());
        (*fails ? within : without) = middle;
    }
    return within;
}

bool is_same(const FrameInfo& a, const FrameInfo& b) {
    return a.kind == b.kind && a.number == b.number && a.ack == b.ack && a.length == b.length;
}

/// Frames with their arrivals, in the order in which they left. A frame that was in flight when
/// recording began has no departure, so its arrivals are ignored.
class Gathering {
public:
    explicit Gathering(const Trace& trace) {
        for (std::size_t i = 0; i < trace.events().size(); ++i) take(trace.events()[i]);
    }
    Ladder ladder;

private:
    void take(const TraceEvent& event) {
        const auto from = static_cast<Side>(event.from);
        const Duration time = event.time.since_start();
        switch (event.direction) {
            case Direction::timer:
                ladder.notes.push_back({time, from, "timer", ladder.frames.size()});
                return;
            case Direction::sent:
                if (!event.fate.lost) in_flight_[event.from].push_back(ladder.frames.size());
                ladder.frames.push_back({.time = time,
                                         .from = from,
                                         .info = event.frame,
                                         .resent = event.resent,
                                         .fate = event.fate});
                return;
            case Direction::received: break;
        }
        auto& flying = in_flight_[event.from];
        if (flying.empty()) return;
        LadderFrame& frame = ladder.frames[flying.front()];
        if (!is_same(frame.info, event.frame) || frame.resent != event.resent) return;
        flying.pop_front();
        frame.arrivals.push_back({.time = time, .verdict = *event.verdict});
    }

    std::array<std::deque<std::size_t>, 2> in_flight_;
};

/// Whether the receiver takes undamaged frames of this kind: these are units. Other frames of the
/// sender are not taken.
bool is_taken(const Ladder& ladder, std::string_view kind) {
    return std::any_of(
        ladder.frames.begin(), ladder.frames.end(), [kind](const LadderFrame& frame) {
            return frame.from == Side::a && frame.info.kind == kind && !frame.arrivals.empty() &&
                   frame.arrivals.front().verdict == RxVerdict::accepted;
        });
}

/// Frames of the way back may fail, too, long before a unit does.
bool is_bad_unit(const Ladder& ladder, const LadderFrame& frame) {
    return frame.from == Side::a && (frame.fate.damaged || frame.refused()) &&
           is_taken(ladder, frame.info.kind);
}

/// Keeps the frames for which `keeps` is true, and the notes from the time of the first to the time
/// of the last of them.
template <class Keeps>
void keep(Ladder& ladder, Keeps&& keeps) {
    std::vector<LadderFrame> frames;
    std::vector<std::size_t> place(ladder.frames.size() + 1);
    for (std::size_t i = 0; i < ladder.frames.size(); ++i) {
        place[i] = frames.size();
        if (keeps(i)) frames.push_back(std::move(ladder.frames[i]));
    }
    place.back() = frames.size();
    ladder.frames = std::move(frames);
    for (LadderNote& note : ladder.notes) note.before = place[note.before];
    std::erase_if(ladder.notes, [&](const LadderNote& note) {
        return ladder.frames.empty() || note.time < ladder.frames.front().time ||
               note.before == ladder.frames.size();
    });
}

/// Keeps some frames before the first bad unit, and some frames after the unit for which the
/// receiver waited. Leaves out frames that had not arrived when the run ended.
void cut_to_failure(Ladder& ladder) {
    const auto bad =
        std::find_if(ladder.frames.begin(), ladder.frames.end(),
                     [&ladder](const LadderFrame& frame) { return is_bad_unit(ladder, frame); });
    const auto first = static_cast<std::size_t>(bad - ladder.frames.begin());
    const std::size_t begin = first < frames_before ? 0 : first - frames_before;
    keep(ladder, [&](std::size_t i) {
        return i >= begin && (ladder.frames[i].fate.lost || !ladder.frames[i].arrivals.empty());
    });
}

bool is_like(const LadderFrame& a, const LadderFrame& b) {
    return a.info.kind == b.info.kind && a.resent == b.resent && a.fate == b.fate &&
           a.refused() == b.refused();
}

std::string what_is_left_out(std::size_t count, const LadderFrame& frame) {
    return "(" + std::to_string(count) + " more " + std::string(frame.info.kind) +
           (frame.refused() ? ", refused)" : ")");
}

/// Replaces the middle of a long run of like frames from one side by a note.
void leave_out_repetitions(Ladder& ladder) {
    std::vector<bool> left_out(ladder.frames.size());
    for (const Side side : {Side::a, Side::b}) {
        std::vector<std::size_t> run;
        const auto end_run = [&] {
            if (run.size() > alike_max) {
                const std::size_t gone = run.size() - 2 * alike_kept;
                for (std::size_t i = alike_kept; i < alike_kept + gone; ++i) {
                    left_out[run[i]] = true;
                }
                const std::size_t at = run[alike_kept];
                const LadderFrame& frame = ladder.frames[at];
                ladder.notes.push_back({frame.time, side, what_is_left_out(gone, frame), at});
            }
            run.clear();
        };
        for (std::size_t i = 0; i < ladder.frames.size(); ++i) {
            if (ladder.frames[i].from != side) continue;
            if (!run.empty() && !is_like(ladder.frames[run.back()], ladder.frames[i])) end_run();
            run.push_back(i);
        }
        end_run();
    }
    std::stable_sort(ladder.notes.begin(), ladder.notes.end(),
                     [](const LadderNote& a, const LadderNote& b) { return a.time < b.time; });
    keep(ladder, [&](std::size_t i) { return !left_out[i]; });
}

/// Makes all times count from the first frame.
void count_from_start(Ladder& ladder) {
    const Duration start = ladder.frames.front().time;
    for (LadderFrame& frame : ladder.frames) {
        frame.time = frame.time - start;
        for (LadderArrival& arrival : frame.arrivals) arrival.time = arrival.time - start;
    }
    for (LadderNote& note : ladder.notes) note.time = note.time - start;
}

std::string title_of(const RetrySettings& s, std::uint64_t unit) {
    std::string title = "Unit " + std::to_string(unit) + " is the first that " +
                        (s.protocol == RetryProtocol::uc ? "is lost" : "costs a retry") + ",";
    if (s.bit_error > 0) {
        std::array<char, 32> rate{};
        const auto end = std::to_chars(rate.data(), rate.data() + rate.size(), s.bit_error,
                                       std::chars_format::general, 6);
        title += " at a bit error rate of " + std::string(rate.data(), end.ptr);
    }
    return title + " with " + std::to_string(s.payload) + " bytes of payload and a loop of " +
           std::to_string(s.loop) + ". Times are bytes on the line.";
}

}  // namespace

bool has_frames(RetryProtocol protocol) {
    return protocol != RetryProtocol::ideal && protocol != RetryProtocol::go_back_n;
}

Expected<Ladder> run_retry_ladder(const RetrySettings& settings, const RetryPlan& plan) {
    const auto link = resolve(settings);
    if (!link) return tl::unexpected(link.error());
    const std::string name(name_of(settings.protocol));
    if (!has_frames(settings.protocol)) {
        return unexpected(name + " is a model and has no frames to draw");
    }
    const std::string never =
        name + " sends nothing in vain at this point: there is no failure to draw";
    if (!foreseen_point(settings)->meets_errors) return unexpected(never);
    // The search makes many runs, and their number is not known. So it reports the progress 0.
    RetryPlan searching = plan;
    if (plan.progress) searching.progress = [&plan](double) { plan.progress(0); };
    const auto failure = first_failure(settings, searching);
    if (!failure) return tl::unexpected(failure.error());
    if (!*failure) return unexpected(never);
    const std::uint64_t unit = **failure;

    // Recording starts so early that the frames then in flight arrive long before the failure.
    const auto in_loop =
        static_cast<std::uint64_t>(static_cast<double>(link->loop) / link->unit.bytes());
    const std::uint64_t lead = 16 + 2 * std::min<std::uint64_t>(in_loop, link->buffer);
    Trace trace(events_max);
    RetryPlan traced = searching;
    traced.trace = &trace;
    traced.trace_after = unit - std::min(unit, lead);
    traced.packets = unit + units_after;
    if (const auto point = run_retry_point(settings, traced); !point) {
        return tl::unexpected(point.error());
    }
    if (trace.recorded() > events_max) {
        return unexpected(name + " takes more frames for its first failure than can be drawn");
    }
    Ladder ladder = Gathering(trace).ladder;
    cut_to_failure(ladder);
    leave_out_repetitions(ladder);
    if (ladder.frames.size() > frames_max) {
        keep(ladder, [](std::size_t i) { return i < frames_max; });
        ladder.end = LadderEnd::frame_limit;
    }
    count_from_start(ladder);
    ladder.name = name + "-first-failure";
    ladder.title = title_of(settings, unit);
    ladder.protocol = name_of(settings.protocol);
    ladder.clock = LadderClock::line_bytes;
    return ladder;
}

}  // namespace wireproof::lab
