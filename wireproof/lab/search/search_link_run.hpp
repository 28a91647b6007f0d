// An end of a link for the search: the product's link engine, and a user whose messages are
// numbered. Only the source file of an engine includes this, because it takes long to compile.
#pragma once

#include <memory>
#include <utility>

#include "wireproof/core/link_engine.hpp"
#include "wireproof/lab/search/search_link.hpp"
#include "wireproof/lab/search/search_pair.hpp"

namespace wireproof::lab {

/// Bytes of the longest frame of an engine with its configuration for searches.
inline constexpr std::size_t search_frame_max = 512;

/// The adapter can set the labels of a frame aside.
template <class Adapter>
inline constexpr bool has_labels = requires(std::vector<std::byte>& frame) {
    Adapter::set_labels_aside(frame);
};

template <class Adapter>
class LinkEnd {
public:
    using Engine = typename Adapter::Engine;
    using Config = typename Adapter::Config;

    /// The link is already up, unless the task is to bring it up.
    static std::array<LinkEnd, 2> both(const Config& config, const LinkTask& task,
                                       LinkTampering<Engine> tampering = {});

    void offer_all();
    bool can_offer() const { return up_ && wants() > 0 && engine_.has_room(); }
    void offer();
    std::optional<std::vector<std::byte>> transmit();
    RxVerdict receive(std::vector<std::byte> frame, Arrives how);
    Instant deadline() const { return engine_.next_deadline(); }
    Instant now() const { return now_; }
    void wait();
    bool done() const;
    std::uint64_t replays() const { return engine_.stats().replays; }
    const char* violation() const { return violation_; }
    static const char* contradiction(const LinkEnd& a, const LinkEnd& b);
    static bool agree(const LinkEnd& a, const LinkEnd& b);
    Fingerprint::Value fingerprint() const {
        Fingerprint sink;
        engine_.fingerprint(now_, sink);
        return with_user(sink);
    }
    FrameInfo describe(ConstBytes frame) const;
    static std::string news(const LinkEnd& before, const LinkEnd& after);

    // A LabelledEnd, if the adapter knows the labels.
    Labels labels() const requires has_labels<Adapter> { return Adapter::labels(engine_); }
    Fingerprint::Value fingerprint_without_labels() const requires has_labels<Adapter> {
        Fingerprint sink;
        Adapter::fingerprint_without_labels(engine_, now_, sink);
        return with_user(sink);
    }
    static Labels set_labels_aside(std::vector<std::byte>& frame) requires has_labels<Adapter> {
        return Adapter::set_labels_aside(frame);
    }
    std::uint32_t label_count() const requires has_labels<Adapter> { return shared_->label_count; }

private:
    struct Shared {
        LinkTask task;
        LinkTampering<Engine> tampering;
        bool may_lose = false;  // messages, when the link goes down
        std::uint32_t label_count = 0;
        std::size_t separate_front = 0;
        Describe describe = describe_nothing;
    };

    static bool may_flush(const Config& config) {
        if constexpr (requires { Adapter::may_flush(config); }) return Adapter::may_flush(config);
        return false;
    }

    static std::uint32_t label_count_of(const Config& config) {
        if constexpr (has_labels<Adapter>) return Adapter::label_count(config);
        return 0;
    }
    Fingerprint::Value with_user(Fingerprint& sink) const;

    LinkEnd(Engine engine, std::size_t side, std::shared_ptr<const Shared> shared)
        : engine_(std::move(engine)),
          shared_(std::move(shared)),
          side_(static_cast<std::uint8_t>(side)) {}

    /// The first byte of each end's messages counts from this value.
    static constexpr std::size_t first_content(std::size_t end) {
        return end * LinkTask::messages_max;
    }

    void draw();
    void deliver(ConstBytes bytes);
    void fail(const char* sentence) {
        if (violation_ == nullptr) violation_ = sentence;
    }
    std::uint32_t own() const {
        return side_ == 0 || shared_->task.both_ways ? shared_->task.messages : 0;
    }
    std::uint32_t wants() const { return own() - submitted_; }

    Engine engine_;
    std::shared_ptr<const Shared> shared_;
    Instant now_;
    std::uint8_t side_;
    std::uint8_t submitted_ = 0;
    std::uint8_t delivered_ = 0;  // messages of the peer that were delivered here
    bool up_ = false;
    bool went_down_ = false;
    const char* violation_ = nullptr;
};

template <class Adapter>
std::array<LinkEnd<Adapter>, 2> LinkEnd<Adapter>::both(const Config& config, const LinkTask& task,
                                                       LinkTampering<Engine> tampering) {
    WIREPROOF_CHECK(task.messages <= LinkTask::messages_max);
    const auto shared = std::make_shared<const Shared>(
        Shared{task, std::move(tampering), may_flush(config), label_count_of(config),
               separate_front_of<Adapter>(config), Adapter::describe_of(config)});
    std::array ends{LinkEnd(Engine(Adapter::of_end(config, 1)), 0, shared),
                    LinkEnd(Engine(Adapter::of_end(config, 2)), 1, shared)};
    if (task.start_up) return ends;
    // Carries frames without faults until no end has more to send.
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t i = 0; i < 2; ++i) {
            while (const auto frame = ends[i].transmit()) {
                ends[1 - i].receive(*frame, Arrives::intact);
                moved = true;
            }
        }
    }
    WIREPROOF_CHECK(ends[0].up_ && ends[1].up_);
    return ends;
}

template <class Adapter>
void LinkEnd<Adapter>::offer_all() {
    while (can_offer()) offer();
}

