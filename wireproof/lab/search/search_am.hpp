// An end of SP AM for the search, and for runs through all fates of a few frames: a connection as
// shipped, what its user asks for, and the memory that stores write and gets read. A value: a copy
// is the same end in another world.
//
// Memory is lent to engines by address, so all ends share one arena; each has its own image of it,
// which is put there before its engine runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wireproof/lab/search/search_pair.hpp"
#include "wireproof/proto/am/connection.hpp"

namespace wireproof::lab {

struct AmCall {
    enum class What : std::uint8_t { request, store, get };
    What what = What::request;
    bool answered = false;  // a request's
    std::size_t bytes = 0;  // of a transfer
    // Of a transfer that may not be, or of a store that names no handler: the reason it ends with.
    am::Reason refusal = am::Reason::none;
};

/// What each node asks of the other, in that order. At most one store and one get a node.
using AmPrograms = std::array<std::vector<AmCall>, 2>;

/// Two packets a chunk, numbers about to wrap. Only a modulus that no number comes round in twice
/// is safe where frames stay on their way for as long as they like.
am::Config am_search_config(am::Recovery recovery, std::uint32_t window, std::uint32_t modulus);

/// The lines of [engine] in a scenario with this engine. `hasty`: its timer ends before an answer
/// can come.
std::string scenario_engine(const am::Config& config, bool hasty);

class AmEnd {
public:
    static constexpr std::size_t frame_max = 64;
    using Frame = std::vector<std::byte>;

    static std::array<AmEnd, 2> both(const am::Config& config, const AmPrograms& programs);

    const am::Stats& stats() const { return connection_.stats(); }
    const am::Config& config() const { return connection_.config(); }
    void advance(Instant to) { now_ = std::max(now_, to); }
    /// True: a deadline had come.
    bool on_deadline();

    void offer_all();
    bool can_offer() const;
    void offer();
    std::optional<Frame> transmit();
    RxVerdict receive(const Frame& frame, bool damaged);
    Instant deadline() const { return connection_.next_deadline(); }
    Instant now() const { return now_; }
    void wait();
    bool done() const;
    std::uint64_t replays() const { return stats().nacks_acted_on; }
    const char* violation() const { return violation_; }
    static const char* contradiction(const AmEnd& a, const AmEnd& b);
    static bool agree(const AmEnd& a, const AmEnd& b);
    Fingerprint::Value fingerprint() const;
    FrameInfo describe(ConstBytes frame) const;
    static std::string news(const AmEnd& before, const AmEnd& after);

private:
    struct Arena;
    using Image = std::array<std::byte, 160>;

    /// What every end of a search has in common.
    struct Shared {
        AmPrograms programs;
        std::shared_ptr<Arena> arena;
    };

    AmEnd(const am::Config& config, std::size_t node, std::shared_ptr<const Shared> shared);

    am::PostStatus post(am::Connection& connection) const;
    void enter() const;
    void leave();
    void draw();
    void deliver(const am::Delivery& delivery);
    void on_request(const am::Request& request);
    void on_reply(const am::Reply& reply);
    bool all_heard(const AmEnd& from) const;
    void fail(const char* sentence) {
        if (violation_ == nullptr) violation_ = sentence;
    }
    const std::vector<AmCall>& program(std::size_t node) const { return shared_->programs[node]; }
    std::size_t other() const { return 1 - node_; }

    std::shared_ptr<const Shared> shared_;
    std::size_t node_;
    am::Connection connection_;
    Image inbox_{};    // what stores wrote here
    Image landing_{};  // what our gets brought
    Instant now_;

    std::size_t posted_ = 0;    // operations
    std::size_t answers_ = 0;   // to our requests
    std::size_t requests_ = 0;  // delivered here
    bool stored_ = false;       // here
    bool store_ended_ = false;  // ours
    bool get_ended_ = false;    // ours
    const char* violation_ = nullptr;
};

class AmSearch : public PairSearch<AmEnd> {
public:
    AmSearch(const am::Config& config, const AmPrograms& programs, const SearchSetting& setting)
        : PairSearch<AmEnd>(setting, AmEnd::both(config, programs)) {}
};

extern template class PairSearch<AmEnd>;

}  // namespace wireproof::lab
