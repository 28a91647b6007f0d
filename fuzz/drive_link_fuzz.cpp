// Two ends of a link. The fuzzer submits messages, moves, loses or damages frames, lets time pass
// and reports a new life of the peer. The link must deliver each message of a life at most once and
// in order, and all of them after the faults stop. With a bit of the first byte, the fuzzer also
// sends forged frames to the ends: any bytes, and frames of the link with right checks.
#include <deque>
#include <vector>

#include "fuzz/input.hpp"
#include "fuzz/links/links.hpp"

#include "wireproof/base/check.hpp"
#include "wireproof/core/link_engine.hpp"

namespace wireproof {
namespace {

struct Frame {
    std::vector<std::byte> bytes;
    Integrity integrity = Integrity::check;
    std::size_t intact_front = 0;
};

template <class Link>
class Pair {
public:
    using E = typename Link::Engine;
    static_assert(LinkEngine<E>);

    /// `choice`: of the settings of the ends.
    Pair(std::uint8_t choice, bool forged)
        : ends_(Link::ends(choice)), choice_(choice), forged_(forged) {
        settle();
    }

    void turn(fuzz::Input& in) {
        const std::uint8_t op = in.byte();
        const std::size_t node = (op >> 3) & 1;
        switch (op % 8) {
            case 0: {
                const std::size_t size = in.byte();
                // The longest ones of a flit, too.
                submit(node, size < 250 ? size % 70 : ends_[node].message_max());
                break;
            }
            case 1:
            case 2: (void)send(node); break;
            case 3: (void)arrive(node); break;
            case 4: lose(node); break;
            case 5: damage(node, in.pair()); break;
            case 6: pass_time(in.byte()); break;
            default: other(node, in); break;
        }
    }

    void finish() {
        Fingerprint sink;
        for (const E& end : ends_) end.fingerprint(now_, sink);
        if (forged_) return;
        settle();
        for (int i = 0; i < 400 && !all_arrived(); ++i) {
            now_ = std::max(now_, earliest(ends_[0].next_deadline(), ends_[1].next_deadline()));
            if (now_ == never) break;
            for (std::size_t node = 0; node < 2; ++node) on_deadline(node);
            settle();
        }
        WIREPROOF_CHECK(all_arrived());
    }

private:
    void submit(std::size_t node, std::size_t size) {
        std::vector<std::byte> message(size);
        for (std::size_t i = 0; i < size; ++i) {
            message[i] = static_cast<std::byte>(submitted_[node].size() * 7 + i);
        }
        if (!up_[node] || !up_[1 - node]) return;
        if (ends_[node].submit(message) == SubmitStatus::accepted) {
            submitted_[node].push_back(std::move(message));
        }
    }

    bool send(std::size_t node) {
        if (ways_[node].size() > 64) return false;
        std::array<std::byte, Link::frame_max> room;
        TxFrame out;
        out.open(room, {.frame_max = room.size()});
        if (!ends_[node].poll_transmit(now_, out)) return false;
        Frame frame;
        frame.bytes.resize(out.size());
        out.gather(frame.bytes);
        ways_[node].push_back(std::move(frame));
        return true;
    }

    bool arrive(std::size_t from) {
        if (ways_[from].empty()) return false;
        const Frame frame = std::move(ways_[from].front());
        ways_[from].pop_front();
        ends_[1 - from].on_frame(now_, RxFrame{.bytes = frame.bytes,
                                               .integrity = frame.integrity,
                                               .intact_front = frame.intact_front});
        draw(1 - from);
        return true;
    }

    // If frames cannot vanish from the line, the end gets a damaged frame without bytes.
    void lose(std::size_t from) {
        if (ways_[from].empty()) return;
        if constexpr (!Link::may_lose) {
            ways_[from].front() = {{}, Integrity::damaged};
            arrive(from);
        } else {
            ways_[from].pop_front();
        }
    }

    // Flips one bit. The check of each link finds this, or its correction repairs it. Where no
    // check covers it, the line has to mark the frame.
    void damage(std::size_t from, std::size_t bit) {
        if (ways_[from].empty()) return;
        Frame& frame = ways_[from].front();
        if (frame.bytes.empty() || frame.integrity != Integrity::check) return;
        bit %= 8 * frame.bytes.size();
        // A correction repairs one bit, so the line spoils the back of the frame instead.
        if constexpr (requires { Link::separate_front(choice_); }) {
            const std::size_t front = Link::separate_front(choice_);
            if (front > 0 && bit / 8 >= front) {
                frame.integrity = Integrity::damaged;
                frame.intact_front = front;
                arrive(from);
                return;
            }
        }
        if constexpr (requires { Link::is_checked(ConstBytes(), bit); }) {
            if (!Link::is_checked(frame.bytes, bit / 8)) frame.integrity = Integrity::damaged;
        }
        frame.bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        arrive(from);
    }

