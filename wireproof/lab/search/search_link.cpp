#include "wireproof/lab/search/search_link.hpp"

#include "wireproof/proto/hippi/wire_format.hpp"
#include "wireproof/proto/pcie/wire_format.hpp"

namespace wireproof::lab {
namespace {

constexpr std::size_t frame_max = 64;
constexpr Duration timer = Duration::microseconds(1);

std::size_t message_size(const pcie::Link&) {
    return 1;
}
std::size_t message_size(const hippi::Link&) {
    return hippi::data_size;  // one unit
}
std::size_t unacknowledged(const pcie::Link& link) {
    return link.transmitter().outstanding() + link.transmitter().waiting();
}
std::size_t unacknowledged(const hippi::Link& link) {
    return link.outstanding() + (link.has_room() ? 0 : 1);  // one may wait to be split into units
}
FrameInfo describe_frame(const pcie::Link&, ConstBytes frame) {
    return pcie::describe(frame);
}
FrameInfo describe_frame(const hippi::Link&, ConstBytes frame) {
    return hippi::describe(frame);
}
pcie::Config of_end(const pcie::Config& config, std::size_t) {
    return config;
}
hippi::Config of_end(hippi::Config config, std::size_t end) {
    config.seed += end;
    return config;
}

/// The first byte of each end's messages counts from this value.
constexpr std::size_t first_content(std::size_t end) {
    return end * LinkTask::messages_max;
}

}  // namespace

template <LinkEngine E>
std::array<LinkEnd<E>, 2> LinkEnd<E>::both(const Config& config, const LinkTask& task,
                                           LinkTampering<E> tampering) {
    WIREPROOF_CHECK(task.messages <= LinkTask::messages_max);
    const auto shared = std::make_shared<const Shared>(Shared{task, std::move(tampering)});
    std::array ends{LinkEnd(E(of_end(config, 0)), 0, shared),
                    LinkEnd(E(of_end(config, 1)), 1, shared)};
    if (task.start_up) return ends;
    // Carries frames without faults until no end has more to send.
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t i = 0; i < 2; ++i) {
            while (const auto frame = ends[i].transmit()) {
                ends[1 - i].receive(*frame, false);
                moved = true;
            }
        }
    }
    WIREPROOF_CHECK(ends[0].up_ && ends[1].up_);
    return ends;
}

template <LinkEngine E>
void LinkEnd<E>::offer_all() {
    while (can_offer()) offer();
}

template <LinkEngine E>
void LinkEnd<E>::offer() {
    std::vector<std::byte> message(message_size(engine_));
    message[0] = static_cast<std::byte>(first_content(side_) + submitted_);
    WIREPROOF_CHECK(engine_.submit(message) == SubmitStatus::accepted);
    ++submitted_;
}

template <LinkEngine E>
std::optional<std::vector<std::byte>> LinkEnd<E>::transmit() {
    std::array<std::byte, frame_max> room{};
    TxFrame out;
    out.open(room, {.frame_max = room.size(), .carries_intact = true});
    if (!engine_.poll_transmit(now_, out)) return std::nullopt;
    std::vector<std::byte> frame(out.size());
    out.gather(frame);
    const auto& change = shared_->tampering.leaving;
    if (change && !change(engine_, frame)) frame.clear();
    return frame;
}

template <LinkEngine E>
RxVerdict LinkEnd<E>::receive(std::vector<std::byte> frame, bool damaged) {
    const auto& change = shared_->tampering.arriving;
    if (frame.empty() || (!damaged && change && !change(engine_, frame))) {
        return RxVerdict::control;
    }
    const Integrity integrity = damaged ? Integrity::damaged : Integrity::intact;
    const RxVerdict verdict = engine_.on_frame(now_, {frame, PeerId{0}, integrity});
    draw();
    return verdict;
}

template <LinkEngine E>
void LinkEnd<E>::wait() {
    now_ = std::max(now_, engine_.next_deadline());
    engine_.on_deadline(now_);
    draw();
}

template <LinkEngine E>
void LinkEnd<E>::draw() {
    while (const auto delivery = engine_.next_delivery()) {
        if (delivery->what == LinkDelivery::What::up) up_ = true;
        if (delivery->what == LinkDelivery::What::down) fail("the link went down");
        if (delivery->what != LinkDelivery::What::message) continue;
        const std::size_t expected = first_content(1U - side_) + delivered_;
        const ConstBytes bytes = delivery->bytes;
        if (bytes.size() != message_size(engine_) ||
            std::to_integer<std::size_t>(bytes[0]) != expected) {
            fail("a message was delivered that is not the next one");
        }
        ++delivered_;
    }
}

