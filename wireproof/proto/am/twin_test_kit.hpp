// For tests: two engines that get the same events. One uses the fast paths; the other always takes
// the general path (Config::fast_paths). Each call goes to both. After each step their answers,
// frames, deliveries, counters, deadlines and fingerprints must be equal.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am::test {

class Twin {
    /// `call` has the same answer in both.
    template <class Call>
    auto both(Call&& call) {
        if constexpr (std::is_void_v<decltype(call(fast_))>) {
            call(fast_);
            if (general_) call(*general_);
        } else {
            const auto answer = call(fast_);
            if (general_) {
                EXPECT_EQ(answer, call(*general_));
            }
            return answer;
        }
    }
    template <class Call>
    auto both(Instant now, Call&& call) {
        if constexpr (std::is_void_v<decltype(call(fast_))>) {
            both(call);
            expect_same(now);
        } else {
            const auto answer = both(call);
            expect_same(now);
            return answer;
        }
    }

public:
    using Delivery = am::Delivery;

    Twin(const Config& config, const MemoryTable& memory)
        : fast_(config, memory), spare_(ConnectionBuffers::none(config)) {
        Config general = config;
        general.fast_paths = false;
        general_.emplace(general, memory);
        // A fingerprint of a wide window takes as long as many packets.
        every_ = std::max(config.window[0], config.window[1]) <= 64 ? 1 : 64;
    }

    /// The engine with the fast paths, from now on without the other one: for a test that calls
    /// fast paths or moves frames without this class.
    Connection& alone() {
        general_.reset();
        return fast_;
    }
    operator const Connection&() const { return fast_; }  // NOLINT(google-explicit-constructor)

    // The engine contract.

    RxVerdict on_frame(Instant now, const RxFrame& frame) {
        return both(now, [&](Connection& engine) { return engine.on_frame(now, frame); });
    }
    std::optional<Delivery> next_delivery() {
        std::optional<Delivery> delivery = fast_.next_delivery();
        expect_drawn(delivery);
        return delivery;
    }
    const ShortMessage* take_message() {
        const ShortMessage* const message = fast_.take_message();
        if (message == nullptr) return nullptr;
        if (message->is_request) {
            expect_drawn(Request{message->handler, message->arguments()});
        } else {
            expect_drawn(Reply{message->handler, message->arguments()});
        }
        return message;
    }
    void on_deadline(Instant now) {
        both(now, [&](Connection& engine) { engine.on_deadline(now); });
    }
    void on_wire_event(Instant now, WireEvent event) {
        both(now, [&](Connection& engine) { engine.on_wire_event(now, event); });
    }
    bool poll_transmit(Instant now, TxFrame& out) {
        const bool left = fast_.poll_transmit(now, out);
        if (general_) expect_frame(now, left ? &out : nullptr, capabilities_of(out));
        expect_same(now);
        return left;
    }
    void on_no_room(Instant now) {
        both(now, [&](Connection& engine) { engine.on_no_room(now); });
    }
    Instant next_deadline() const { return fast_.next_deadline(); }
    void fingerprint(Instant now, Fingerprint& sink) const { fast_.fingerprint(now, sink); }
    bool quiet() const { return fast_.quiet(); }

    // Runs: one engine writes the frames at once; then the other writes them one by one.

