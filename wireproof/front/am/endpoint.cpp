// The message calls, polls and waits of Endpoint.
#include <algorithm>

#include "wireproof/front/am/endpoint_inside.hpp"
#include "wireproof/host/wait.hpp"

namespace wireproof::am {

std::string_view name_of(Status status) {
    constexpr std::array<std::string_view, 10> names = {
        "ok",        "would_block", "too_long",  "not_allowed", "no_such_peer",
        "peer_lost", "no_handler",  "forbidden", "closed",      "timed_out"};
    static_assert(static_cast<std::size_t>(Status::timed_out) == names.size() - 1);
    return names[static_cast<std::size_t>(status)];
}

std::string_view name_of(PeerCounters::Path path) {
    constexpr std::array<std::string_view, 3> names = {"udp", "shared memory", "udp on one host"};
    static_assert(static_cast<std::size_t>(PeerCounters::Path::udp_on_one_host) ==
                  names.size() - 1);
    return names[static_cast<std::size_t>(path)];
}

std::uint32_t Words::operator[](std::size_t index) const {
    return index < size() ? load_le<std::uint32_t>(bytes_.subspan(4 * index).first<4>()) : 0;
}

namespace {

// Words in the byte order of the wire.
class WireWords {
public:
    explicit WireWords(std::span<const std::uint32_t> words) : bytes_(words.size() * 4) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            store_le<std::uint32_t>(Bytes(bytes_).subspan(4 * i).first<4>(), words[i]);
        }
    }
    ConstBytes bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

// The memory of a little-endian host already has the byte order of the wire.
template <class Use>
Status with_wire_words(std::span<const std::uint32_t> words, Use&& use) {
    if constexpr (std::endian::native == std::endian::little) return use(std::as_bytes(words));
    return use(WireWords(words).bytes());
}

}  // namespace

Status Message::reply(std::uint16_t handler, std::span<const std::byte> bytes) const {
    return node_->reply(handler, bytes);
}

Status Message::reply(std::uint16_t handler, std::span<const std::uint32_t> words) const {
    return with_wire_words(words, [&](ConstBytes bytes) { return reply(handler, bytes); });
}

std::string PeerLost::message() const {
    const std::string node = "node " + std::to_string(peer);
    switch (why) {
        case Why::silent:
            if (by_peer) return node + " heard nothing of this node for its peer timeout";
            return cause.empty() ? node + " is silent" : node + " is unreachable: " + cause;
        case Why::restarted: return node + " was restarted";
        case Why::gone: return node + " is gone";
        case Why::unanswered:
            return node + (by_peer ? " says that its packet of " : " answers, but a packet of ") +
                   std::to_string(packet_bytes) + " bytes, sent again " +
                   std::to_string(packet_times) +
                   " times, never arrived: is Options::mtu longer than the path's?";
    }
    return node + " is lost";
}

std::size_t Endpoint::self() const {
    const Inside* const in = open_inside();
    return in != nullptr ? in->node.self() : 0;
}

std::size_t Endpoint::nodes() const {
    const Inside* const in = open_inside();
    return in != nullptr ? in->node.nodes() : 0;
}

std::size_t Endpoint::message_max() const {
    const Inside* const in = open_inside();
    if (in == nullptr) return 0;
    const std::size_t other = self() == 0 && nodes() > 1 ? 1 : 0;
    return in->node.connection(other).message_max();
}

Status Endpoint::handle(std::uint16_t handler, Handler run) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    if (handler == 0) return Status::not_allowed;
    in->node.handle(handler, std::move(run));
    return Status::ok;
}

void Endpoint::on_peer_lost(std::function<void(const PeerLost&)> report) {
    Inside* const in = open_inside();
    if (in == nullptr) return;
    const host::OneUser::Call call(in->user);
    in->node.on_peer_lost(std::move(report));
}

void Endpoint::on_refused(std::function<void(std::size_t, std::uint16_t)> report) {
    Inside* const in = open_inside();
    if (in == nullptr) return;
    const host::OneUser::Call call(in->user);
    in->node.on_refused(std::move(report));
}

// The turn comes before the post: if the turn throws, the request is not posted.
Status Endpoint::request(std::size_t peer, std::uint16_t handler,
                         std::span<const std::byte> bytes) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    if (in->node.wants_turn()) in->poll();
    return in->node.ask(peer, handler, bytes, [in] { return in->clock.now(); });
}

