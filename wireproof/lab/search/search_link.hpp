// An end of a link for the search: the product's link engine, and a user whose messages are
// numbered.
#pragma once

#include <functional>
#include <memory>

#include "wireproof/core/link_engine.hpp"
#include "wireproof/lab/search/search_pair.hpp"
#include "wireproof/proto/hippi/link.hpp"
#include "wireproof/proto/pcie/link.hpp"

namespace wireproof::lab {

struct LinkTask {
    static constexpr std::uint32_t messages_max = 100;

    std::uint32_t messages = 6;  // from A, all different
    bool both_ways = false;      // B sends as many
    bool start_up = false;       // begin before the link is up; everything is done when it is up
};

/// The changes that a deliberately broken variant makes to frames. Each function may change the
/// frame; no check detects it. If it returns false, the frame is lost.
template <LinkEngine E>
struct LinkTampering {
    using Change = std::function<bool(const E& engine, Bytes frame)>;
    Change leaving = {};
    Change arriving = {};
};

template <LinkEngine E>
class LinkEnd {
public:
    using Config = std::conditional_t<std::same_as<E, pcie::Link>, pcie::Config, hippi::Config>;

    /// The link is already up, unless the task is to bring it up.
    static std::array<LinkEnd, 2> both(const Config& config, const LinkTask& task,
                                       LinkTampering<E> tampering = {});

    void offer_all();
    bool can_offer() const { return up_ && wants() > 0 && engine_.has_room(); }
    void offer();
    std::optional<std::vector<std::byte>> transmit();
    RxVerdict receive(std::vector<std::byte> frame, bool damaged);
    Instant deadline() const { return engine_.next_deadline(); }
    Instant now() const { return now_; }
    void wait();
    bool done() const;
    std::uint64_t replays() const { return engine_.stats().replays; }
    const char* violation() const { return violation_; }
    static const char* contradiction(const LinkEnd& a, const LinkEnd& b);
    static bool agree(const LinkEnd& a, const LinkEnd& b);
    Fingerprint::Value fingerprint() const;
    FrameInfo describe(ConstBytes frame) const;
    static std::string news(const LinkEnd& before, const LinkEnd& after);

private:
    struct Shared {
        LinkTask task;
        LinkTampering<E> tampering;
    };

    LinkEnd(E engine, std::size_t side, std::shared_ptr<const Shared> shared)
        : engine_(std::move(engine)),
          shared_(std::move(shared)),
          side_(static_cast<std::uint8_t>(side)) {}

    void draw();
    void fail(const char* sentence) {
        if (violation_ == nullptr) violation_ = sentence;
    }
    std::uint32_t own() const {
        return side_ == 0 || shared_->task.both_ways ? shared_->task.messages : 0;
    }
    std::uint32_t wants() const { return own() - submitted_; }

    E engine_;
    std::shared_ptr<const Shared> shared_;
    Instant now_;
    std::uint8_t side_;
    std::uint8_t submitted_ = 0;
    std::uint8_t delivered_ = 0;  // messages of the peer that were delivered here
    bool up_ = false;
    const char* violation_ = nullptr;
};

/// The product's engines with a small window and modulus, and figures for a world without time.
pcie::Config pcie_search_config(std::uint32_t window, std::uint32_t modulus);
hippi::Config hippi_search_config(std::uint32_t window, std::uint32_t modulus);

/// The lines of the table [engine] in a scenario with this engine. `hasty`: its timer expires
/// before an answer can arrive.
std::string scenario_engine(const pcie::Config& config, bool hasty);
std::string scenario_engine(const hippi::Config& config, bool hasty);

/// The smallest modulus that the engine allows. For HIPPI-6400: the smallest with which the
/// receiver recognises every duplicate.
constexpr std::uint32_t pcie_modulus(std::uint32_t window) {
    return 2 * window + 2;
}
constexpr std::uint32_t hippi_modulus(std::uint32_t window) {
    return 2 * window + 1;
}

template <LinkEngine E>
class LinkSearch : public PairSearch<LinkEnd<E>> {
public:
    LinkSearch(const typename LinkEnd<E>::Config& config, const LinkTask& task,
               const SearchSetting& setting, LinkTampering<E> tampering = {})
        : PairSearch<LinkEnd<E>>(setting, LinkEnd<E>::both(config, task, std::move(tampering))) {}
};
using PcieSearch = LinkSearch<pcie::Link>;
using HippiSearch = LinkSearch<hippi::Link>;

extern template class LinkEnd<pcie::Link>;
extern template class LinkEnd<hippi::Link>;
extern template class PairSearch<LinkEnd<pcie::Link>>;
extern template class PairSearch<LinkEnd<hippi::Link>>;

}  // namespace wireproof::lab
