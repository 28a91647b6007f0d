// The first word of a message from one node to another is its number `i`. Its length and all other
// bytes are computed from that.
#include "wireproof/lab/sp2/sp2_exchange.hpp"

#include <algorithm>
#include <array>

#include "wireproof/lab/common/am_content.hpp"

namespace wireproof::lab {
namespace {

constexpr am::HandlerId handler{7};
constexpr std::uint64_t exchange_inbox = 0x4000;
constexpr std::size_t gap = 64;  // bytes after the inbox that no store may write

class Exchange : public Sp2Program {
public:
    Exchange(Sp2Am& am, const Sp2Exchange& plan, const Sp2Progress& progress)
        : am_(am), plan_(plan), progress_(progress), flows_(am.nodes() * am.nodes()) {
        for (std::size_t from = 0; from < am.nodes(); ++from) {
            for (std::size_t to = 0; to < am.nodes(); ++to) {
                if (talks(from, to)) prepare(from, to);
            }
        }
    }

    sim::RunResult run() {
        return am_.run(*this, [this] { return done(); }, {.until = Instant(plan_.time_limit)});
    }

    Instant on_turn(std::size_t node) override {
        if (node == 0) am_.host(0).spend(plan_.work);
        for (std::size_t i = 0; i < am_.nodes(); ++i) {
            turn_[node] = (turn_[node] + 1) % am_.nodes();
            if (!talks(node, turn_[node])) continue;
            Flow& flow = at(node, turn_[node]);
            if (flow.posted_requests + flow.posted_stores == plan_.requests + plan_.stores) {
                continue;
            }
            post(node, turn_[node], flow);
            return am_.host(node).now();
        }
        return never;
    }

    void on_delivery(std::size_t node, std::size_t peer, const am::Delivery& delivery) override {
        if (const auto* request = std::get_if<am::Request>(&delivery)) {
            on_request(node, peer, *request);
        } else if (const auto* reply = std::get_if<am::Reply>(&delivery)) {
            Flow& flow = at(node, peer);
            expect(is_message(node, peer, flow.replies++, reply->arguments), "a reply");
        } else if (const auto* stored = std::get_if<am::Stored>(&delivery)) {
            on_stored(node, peer, *stored);
        } else if (const auto* ended = std::get_if<am::StoreEnded>(&delivery)) {
            expect(ended->reason == am::Reason::none, "the end of a store");
            ++at(node, peer).ended;
        } else {
            expect(std::holds_alternative<am::SessionBegan>(delivery), "a session");
        }
    }

    Sp2Exchanged result() {
        Sp2Exchanged result;
        for (std::size_t i = 0; i < flows_.size(); ++i) {
            result.requests += flows_[i].requests;
            result.replies += flows_[i].replies;
            result.stores += flows_[i].stores;
            check_memory(i / am_.nodes(), i % am_.nodes());
        }
        for (std::size_t node = 0; node < am_.nodes(); ++node) {
            const sp2::AdapterCounts& counts = am_.machine().wire(node).counts();
            result.packets += counts.sent;
            result.overflows += counts.overflows;
            for (std::size_t peer = 0; peer < am_.nodes(); ++peer) {
                if (talks(node, peer) || talks(peer, node)) {
                    result.resent += am_.at(node, peer).stats().resent;
                }
            }
        }
        if (!done()) expect(false, "the end within the time limit");
        result.wrong = wrong_;
        return result;
    }

private:
    /// The messages from one node to another.
    struct Flow {
        std::uint64_t posted_requests = 0;
        std::uint64_t posted_stores = 0;
        std::uint64_t replies = 0;  // that arrived at the requester
        std::uint64_t ended = 0;    // stores, as reported to the sender
        std::uint64_t requests = 0;
        std::uint64_t stores = 0;
        std::vector<std::byte> outbox;  // the bytes of all stores together
        std::vector<std::byte> inbox;   // of the receiver
    };

    bool talks(std::size_t from, std::size_t to) const {
        return from != to && (!plan_.to_one || to == 0);
    }
    Flow& at(std::size_t from, std::size_t to) { return flows_[from * am_.nodes() + to]; }
    std::uint64_t key(std::size_t from, std::size_t to, std::uint64_t number) const {
        return ((number * am_.nodes() + from) * am_.nodes() + to) * 1000;
    }
    void expect(bool condition, const char* what) {
        if (!condition && wrong_.empty()) wrong_ = std::string(what) + " was not as expected";
    }

    void prepare(std::size_t from, std::size_t to) {
        Flow& flow = at(from, to);
        flow.outbox.resize(plan_.stores * plan_.store_bytes);
        Content(key(from, to, 0)).write(flow.outbox);
        flow.inbox.resize(flow.outbox.size() + gap);
        const bool added = am_.memory(to, from).add(exchange_inbox, flow.inbox, {.write = true});
        WIREPROOF_CHECK(added);
    }