Status Endpoint::request(std::size_t peer, std::uint16_t handler,
                         std::span<const std::uint32_t> words) {
    return with_wire_words(words, [&](ConstBytes bytes) { return request(peer, handler, bytes); });
}

std::size_t Endpoint::poll() {
    Inside* const in = open_inside();
    if (in == nullptr) return 0;
    const host::OneUser::Call call(in->user);
    return in->poll();
}

bool Endpoint::wait(const std::function<bool()>& until, std::chrono::milliseconds limit) {
    Inside* const in = open_inside();
    if (in == nullptr) return false;
    const host::OneUser::Call call(in->user);
    return in->wait(until, limit);
}

/// True: the caller polls again, at `now`. False: it sleeps.
bool Endpoint::Inside::looks_again(Instant& now) {
    using Step = host::WaitSteps::Step;
    const Step step = steps.next(now);
    if (step == Step::sleep) return false;
    if (step == Step::poll) {
        now = clock.again();
        return true;
    }
    host::yield_processor();
    now = clock.now();
    steps.back(now);
    return true;
}

Endpoint::Inside::Rounds::Rounds(Inside& in, std::optional<std::chrono::milliseconds> limit)
    : in_(in),
      awaited_before_(in.node.awaiting()),
      now_(in.clock.now()),
      end_(limit ? now_ + host::duration_of(*limit) : never) {
    in.node.set_awaiting(true);
    if (in.shown) in.shown->note();
}

bool Endpoint::Inside::Rounds::next() {
    if (handled_) {
        if (now_ >= end_) return false;
        rest();
    }
    handled_ = in_.poll(now_);
    wakes_ = in_.loop.wakes_taken();
    if (*handled_ > 0) in_.steps.heard(now_);
    return true;
}

/// The program may have polled since the last round, and its poll may have taken a wake. Then the
/// call must not sleep.
void Endpoint::Inside::Rounds::rest() {
    const bool busy = *handled_ > 0 || in_.node.has_work() || in_.loop.wakes_taken() != wakes_;
    if (!busy && in_.looks_again(now_)) return;
    if (!busy) {
        const Instant due = earliest(end_, in_.node.next_deadline(), in_.before_sleep());
        host::wait_until(in_.node.wire(), in_.clock.steady(), due, in_.loop.bell());
    }
    now_ = in_.clock.now();
}

bool Endpoint::Inside::wait(const std::function<bool()>& until, std::chrono::milliseconds limit) {
    Rounds rounds(*this, limit);
    bool met = until && until();
    while (!met && !node.polling() && rounds.next()) met = until && until();
    return met;
}

int Endpoint::event_fd() const {
    Inside* const in = open_inside();
    return in != nullptr ? in->loop.handle() : -1;
}

bool Endpoint::arm() {
    Inside* const in = open_inside();
    if (in == nullptr) return true;
    const host::OneUser::Call call(in->user);
    const bool may_sleep =
        next_timeout() > std::chrono::nanoseconds::zero() && in->node.wire().prepare_to_sleep();
    if (may_sleep && in->shown) {
        in->shown->note();
        (void)in->before_sleep();
    }
    return may_sleep;
}

std::chrono::nanoseconds Endpoint::next_timeout() const {
    const Inside* const in = open_inside();
    if (in == nullptr) return std::chrono::nanoseconds::max();
    if (in->node.turn_is_due()) return std::chrono::nanoseconds::zero();
    return host::timeout_until(in->node.next_deadline(), in->clock.steady());
}

void Endpoint::wake() const {
    const Inside* const in = open_inside();
    if (in != nullptr) in->loop.wake();
}

Status Endpoint::flush(std::size_t peer, std::chrono::milliseconds limit) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    if (in->node.polling()) return Status::not_allowed;
    if (!in->node.is_peer(peer)) return Status::no_such_peer;
    const std::uint64_t losses = in->node.losses(peer);
    const auto is_lost = [&] { return in->node.losses(peer) != losses; };
    const bool met = in->wait([&] { return is_lost() || in->node.idle(peer); }, limit);
    if (is_lost()) return Status::peer_lost;
    return met ? Status::ok : Status::timed_out;
}

bool Endpoint::idle() const {
    const Inside* const in = open_inside();
    return in == nullptr || in->node.idle();
}

PeerCounters Endpoint::counters(std::size_t peer) const {
    const Inside* const in = open_inside();
    if (in == nullptr || !in->node.is_peer(peer)) return {};
    PeerCounters counters = in->node.counters(peer);
    counters.path = in->path_to(peer);
    return counters;
}

}  // namespace wireproof::am
