// Two Connections and a channel between them. The fuzzer decides which frames the channel loses,
// repeats, reorders, damages and delays. Then the channel has no more faults. Within a bounded
// number of turns everything must arrive exactly once and in order (AM-15, 16, 19, 43 and more).
#include <deque>
#include <limits>

#include "fuzz/am_kit.hpp"

namespace wireproof::am::fuzz {
namespace {

using wireproof::fuzz::Input;

constexpr HandlerId silent{1};   // of requests without a reply
constexpr HandlerId echoed{2};   // of requests whose reply has the same arguments
constexpr HandlerId missing{3};  // of requests that are refused
constexpr HandlerId answer{4};
constexpr HandlerId stored{5};
constexpr HandlerId nobody{6};  // of stores that are refused
constexpr std::size_t memory_size = 1024;
constexpr std::size_t slot_size = memory_size / 4;

/// One node, and the messages that must still arrive at it, in order.
struct End {
    explicit End(const Config& config) : engine(config, memory.table) {
        handlers.set(stored, true);
        engine.bind_handlers(handlers);
    }
    End(const End&) = delete;  // the engine points at the tables
    End& operator=(const End&) = delete;

    PeerMemory memory{memory_size};
    HandlerTable handlers;
    Lent lent;
    Connection engine;
    std::uint8_t posts = 0;
    std::deque<std::vector<std::byte>> in_flight;                       // frames to this node
    std::deque<std::pair<HandlerId, std::vector<std::byte>>> requests;  // expected
    std::deque<std::vector<std::byte>> replies;                         // expected
    std::size_t refusals = 0;                                           // expected
    std::map<std::uint32_t, std::vector<std::byte>> stores;             // expected, by argument
};

/// A configuration in which a node never gives up, even if the fuzzer delays frames for a long
/// time.
Config patient_config(std::uint8_t choice) {
    Config config = small_config(choice);
    config.keepalive_limit = config.resend_limit = std::numeric_limits<std::uint32_t>::max();
    return config;
}

class Drive {
public:
    explicit Drive(std::uint8_t choice)
        : ends_{std::make_unique<End>(patient_config(choice)),
                std::make_unique<End>(mirrored(patient_config(choice)))} {}

    void turn(Input& in) {
        const std::uint8_t op = in.byte();
        End& end = *ends_[op >> 7];
        switch (op % 16) {
            case 0:
            case 1: request(end, in.byte()); break;
            case 2: store(end, in.byte()); break;
            case 3: get(end, in.byte()); break;
            case 4:
            case 5: transmit(end, 100); break;
            case 6: transmit(end, 1); break;
            case 7: deliver(end, 0); break;
            case 8: deliver(end, in.byte()); break;
            case 9: lose(end, in.byte()); break;
            case 10: repeat(end, in.byte()); break;
            case 11: damage(end, in.byte()); break;
            case 12: deliver_all(end); break;
            case 13: pass_time(Duration::microseconds(std::int64_t{1} << in.byte() % 22)); break;
            case 14: pass_time_to_deadline(); break;
            default: other(end, in.byte()); break;
        }
    }

