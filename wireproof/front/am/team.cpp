// Team: carries the messages of the collective operations of this rank as requests.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/collective.hpp"
#include "wireproof/front/am/endpoint_inside.hpp"
#include "wireproof/proto/collective/operations.hpp"

namespace wireproof::am {
namespace {

using collective::Operations;
using collective::Outcome;
using collective::Ticket;

constexpr std::size_t message_min = 32;

static_assert(static_cast<int>(Reduction::max) == static_cast<int>(collective::Reduction::max));

Status status_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::ok: return Status::ok;
        case Outcome::peer_lost: return Status::peer_lost;
        case Outcome::mismatched: return Status::not_allowed;
        case Outcome::no_handler: return Status::no_handler;
        case Outcome::no_address: return Status::no_such_peer;
        case Outcome::closed: return Status::closed;
    }
    return Status::closed;
}

collective::Config config_of(const Node& node, std::size_t message_max) {
    collective::Config config;
    config.rank = static_cast<collective::Rank>(node.self());
    config.ranks = static_cast<collective::Rank>(node.nodes());
    config.message_max = message_max;
    return config;
}

}  // namespace

struct Team::Request::State {
    bool done = false;
    Status status = Status::would_block;
    std::weak_ptr<Team::Inside> team = {};
};

struct Team::Inside final : Companion {
    Inside(Endpoint::Inside& of, std::uint16_t number, std::size_t message_max)
        : endpoint(&of), handler(number), operations(config_of(of.node, message_max)) {}

    bool is_open() const { return endpoint != nullptr && !endpoint->fork.forked(); }

    void on_turn() override { progress(); }
    void on_lost(std::size_t peer) override {
        operations.on_lost(static_cast<collective::Rank>(peer), Outcome::peer_lost);
    }
    void on_refused(std::size_t peer, std::uint16_t refused) override {
        if (refused != handler) return;
        operations.on_lost(static_cast<collective::Rank>(peer), Outcome::no_handler);
    }
    void on_end() override {
        endpoint = nullptr;
        operations.end_all(Outcome::closed);
        collect();
    }

    /// Sends what is due. Inside a handler nothing leaves: the turn calls this again at its end.
    void progress() {
        Node& node = endpoint->node;
        if (operations.has_sends() && !node.in_handler()) operations.send(poster);
        collect();
        node.set_companion_awaiting(operations.busy());
    }
    void collect() {
        while (const auto ended = operations.next_ended()) {
            const auto at = std::find_if(pending.begin(), pending.end(), [&](const Pending& one) {
                return one.ticket == ended->ticket;
            });
            if (at == pending.end()) continue;
            at->state->status = status_of(ended->outcome);
            at->state->done = true;
            std::swap(*at, pending.back());
            pending.pop_back();
        }
    }
    /// The state of a new request. It takes that of the last one if nobody has that any more:
    /// programs that block never have two.
    std::shared_ptr<Request::State> new_state() {
        if (last_state == nullptr || last_state.use_count() > 1) {
            last_state = std::make_shared<Request::State>();
        }
        *last_state = {};
        return last_state;
    }
    Operations::Post post(std::size_t to, ConstBytes message) {
        const auto now = [this] { return endpoint->clock.now(); };
        const Status status = endpoint->node.ask(to, handler, message, now);
        if (status == Status::ok) return Operations::Post::accepted;
        if (status == Status::no_such_peer) return Operations::Post::no_address;
        // No handler runs now, and the message is not too long.
        WIREPROOF_CHECK(status == Status::would_block);
        return Operations::Post::full;
    }

    Endpoint::Inside* endpoint;  // null after the end of the Endpoint or of the Team
    std::uint16_t handler;
    Operations operations;
    struct Pending {
        Ticket ticket;
        std::shared_ptr<Request::State> state;
    };
    std::vector<Pending> pending;
    std::shared_ptr<Request::State> last_state;
    Operations::Poster poster = [this](collective::Rank to, ConstBytes message) {
        return post(to, message);
    };
};

Result<Team> Team::create(Endpoint& endpoint, std::uint16_t handler) {
    using Created = Result<Team>;
    Endpoint::Inside* const in = endpoint.open_inside();
    if (in == nullptr) return Created::failure("the Endpoint is closed");
    const host::OneUser::Call call(in->user);
    if (handler == 0) return Created::failure("handler: 0 is no handler number");
    if (in->node.in_handler()) return Created::failure("a handler cannot make a Team");
    if (in->node.had_companion()) return Created::failure("the Endpoint has had a Team already");
    const std::size_t message_max = endpoint.message_max();
    if (message_max < message_min) {
        return Created::failure("messages of " + std::to_string(message_max) +
                                " bytes are too short for a Team");
    }
    auto inside = std::make_shared<Inside>(*in, handler, message_max);
    in->node.handle(handler, [inside](const Message& message) {
        const auto from = static_cast<collective::Rank>(message.peer());
        inside->operations.on_message(from, message.bytes());
    });
    in->node.set_companion(inside);
    return Team(std::move(inside));
}