    RunStart begin_run() { return fast_.begin_run(); }
    bool in_run() { return fast_.in_run(); }
    void next_of_run(TxFrame& out) {
        fast_.next_of_run(out);
        note_of_run(whole(out), capabilities_of(out), out.resent());
    }
    std::size_t equal_in_run() const { return fast_.equal_in_run(); }
    std::size_t equal_size() const { return fast_.equal_size(); }
    void write_equal(const FrameRun& run) {
        fast_.write_equal(run);
        for (std::size_t i = 0; i < run.frames; ++i) {
            const ConstBytes frame = run.room.subspan(i * run.size, run.size);
            note_of_run({frame.begin(), frame.end()},
                        {.frame_max = run.size,
                         .carries_intact = !run.wants_check,
                         .prefers_equal_sizes = true},
                        false);
        }
    }
    bool end_run(Instant now) {
        const bool quiet = fast_.end_run(now);
        for (const OfRun& frame : run_) {
            const auto other = general_frame(now, frame.capabilities);
            EXPECT_TRUE(other && other->bytes == frame.bytes && other->resent == frame.resent)
                << "of a run, the general way sends another frame";
        }
        run_.clear();
        expect_same(now);
        return quiet;
    }
    bool takes_run() const { return fast_.takes_run(); }
    std::uint32_t on_run(Instant now, const RxRun& run) {
        const std::uint32_t taken = fast_.on_run(now, run);
        for (std::uint32_t i = 0; general_ && i < taken; ++i) {
            EXPECT_EQ(general_->on_frame(now, {.bytes = run.frame(i), .lent = {}}),
                      RxVerdict::accepted);
            EXPECT_FALSE(general_->next_delivery());
        }
        expect_same(now);
        return taken;
    }

    // Calls of a user.

    PostStatus request(HandlerId handler, ConstBytes arguments) {
        return both([&](Connection& engine) { return engine.request(handler, arguments); });
    }
    PostStatus reply(HandlerId handler, ConstBytes arguments) {
        return both([&](Connection& engine) { return engine.reply(handler, arguments); });
    }
    PostStatus refuse(HandlerId missing) {
        return both([&](Connection& engine) { return engine.refuse(missing); });
    }
    PostStatus store(const Store& store) {
        return both([&](Connection& engine) { return engine.store(store); });
    }
    PostStatus note(const Note& note) {
        return both([&](Connection& engine) { return engine.note(note); });
    }
    PostStatus get(const Get& get) {
        return both([&](Connection& engine) { return engine.get(get); });
    }
    void set_awaiting(bool awaiting) {
        both([&](Connection& engine) { engine.set_awaiting(awaiting); });
    }
    void leave() {
        both([](Connection& engine) { engine.leave(); });
    }
    bool would_leave_single() {
        return both([](Connection& engine) { return engine.would_leave_single(); });
    }
    bool may_coalesce() {
        return both([](Connection& engine) { return engine.may_coalesce(); });
    }
    void bind(const MemoryTable& memory) {
        both([&](Connection& engine) { engine.bind(memory); });
    }
    void bind_handlers(const HandlerTable& handlers) {
        both([&](Connection& engine) { engine.bind_handlers(handlers); });
    }

    void exchange(ConnectionBuffers& buffers) {
        fast_.exchange(buffers);
        // The buffers of the other engine are beside it meanwhile.
        if (general_ && general_->has_buffers() != fast_.has_buffers()) general_->exchange(spare_);
    }

    // State that a test may read; expect_same() has compared what it is made of.

    bool has_buffers() const { return fast_.has_buffers(); }
    bool at_rest() const { return fast_.at_rest(); }
    bool wants_buffers() const { return fast_.wants_buffers(); }
    /// A frame of these bytes.
    bool would_put_off(ConstBytes packet) const {
        return fast_.would_put_off(fast_.read({.bytes = packet, .lent = {}}));
    }
    bool can_note() const { return fast_.can_note(); }
    bool no_chunks_out() const { return fast_.no_chunks_out(); }
    bool no_opens_with_bytes_out() const { return fast_.no_opens_with_bytes_out(); }
    bool can_read_at_once() const { return fast_.can_read_at_once(); }
    bool awaiting() const { return fast_.awaiting(); }
    bool touches(ConstBytes memory) const { return fast_.touches(memory); }
    bool established() const { return fast_.established(); }
    bool idle() const { return fast_.idle(); }
    bool has_left() const { return fast_.has_left(); }
    const SendWindow& sending(Channel channel) const { return fast_.sending(channel); }
    std::size_t message_max() const { return fast_.message_max(); }
    const Config& config() const { return fast_.config(); }
    const Stats& stats() const { return fast_.stats(); }

private:
    struct OfRun {
        std::vector<std::byte> bytes;
        LaneCapabilities capabilities;
        bool resent = false;
    };