    void finish() {
        for (auto& end : ends_) end->engine.set_awaiting(false);
        for (int turns = 0; !at_rest(); ++turns) {
            WIREPROOF_CHECK(turns < 2'000);
            bool moved = false;
            for (auto& end : ends_) {
                transmit(*end, 1'000);
                moved = moved || !other_end(*end).in_flight.empty();
                deliver_all(other_end(*end));
            }
            if (!moved) pass_time_to_deadline();
        }
        for (auto& end : ends_) check(*end);
    }

private:
    End& other_end(End& end) { return &end == ends_[0].get() ? *ends_[1] : *ends_[0]; }

    // Operations of the users.

    std::vector<std::byte> arguments(End& end, std::size_t size) {
        return pattern(size, 1000U + end.posts++);
    }

    void request(End& end, std::uint8_t shape) {
        const HandlerId handler = std::array{silent, echoed, missing}[shape % 3U];
        const auto words = arguments(end, shape / 3 % 33);
        const PostStatus status = end.engine.request(handler, words);
        if (!taken(status)) return;
        other_end(end).requests.emplace_back(handler, words);
        if (handler == missing) ++end.refusals;
        if (handler == echoed) end.replies.push_back(words);
    }

    // Stores into a quarter of the peer's memory that no other unfinished store uses. Some stores
    // must be refused: they use memory without the right, or a handler that does not exist.
    void store(End& end, std::uint8_t shape) {
        const std::uint64_t slot = shape % 4;
        for (const auto& [tag, transfer] : end.lent.under_way()) {
            if (transfer.is_store && transfer.at == slot * slot_size) return;
        }
        const std::size_t size = shape / 4 * 5U % slot_size;
        const bool forbidden = shape % 16 == 15;
        const bool unheard = shape % 16 == 14;
        Lent::Transfer transfer{true, slot * slot_size, pattern(size, end.lent.next_tag())};
        const auto argument = static_cast<std::uint32_t>(end.lent.next_tag());
        const PostStatus status = end.engine.store(
            {forbidden ? PeerMemory::gets_at : PeerMemory::stores_at + transfer.at, transfer.bytes,
             unheard ? nobody : stored, argument, end.lent.next_tag()});
        if (!taken(status)) return;
        if (!forbidden && !unheard) other_end(end).stores.emplace(argument, transfer.bytes);
        if (forbidden) transfer.refusal = Reason::forbidden;
        if (unheard) transfer.refusal = Reason::no_handler;
        end.lent.add(std::move(transfer));
    }

    void get(End& end, std::uint8_t shape) {
        const std::uint64_t at = shape % 16 * 8U;
        const bool forbidden = shape % 16 == 15;
        Lent::Transfer transfer{false, at, pattern(shape / 16 * 37U, 1)};
        if (forbidden) transfer.refusal = Reason::forbidden;
        const PostStatus status =
            end.engine.get({forbidden ? PeerMemory::stores_at : PeerMemory::gets_at + at,
                            transfer.bytes, end.lent.next_tag()});
        if (taken(status)) end.lent.add(std::move(transfer));
    }

    static bool taken(PostStatus status) {
        WIREPROOF_CHECK(status == PostStatus::accepted || status == PostStatus::window_full);
        return status == PostStatus::accepted;
    }

    // Fates of frames.

    void transmit(End& end, int most) {
        for (int count = 0; count < most; ++count) {
            auto sent = next_sent(end.engine, now_);
            if (!sent) return;
            WIREPROOF_CHECK(count < 200);
            other_end(end).in_flight.push_back(std::move(sent->bytes));
        }
    }

    void deliver(End& end, std::size_t which) {
        if (end.in_flight.empty()) return;
        const auto frame = take(end, which);
        end.engine.on_frame(now_, {frame});
        draw(end);
    }
    void deliver_all(End& end) {
        while (!end.in_flight.empty()) deliver(end, 0);
    }
    void lose(End& end, std::size_t which) {
        if (!end.in_flight.empty()) take(end, which);
    }
    void repeat(End& end, std::size_t which) {
        if (end.in_flight.empty() || end.in_flight.size() > 1'000) return;
        end.in_flight.push_back(end.in_flight[which % end.in_flight.size()]);
    }
    void damage(End& end, std::size_t which) {
        if (end.in_flight.empty()) return;
        auto& frame = end.in_flight[which % end.in_flight.size()];
        frame[which % frame.size()] ^= std::byte{1};
    }
    static std::vector<std::byte> take(End& end, std::size_t which) {
        const auto at =
            end.in_flight.begin() + static_cast<std::ptrdiff_t>(which % end.in_flight.size());
        auto frame = std::move(*at);
        end.in_flight.erase(at);
        return frame;
    }

    void pass_time(Duration time) {
        now_ = now_ + time;
        for (auto& end : ends_) {
            if (end->engine.next_deadline() <= now_) end->engine.on_deadline(now_);
            draw(*end);
        }
    }
    void pass_time_to_deadline() {
        const Instant next =
            std::min(ends_[0]->engine.next_deadline(), ends_[1]->engine.next_deadline());
        if (next != never) pass_time(std::max(next, now_) - now_);
    }

    void other(End& end, std::uint8_t what) {
        switch (what % 4) {
            case 0: end.engine.set_awaiting(what >= 128); break;
            case 1: {
                Connection copy = end.engine;
                end.engine = std::move(copy);
                break;
            }
            case 2:
                if (end.engine.idle()) end.engine.leave();
                break;
            default: {
                const auto fingerprint = [&](const Connection& engine) {
                    Fingerprint sink;
                    engine.fingerprint(now_, sink);
                    return sink.value();
                };
                const Connection copy = end.engine;
                WIREPROOF_CHECK(fingerprint(copy) == fingerprint(end.engine));
            }
        }
    }

    // Deliveries.

    void draw(End& end) {
        for (int count = 0; const auto delivery = end.engine.next_delivery(); ++count) {
            WIREPROOF_CHECK(count < 200);
            std::visit([&](const auto& d) { take(end, d); }, *delivery);
        }
    }

    static bool same(ConstBytes left, ConstBytes right) {
        return std::equal(left.begin(), left.end(), right.begin(), right.end());
    }

    void take(End& end, const Request& request) {
        WIREPROOF_CHECK(!end.requests.empty());
        const auto& [handler, words] = end.requests.front();
        WIREPROOF_CHECK(request.handler == handler && same(request.arguments, words));
        if (handler == echoed) {
            WIREPROOF_CHECK(end.engine.reply(answer, request.arguments) == PostStatus::accepted);
        } else if (handler == missing) {
            WIREPROOF_CHECK(end.engine.refuse(missing) == PostStatus::accepted);
        }
        end.requests.pop_front();
    }
    void take(End& end, const Reply& reply) {
        WIREPROOF_CHECK(!end.replies.empty() && reply.handler == answer);
        WIREPROOF_CHECK(same(reply.arguments, end.replies.front()));
        end.replies.pop_front();
    }
    void take(End& end, const Refused& refused) {
        WIREPROOF_CHECK(refused.handler == missing && refused.reason == Reason::no_handler);
        WIREPROOF_CHECK(end.refusals > 0);
        --end.refusals;
    }
    void take(End& end, const Stored& store) {
        const auto expected = end.stores.find(store.argument);
        WIREPROOF_CHECK(expected != end.stores.end() && store.handler == stored);
        WIREPROOF_CHECK(same(store.memory, expected->second));
        end.stores.erase(expected);
    }
    void take(End& end, const StoreEnded& ended) {
        const auto transfer = end.lent.end(ended.tag, true);
        WIREPROOF_CHECK(ended.reason == transfer.refusal);
        if (transfer.refusal != Reason::none) return;
        const auto there = other_end(end).memory.stores().subspan(transfer.at);
        WIREPROOF_CHECK(same(there.first(transfer.bytes.size()), transfer.bytes));
    }
    void take(End& end, const GetEnded& ended) {
        const auto transfer = end.lent.end(ended.tag, false);
        WIREPROOF_CHECK(ended.reason == transfer.refusal);
        if (transfer.refusal != Reason::none) return;
        const auto there = other_end(end).memory.gets().subspan(transfer.at);
        WIREPROOF_CHECK(same(there.first(transfer.bytes.size()), transfer.bytes));
    }
    void take(End& end, const SessionBegan&) {
        WIREPROOF_CHECK(end.engine.established() && end.engine.stats().sessions == 1);
    }
    // No node gives up its peer.
    void take(End&, const FateUnknown&) { WIREPROOF_CHECK(false); }
    void take(End&, const SessionEnded&) { WIREPROOF_CHECK(false); }

    // Checks at the end.

    bool at_rest() const {
        return std::all_of(ends_.begin(), ends_.end(), [](const auto& end) {
            return end->engine.idle() && end->in_flight.empty();
        });
    }
    static void check(const End& end) {
        WIREPROOF_CHECK(end.requests.empty() && end.replies.empty() && end.stores.empty());
        WIREPROOF_CHECK(end.refusals == 0 && end.lent.empty());
        end.memory.check();
    }

    std::array<std::unique_ptr<End>, 2> ends_;
    Instant now_{Duration::milliseconds(1)};
};

}  // namespace
}  // namespace wireproof::am::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    wireproof::fuzz::Input in(data, size);
    wireproof::am::fuzz::Drive drive(in.byte());
    while (!in.empty()) drive.turn(in);
    drive.finish();
    return 0;
}