Team::Team(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
Team::Team(Team&&) noexcept = default;

Team& Team::operator=(Team&& other) noexcept {
    std::swap(inside_, other.inside_);
    if (this != &other) Team(std::move(other));
    return *this;
}

Team::~Team() {
    if (inside_ == nullptr || !inside_->is_open()) return;
    Endpoint::Inside& in = *inside_->endpoint;
    const host::OneUser::Call call(in.user);
    in.node.handle(inside_->handler, {});
    in.node.set_companion(nullptr);
    inside_->on_end();
}

std::size_t Team::rank() const {
    return inside_ != nullptr ? inside_->operations.config().rank : 0;
}

std::size_t Team::ranks() const {
    return inside_ != nullptr ? inside_->operations.config().ranks : 0;
}

// Requests.

Team::Request::Request(std::shared_ptr<State> state) : state_(std::move(state)) {}

bool Team::Request::done() const {
    return state_->done;
}

Status Team::Request::status() const {
    return state_->status;
}

bool Team::Request::test() {
    const auto team = state_->team.lock();
    if (!state_->done && team != nullptr && team->is_open()) {
        const host::OneUser::Call call(team->endpoint->user);
        team->endpoint->poll();
    }
    return state_->done;
}

Status Team::Request::wait(std::chrono::milliseconds limit) {
    const auto state = state_;
    const auto team = state->team.lock();
    if (state->done || team == nullptr || !team->is_open()) return state->status;
    Endpoint::Inside& in = *team->endpoint;
    const host::OneUser::Call call(in.user);
    if (in.wait([&] { return state->done; }, limit)) return state->status;
    return in.node.polling() ? Status::would_block : Status::timed_out;
}

/// `operation` begins an operation and returns its ticket, or a Status if it cannot begin.
template <class Begin>
Team::Request Team::begin(Begin&& operation) {
    const auto end = [](Status status) {
        return Request(std::make_shared<Request::State>(Request::State{true, status}));
    };
    if (inside_ == nullptr || !inside_->is_open()) return end(Status::closed);
    const host::OneUser::Call call(inside_->endpoint->user);
    const std::variant<Ticket, Status> begun = operation(inside_->operations);
    if (const auto* refused = std::get_if<Status>(&begun)) return end(*refused);
    const auto state = inside_->new_state();
    state->team = inside_;
    inside_->pending.push_back({std::get<Ticket>(begun), state});
    inside_->progress();
    return Request(state);
}

template <class Start>
Status Team::block(Start&& start) {
    if (inside_ == nullptr || !inside_->is_open()) return Status::closed;
    Endpoint::Inside& in = *inside_->endpoint;
    const host::OneUser::Call call(in.user);
    if (in.node.polling()) return Status::not_allowed;
    const std::shared_ptr<Request::State> state = start().state_;
    in.wait_for([&] { return state->done; });
    return state->status;
}

// Operations.

Status Team::barrier() {
    return block([&] { return start_barrier(); });
}

Team::Request Team::start_barrier() {
    return begin([](Operations& operations) { return operations.barrier(); });
}

Status Team::broadcast(std::span<std::byte> bytes, std::size_t root) {
    return block([&] { return start_broadcast(bytes, root); });
}

Team::Request Team::start_broadcast(std::span<std::byte> bytes, std::size_t root) {
    return begin([&](Operations& operations) -> std::variant<Ticket, Status> {
        if (root >= operations.config().ranks) return Status::no_such_peer;
        return operations.broadcast(bytes, static_cast<collective::Rank>(root));
    });
}

Status Team::reduce(std::span<std::byte> bytes, Kind kind, Reduction reduction) {
    return block([&] { return start_reduce(bytes, kind, reduction); });
}

Team::Request Team::start_reduce(std::span<std::byte> bytes, Kind kind, Reduction reduction) {
    static_assert(static_cast<int>(Kind::float32) ==
                  static_cast<int>(collective::Element::float32));
    static_assert(static_cast<int>(Kind::uint64) == static_cast<int>(collective::Element::uint64));
    return begin([&](Operations& operations) {
        return operations.all_reduce(bytes, static_cast<collective::Element>(kind),
                                     static_cast<collective::Reduction>(reduction));
    });
}

Status Team::all_to_all(std::span<const std::byte> source, std::span<std::byte> destination) {
    return block([&] { return start_all_to_all(source, destination); });
}

Team::Request Team::start_all_to_all(std::span<const std::byte> source,
                                     std::span<std::byte> destination) {
    return begin([&](Operations& operations) -> std::variant<Ticket, Status> {
        const bool fits =
            source.size() == destination.size() && source.size() % operations.config().ranks == 0;
        if (!fits) return Status::not_allowed;
        return operations.all_to_all(source, destination);
    });
}

}  // namespace wireproof::am