    static std::size_t size_of(std::uint64_t number) { return 4 * (1 + number % 4); }

    ConstBytes message(std::size_t from, std::size_t to, std::uint64_t number) {
        const Bytes bytes = Bytes(message_).first(size_of(number));
        Content(key(from, to, number)).write(bytes);
        store_le<std::uint32_t>(bytes.first<4>(), static_cast<std::uint32_t>(number));
        return bytes;
    }
    bool is_message(std::size_t from, std::size_t to, std::uint64_t number, ConstBytes bytes) {
        const ConstBytes wanted = message(from, to, number);
        return std::equal(wanted.begin(), wanted.end(), bytes.begin(), bytes.end());
    }

    // Spreads the stores evenly between the requests, so that both use the channel at the same
    // time.
    void post(std::size_t node, std::size_t peer, Flow& flow) {
        const bool store =
            flow.posted_stores * (plan_.requests + 1) < (flow.posted_requests + 1) * plan_.stores;
        if (!store) {
            const auto arguments = message(node, peer, flow.posted_requests);
            const auto status = am_.request(node, peer, handler, arguments);
            if (status == am::PostStatus::accepted) ++flow.posted_requests;
            return;
        }
        const std::size_t begin = flow.posted_stores * plan_.store_bytes;
        am::Connection::Store order;
        order.address = exchange_inbox + begin;
        order.source = ConstBytes(flow.outbox).subspan(begin, plan_.store_bytes);
        order.handler = handler;
        order.argument = static_cast<std::uint32_t>(flow.posted_stores);
        if (am_.store(node, peer, order) == am::PostStatus::accepted) ++flow.posted_stores;
    }

    // The reply has the same content as the request.
    void on_request(std::size_t node, std::size_t peer, const am::Request& request) {
        const std::uint64_t number = at(peer, node).requests++;
        expect(is_message(peer, node, number, request.arguments), "a request");
        const auto answer = message(peer, node, number);
        expect(am_.reply(node, peer, handler, answer) == am::PostStatus::accepted, "a reply");
    }

    void on_stored(std::size_t node, std::size_t peer, const am::Stored& stored) {
        Flow& flow = at(peer, node);
        const auto begin = static_cast<std::ptrdiff_t>(stored.argument * plan_.store_bytes);
        expect(stored.argument < plan_.stores, "a store's number");
        expect(stored.memory.data() == flow.inbox.data() + begin &&
                   stored.memory.size() == plan_.store_bytes,
               "a store's place");
        ++flow.stores;
    }

    bool done() {
        constexpr std::uint64_t turns_between = 10'000;
        if (progress_ && ++turns_ % turns_between == 0) {
            progress_(static_cast<double>(done_) / static_cast<double>(flows_.size()));
        }
        if (!wrong_.empty()) return true;
        // Continues at the first flow that was not done at the last call.
        for (; done_ < flows_.size(); ++done_) {
            const Flow& flow = flows_[done_];
            if (!talks(done_ / am_.nodes(), done_ % am_.nodes())) continue;
            if (flow.replies < plan_.requests || flow.ended < plan_.stores) return false;
        }
        return true;
    }

    void check_memory(std::size_t from, std::size_t to) {
        if (!talks(from, to)) return;
        const Flow& flow = at(from, to);
        const auto behind = flow.inbox.begin() + static_cast<std::ptrdiff_t>(flow.outbox.size());
        expect(std::equal(flow.outbox.begin(), flow.outbox.end(), flow.inbox.begin()), "an inbox");
        expect(std::all_of(behind, flow.inbox.end(), [](std::byte b) { return b == std::byte{}; }),
               "memory behind an inbox");
        expect(flow.requests == plan_.requests && flow.stores == plan_.stores, "a count");
    }

    Sp2Am& am_;
    Sp2Exchange plan_;
    Sp2Progress progress_;
    std::vector<Flow> flows_;
    std::vector<std::size_t> turn_ = std::vector<std::size_t>(am_.nodes());
    std::array<std::byte, 16> message_{};
    std::string wrong_;
    std::uint64_t turns_ = 0;
    std::size_t done_ = 0;
};

}  // namespace

Sp2Exchanged exchange(Sp2Am& am, const Sp2Exchange& plan, const Sp2Progress& progress) {
    Exchange program(am, plan, progress);
    const sim::RunResult run = program.run();
    Sp2Exchanged result = program.result();
    result.taken = run.now.since_start();
    return result;
}

}  // namespace wireproof::lab