template <class Adapter>
void LinkEnd<Adapter>::offer() {
    std::vector<std::byte> message(Adapter::search_message);
    message[0] = static_cast<std::byte>(first_content(side_) + submitted_);
    WIREPROOF_CHECK(engine_.submit(message) == SubmitStatus::accepted);
    ++submitted_;
}

template <class Adapter>
std::optional<std::vector<std::byte>> LinkEnd<Adapter>::transmit() {
    std::array<std::byte, search_frame_max> room{};
    TxFrame out;
    out.open(room, {.frame_max = room.size(), .carries_intact = true});
    if (!engine_.poll_transmit(now_, out)) return std::nullopt;
    std::vector<std::byte> frame(out.size());
    out.gather(frame);
    const auto& change = shared_->tampering.leaving;
    if (change && !change(engine_, frame)) frame.clear();
    return frame;
}

template <class Adapter>
RxVerdict LinkEnd<Adapter>::receive(std::vector<std::byte> frame, Arrives how) {
    const auto& change = shared_->tampering.arriving;
    if (frame.empty() || (how == Arrives::intact && change && !change(engine_, frame))) {
        return RxVerdict::control;
    }
    RxFrame arriving{.bytes = frame, .integrity = Integrity::damaged};
    if (how == Arrives::intact) arriving.integrity = Integrity::intact;
    if (how == Arrives::with_damaged_tail) arriving.intact_front = shared_->separate_front;
    const RxVerdict verdict = engine_.on_frame(now_, arriving);
    draw();
    return verdict;
}

template <class Adapter>
void LinkEnd<Adapter>::wait() {
    now_ = std::max(now_, engine_.next_deadline());
    engine_.on_deadline(now_);
    draw();
}

template <class Adapter>
void LinkEnd<Adapter>::draw() {
    while (const auto delivery = engine_.next_delivery()) {
        if (delivery->what == LinkDelivery::What::up) up_ = true;
        if (delivery->what == LinkDelivery::What::down) {
            if (!shared_->may_lose) fail("the link went down");
            went_down_ = true;
            up_ = false;
        }
        if (delivery->what != LinkDelivery::What::message) continue;
        deliver(delivery->bytes);
    }
}

// After the link was down, messages may be missing, but none comes twice or out of order.
template <class Adapter>
void LinkEnd<Adapter>::deliver(ConstBytes bytes) {
    const std::size_t expected = first_content(1U - side_) + delivered_;
    const std::size_t content = bytes.empty() ? 0 : std::to_integer<std::size_t>(bytes[0]);
    const bool in_order = content == expected || (went_down_ && content > expected);
    if (bytes.size() != Adapter::search_message || !in_order) {
        return fail("a message was delivered that is not the next one");
    }
    delivered_ = static_cast<std::uint8_t>(content - first_content(1U - side_) + 1);
}

template <class Adapter>
bool LinkEnd<Adapter>::done() const {
    return up_ &&
           (shared_->task.start_up || (wants() == 0 && Adapter::unacknowledged(engine_) == 0));
}

template <class Adapter>
const char* LinkEnd<Adapter>::contradiction(const LinkEnd& a, const LinkEnd& b) {
    if (a.went_down_ || b.went_down_) return nullptr;
    const auto too_early = [](const LinkEnd& from, const LinkEnd& to) {
        return from.submitted_ > Adapter::unacknowledged(from.engine_) + to.delivered_;
    };
    return too_early(a, b) || too_early(b, a) ? "a message was acknowledged that was not delivered"
                                              : nullptr;
}

template <class Adapter>
bool LinkEnd<Adapter>::agree(const LinkEnd& a, const LinkEnd& b) {
    if (a.went_down_ || b.went_down_) return a.up_ && b.up_;
    return a.shared_->task.start_up || (a.delivered_ == b.own() && b.delivered_ == a.own());
}

template <class Adapter>
Fingerprint::Value LinkEnd<Adapter>::with_user(Fingerprint& sink) const {
    sink.add(side_);
    sink.add(submitted_);
    sink.add(delivered_);
    sink.add(up_);
    sink.add(went_down_);
    sink.add(violation_ != nullptr);
    return sink.value();
}

template <class Adapter>
FrameInfo LinkEnd<Adapter>::describe(ConstBytes frame) const {
    return shared_->describe(frame);
}

template <class Adapter>
std::string LinkEnd<Adapter>::news(const LinkEnd& before, const LinkEnd& after) {
    if (after.up_ && !before.up_) return "link up";
    if (before.up_ && !after.up_) return "link down";
    if (after.delivered_ == before.delivered_) return {};
    return "message " + std::to_string(after.delivered_);
}

template <class Adapter>
struct LinkSearch<Adapter>::Pair : PairSearch<LinkEnd<Adapter>> {
    using PairSearch<LinkEnd<Adapter>>::PairSearch;
};

template <class Adapter>
LinkSearch<Adapter>::LinkSearch(const Config& config, const LinkTask& task,
                                const SearchSetting& setting,
                                LinkTampering<typename Adapter::Engine> tampering)
    : pair_(std::make_unique<Pair>(possible_for<Adapter>(config, setting),
                                   LinkEnd<Adapter>::both(config, task, std::move(tampering)))) {}

template <class Adapter>
LinkSearch<Adapter>::~LinkSearch() = default;

template <class Adapter>
SearchResult LinkSearch<Adapter>::run(const SearchLimits& limits) {
    return pair_->run(limits);
}

template <class Adapter>
std::vector<SearchStep> LinkSearch<Adapter>::story(const std::vector<SearchMove>& path) {
    return pair_->story(path);
}

template <class Adapter>
std::size_t LinkSearch<Adapter>::end_states() const {
    return pair_->end_states();
}

template <class Adapter>
SearchDoubts LinkSearch<Adapter>::doubt() const {
    return pair_->doubt();
}

}  // namespace wireproof::lab