    void pass_time(std::uint8_t scale) {
        now_ = now_ + Duration::nanoseconds(std::int64_t{1} << (scale % 26));
        for (std::size_t node = 0; node < 2; ++node) on_deadline(node);
    }

    void on_deadline(std::size_t node) {
        if (ends_[node].next_deadline() > now_) return;
        ends_[node].on_deadline(now_);
        draw(node);
        WIREPROOF_CHECK(ends_[node].next_deadline() > now_);  // otherwise a host could never sleep
    }

    void other(std::size_t node, fuzz::Input& in) {
        switch (in.byte() % 4) {
            case 0: {
                const E copy = ends_[node];
                ends_[node] = copy;
                break;
            }
            case 1: {  // both ends at once, as when a wire begins a new epoch
                for (auto& way : ways_) way.clear();
                for (std::size_t end = 0; end < 2; ++end) {
                    ends_[end].on_wire_event(now_, WireEvent::new_life);
                    draw(end);
                    submitted_[end].clear();
                    delivered_[end] = 0;
                }
                break;
            }
            default: {
                if (!forged_) break;
                const std::uint8_t shape = in.byte();
                const ConstBytes raw = in.bytes(shape % 64U);
                // Random bytes seldom have right checks and the length of a flit.
                const std::vector<std::byte> bytes =
                    (shape & 64) != 0 ? Link::forge(choice_, raw)
                                      : std::vector<std::byte>(raw.begin(), raw.end());
                ends_[node].on_frame(now_, RxFrame{.bytes = bytes,
                                                   .integrity = shape >= 128 ? Integrity::intact
                                                                             : Integrity::check});
                draw(node);
            }
        }
    }

    void draw(std::size_t node) {
        for (int count = 0; const auto delivery = ends_[node].next_delivery(); ++count) {
            WIREPROOF_CHECK(count < 100);
            if (delivery->what == LinkDelivery::What::up) up_[node] = true;
            if (delivery->what == LinkDelivery::What::down) {
                up_[node] = false;
                // The protocol has reset the link. Messages in flight are lost.
                for (std::size_t end = 0; end < 2; ++end) reset_[end] = true;
            }
            if (delivery->what != LinkDelivery::What::message) continue;
            fuzz::touch(delivery->bytes);
            if (!forged_) check(1 - node, delivery->bytes);
        }
    }

    // After a reset, messages may be missing, but none is delivered twice or out of order.
    void check(std::size_t from, ConstBytes message) {
        const auto& submitted = submitted_[from];
        const auto is_message = [&](const std::vector<std::byte>& each) {
            return std::equal(message.begin(), message.end(), each.begin(), each.end());
        };
        while (reset_[from] && delivered_[from] < submitted.size() &&
               !is_message(submitted[delivered_[from]])) {
            ++delivered_[from];
        }
        WIREPROOF_CHECK(delivered_[from] < submitted.size());
        WIREPROOF_CHECK(is_message(submitted[delivered_[from]]));
        ++delivered_[from];
    }

    bool all_arrived() const {
        for (std::size_t node = 0; node < 2; ++node) {
            if (!up_[node]) return false;
            if (!reset_[node] && delivered_[node] != submitted_[node].size()) return false;
        }
        return true;
    }

    void settle() {
        for (int moves = 0; moves < 20'000; ++moves) {
            bool moved = false;
            for (std::size_t node = 0; node < 2; ++node) {
                moved = send(node) || moved;
                moved = arrive(node) || moved;
            }
            if (!moved) return;
        }
        WIREPROOF_CHECK(forged_);  // two honest ends stop sending at last
    }

    std::array<E, 2> ends_;
    std::uint8_t choice_;
    bool forged_;
    Instant now_{Duration::milliseconds(1)};
    std::array<std::deque<Frame>, 2> ways_;  // by sender
    std::array<std::vector<std::vector<std::byte>>, 2> submitted_;
    std::array<std::size_t, 2> delivered_{};
    std::array<bool, 2> up_{};
    std::array<bool, 2> reset_{};
};

template <class Link>
void run(fuzz::Input& in, std::uint8_t choice) {
    Pair<Link> pair(choice, (choice & 4) != 0);
    while (!in.empty()) pair.turn(in);
    pair.finish();
}

}  // namespace
}  // namespace wireproof

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    wireproof::fuzz::Input in(data, size);
    const std::uint8_t first = in.byte();
    const std::size_t which = (first % 2U + 2U * (first / 64U)) % wireproof::fuzz::Links::size;
    wireproof::fuzz::Links::visit(which, [&in, first]<class Link>() {
        wireproof::run<Link>(in, static_cast<std::uint8_t>(first >> 1));
    });
    return 0;
}
