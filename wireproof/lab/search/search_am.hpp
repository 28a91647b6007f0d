// An end of SP AM for the search, and for runs with all fates of a few frames: the product's
// connection, the calls of its user, and the memory that stores write and gets read. A value: a
// copy is the same end in another world.
//
// The engine refers to memory by its address, so all ends share one arena. Each end has its own
// image of the arena and copies it there before its engine runs.
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
    bool answered = false;  // for a request
    std::size_t bytes = 0;  // for a transfer
    // The reason with which a transfer ends that is not allowed, or a store that names no handler.
    am::Reason refusal = am::Reason::none;
};

/// The calls of each node, in this order. Each node has at most one store and one get.
using AmPrograms = std::array<std::vector<AmCall>, 2>;

/// Each chunk has two packets, and the numbers soon wrap. If frames may stay in flight for any
/// time, only a modulus that is larger than the number of packets is safe.
am::Config am_search_config(am::Recovery recovery, std::uint32_t window, std::uint32_t modulus);

/// The lines of the table [engine] in a scenario with this engine. `hasty`: its timer expires
/// before an answer can arrive.
std::string scenario_engine(const am::Config& config, bool hasty);

class AmEnd {
public:
    static constexpr std::size_t frame_max = 64;
    using Frame = std::vector<std::byte>;

    static std::array<AmEnd, 2> both(const am::Config& config, const AmPrograms& programs);

    const am::Stats& stats() const { return connection_.stats(); }
    const am::Config& config() const { return connection_.config(); }
    void advance(Instant to) { now_ = std::max(now_, to); }
    /// Returns true if a deadline had passed.
    bool on_deadline();

    void offer_all();
    bool can_offer() const;
    void offer();
    std::optional<Frame> transmit();
    RxVerdict receive(const Frame& frame, Arrives how);
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

    /// The data that all ends of a search share.
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
    Image inbox_{};    // bytes that stores of the peer wrote
    Image landing_{};  // bytes that our gets fetched
    Instant now_;

    std::size_t posted_ = 0;    // operations
    std::size_t answers_ = 0;   // to our requests
    std::size_t requests_ = 0;  // delivered here
    bool stored_ = false;       // a store of the peer arrived here
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