    static LaneCapabilities capabilities_of(const TxFrame& frame) {
        return {.frame_max = frame.frame_max(),
                .carries_intact = !frame.wants_check(),
                .carries_all = !frame.wants_copy(),
                .prefers_equal_sizes = frame.prefers_equal_sizes()};
    }
    static std::vector<std::byte> whole(const TxFrame& frame) {
        std::vector<std::byte> bytes(frame.size());
        frame.gather(bytes);
        return bytes;
    }
    static Fingerprint::Value value_of(const Connection& engine, Instant now) {
        Fingerprint sink;
        engine.fingerprint(now, sink);
        return sink.value();
    }
    static auto counters_of(const Connection& engine) {
        return std::bit_cast<std::array<std::uint64_t, sizeof(Stats) / sizeof(std::uint64_t)>>(
            engine.stats());
    }

    void expect_drawn(const std::optional<Delivery>& drawn) {
        if (!general_) return;
        const std::optional<Delivery> other = general_->next_delivery();
        const auto alike = [](const auto& left, const auto& right) {
            Fingerprint one;
            Fingerprint two;
            add(left, one);
            add(right, two);
            return one.value() == two.value() && said(left) == said(right);
        };
        const bool same =
            drawn.has_value() == other.has_value() && (!drawn || alike(*drawn, *other));
        EXPECT_TRUE(same) << "the general way delivers something else";
    }
    /// The words of a message.
    static std::vector<std::byte> said(const Delivery& delivery) {
        ConstBytes words;
        if (const auto* request = std::get_if<Request>(&delivery)) words = request->arguments;
        if (const auto* reply = std::get_if<Reply>(&delivery)) words = reply->arguments;
        if (const auto* fate = std::get_if<FateUnknown>(&delivery)) words = fate->arguments;
        return {words.begin(), words.end()};
    }

    std::optional<OfRun> general_frame(Instant now, const LaneCapabilities& capabilities) {
        if (!general_) return std::nullopt;
        room_.resize(std::max(capabilities.frame_max, fast_.config().packet_max));
        TxFrame out;
        out.open(room_, capabilities);
        if (!general_->poll_transmit(now, out)) return std::nullopt;
        return OfRun{whole(out), capabilities, out.resent()};
    }
    /// `frame`: the frame that the fast paths sent; nothing: no frame.
    void expect_frame(Instant now, const TxFrame* frame, const LaneCapabilities& capabilities) {
        const auto other = general_frame(now, capabilities);
        const bool same =
            (frame != nullptr) == other.has_value() &&
            (!other || (other->bytes == whole(*frame) && other->resent == frame->resent()));
        EXPECT_TRUE(same) << "the general way sends something else";
    }
    void note_of_run(std::vector<std::byte> bytes, const LaneCapabilities& capabilities,
                     bool resent) {
        if (general_) run_.push_back({std::move(bytes), capabilities, resent});
    }

    void expect_same(Instant now) {
        if (!general_) return;
        EXPECT_EQ(fast_.next_deadline(), general_->next_deadline());
        EXPECT_EQ(fast_.idle(), general_->idle());
        EXPECT_EQ(fast_.at_rest(), general_->at_rest());
        EXPECT_EQ(fast_.wants_buffers(), general_->wants_buffers());
        EXPECT_EQ(counters_of(fast_), counters_of(*general_));
        if (steps_++ % every_ != 0) return;
        EXPECT_EQ(fast_.quiet(), general_->quiet());
        EXPECT_EQ(value_of(fast_, now), value_of(*general_, now));
    }

    Connection fast_;
    std::optional<Connection> general_;
    ConnectionBuffers spare_;  // of the engine without fast paths
    std::vector<OfRun> run_;
    std::vector<std::byte> room_;
    std::uint64_t every_;  // steps between two fingerprints
    std::uint64_t steps_ = 0;
};

}  // namespace wireproof::am::test
