#include "tests/exhaustive/fates.hpp"

#include <deque>
#include <optional>

namespace wireproof::tiny {
namespace {

constexpr Duration tick = Duration::nanoseconds(1);
constexpr std::uint64_t flight_ticks = 2;
constexpr std::uint64_t ticks_max = 2000;

struct Frame {
    lab::AmEnd::Frame bytes;
    bool damaged = false;
};

// Flips bits and marks the frame as damaged, as after a check with a checksum.
void damage(Frame& frame) {
    frame.damaged = true;
    for (std::size_t i = 4; i < frame.bytes.size(); i += 3) frame.bytes[i] ^= std::byte{1};
}

/// The frames on the way in one direction.
class Road {
public:
    void send(const Frame& frame, std::uint64_t now, Fate fate) {
        const std::uint64_t due = now + flight_ticks;
        if (fate == Fate::lost) return;
        if (fate == Fate::swapped && !held_) {
            held_ = frame;
            held_until_ = due + 4;
            return;
        }
        flying_.push_back({frame, due});
        if (fate == Fate::damaged) damage(flying_.back().frame);
        if (fate == Fate::repeated) flying_.push_back({frame, due});
        release(due);
    }

    std::optional<Frame> take(std::uint64_t now) {
        if (held_ && now >= held_until_) release(now);  // no later frame came
        if (flying_.empty() || flying_.front().due > now) return std::nullopt;
        const Frame frame = flying_.front().frame;
        flying_.pop_front();
        return frame;
    }

    bool empty() const { return flying_.empty() && !held_; }

private:
    struct Flying {
        Frame frame;
        std::uint64_t due;
    };

    void release(std::uint64_t due) {
        if (held_) flying_.push_back({*held_, due});
        held_.reset();
    }

    std::deque<Flying> flying_;
    std::optional<Frame> held_;
    std::uint64_t held_until_ = 0;
};

struct Run {
    std::array<lab::AmEnd, 2> ends;
    FateCode code;  // for the frames that the ends have not sent yet
    std::uint64_t faults = 0;
    std::string violation{};

    void check(bool kept, const std::string& sentence) {
        if (!kept && violation.empty()) violation = sentence;
    }

    void check_promises() {
        const auto& [a, b] = ends;
        for (const char* sentence :
             {a.violation(), b.violation(), lab::AmEnd::contradiction(a, b)}) {
            check(sentence == nullptr, sentence == nullptr ? "" : sentence);
        }
    }

    bool finished() const {
        return ends[0].done() && ends[1].done() && lab::AmEnd::agree(ends[0], ends[1]);
    }

    Fate next_fate(std::size_t from) {
        if (code.frames[from] == 0) return Fate::delivered;
        --code.frames[from];
        const auto fate = static_cast<Fate>(code.digits % fates);
        code.digits /= fates;
        faults += fate == Fate::delivered ? 0 : 1;
        return fate;
    }

    /// Sends at most one frame in each direction in each tick, until both ends are done.
    void go() {
        std::array<Road, 2> roads;  // by sender
        for (std::uint64_t now = 1; now < ticks_max; ++now) {
            for (std::size_t node = 0; node < 2; ++node) {
                lab::AmEnd& end = ends[node];
                end.advance(Instant(tick * static_cast<std::int64_t>(now)));
                while (const auto frame = roads[1 - node].take(now)) {
                    end.receive(frame->bytes,
                                frame->damaged ? lab::Arrives::damaged : lab::Arrives::intact);
                }
                end.on_deadline();
                end.offer_all();
                if (auto frame = end.transmit()) {
                    roads[node].send({*std::move(frame)}, now, next_fate(node));
                }
            }
            check_promises();
            if (!violation.empty()) return;
            if (roads[0].empty() && roads[1].empty() && finished()) return check_cost();
        }
        check(false, "not finished after " + std::to_string(ticks_max) + " ticks");
    }

    // AM-38, AM-53: only a fault, a keep-alive or a refusal may start a retransmission.
    void check_cost() {
        for (std::size_t node = 0; node < 2; ++node) {
            const am::Stats& own = ends[node].stats();
            const am::Stats& peer = ends[1 - node].stats();
            const std::uint64_t reasons =
                faults + own.sent_of(am::Kind::keepalive) + peer.received_as(RxVerdict::refused);
            check(own.nacks_acted_on <= reasons, "more resends than reasons for one");
            const std::uint64_t window = ends[node].config().window[0];
            check(own.resent <= own.nacks_acted_on * window, "more resent than asked for");
            check(own.keepalive_timeouts <= 3 * faults + 4, "too many keep-alives");
        }
    }
};

}  // namespace

std::string FateCode::spelled() const {
    std::string letters;
    std::uint64_t left = digits;
    for (std::uint64_t i = 0; i < frames[0] + frames[1]; ++i, left /= fates) {
        letters += "DLRSX"[left % fates];
    }
    return letters;
}

std::string run_with_fates(const std::array<lab::AmEnd, 2>& fresh, const FateCode& code) {
    Run run{fresh, code};
    run.go();
    return run.violation;
}

}  // namespace wireproof::tiny