template <LinkEngine E>
bool LinkEnd<E>::done() const {
    return up_ && (shared_->task.start_up || (wants() == 0 && unacknowledged(engine_) == 0));
}

template <LinkEngine E>
const char* LinkEnd<E>::contradiction(const LinkEnd& a, const LinkEnd& b) {
    const auto too_early = [](const LinkEnd& from, const LinkEnd& to) {
        return from.submitted_ > unacknowledged(from.engine_) + to.delivered_;
    };
    return too_early(a, b) || too_early(b, a) ? "a message was acknowledged that was not delivered"
                                              : nullptr;
}

template <LinkEngine E>
bool LinkEnd<E>::agree(const LinkEnd& a, const LinkEnd& b) {
    return a.shared_->task.start_up || (a.delivered_ == b.own() && b.delivered_ == a.own());
}

template <LinkEngine E>
Fingerprint::Value LinkEnd<E>::fingerprint() const {
    Fingerprint sink;
    engine_.fingerprint(now_, sink);
    sink.add(side_);
    sink.add(submitted_);
    sink.add(delivered_);
    sink.add(up_);
    sink.add(violation_ != nullptr);
    return sink.value();
}

template <LinkEngine E>
FrameInfo LinkEnd<E>::describe(ConstBytes frame) const {
    return describe_frame(engine_, frame);
}

template <LinkEngine E>
std::string LinkEnd<E>::news(const LinkEnd& before, const LinkEnd& after) {
    if (after.up_ && !before.up_) return "link up";
    if (after.delivered_ == before.delivered_) return {};
    return "message " + std::to_string(after.delivered_);
}

template class LinkEnd<pcie::Link>;
template class LinkEnd<hippi::Link>;
template class PairSearch<LinkEnd<pcie::Link>>;
template class PairSearch<LinkEnd<hippi::Link>>;

// An Ack is due at once. The search decides when it leaves, as for every frame.
pcie::Config pcie_search_config(std::uint32_t window, std::uint32_t modulus) {
    pcie::Config config;
    config.payload_max = 4;
    config.modulus = modulus;
    config.first_number = modulus - 1;
    config.outstanding = config.replay_slots = window;
    config.ack_latency = Duration();
    config.replay_after = config.retrain_time = timer;
    config.init_every = config.update_every = timer;
    return config;
}

// The same for a null. The engine never gives up the link: that would end runs that could go on
// forever.
hippi::Config hippi_search_config(std::uint32_t window, std::uint32_t modulus) {
    hippi::Config config;
    config.modulus = modulus;
    config.w_max = window;
    config.first_number = modulus - 1;
    config.retries_max = hippi::Config::retries_unlimited;
    config.null_after = Duration();
    config.loop = timer * 1;
    config.retry_after = timer * 2;
    config.start_again_after = timer;
    config.message_max = hippi::data_size;
    config.messages_queued = 1;
    config.check_messages = false;
    return config;
}

namespace {

constexpr std::uint32_t hasty_ns = 100;

std::string line(const char* key, const std::string& value) {
    return std::string(key) + " = " + value + "\n";
}
std::string line(const char* key, std::uint64_t value) {
    return line(key, std::to_string(value));
}

}  // namespace

std::string scenario_engine(const pcie::Config& config, bool hasty) {
    std::string text = line("modulus", config.modulus) + line("first_number", config.first_number) +
                       line("outstanding", config.outstanding);
    if (hasty) text += line("replay_after_ns", hasty_ns);
    return text;
}

std::string scenario_engine(const hippi::Config& config, bool hasty) {
    constexpr std::array rules = {"\"status_null\"", "\"literal\"", "\"re_arm\""};
    std::string text = line("modulus", config.modulus) + line("first_number", config.first_number) +
                       line("w_max", config.w_max) +
                       line("duplicates", rules[static_cast<std::size_t>(config.duplicates)]) +
                       line("retries_max", 1'000'000);
    if (hasty) {
        text += line("null_after_ns", 0) + line("loop_ns", 0) + line("retry_after_ns", hasty_ns);
    }
    return text;
}

}  // namespace wireproof::lab
