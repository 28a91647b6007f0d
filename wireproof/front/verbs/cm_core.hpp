// What the kernel's rdma_cm is to a program: identifiers that are bound, resolved, connected and
// disconnected, and events that tell of it. Underneath are datagrams to queue pair 1.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/front/verbs/cm_address.hpp"
#include "wireproof/front/verbs/cm_channel.hpp"
#include "wireproof/front/verbs/cm_registry.hpp"
#include "wireproof/front/verbs/engine.hpp"

namespace wireproof::verbs {

struct CmIdentifier {
    enum class State : std::uint8_t {
        idle,
        bound,
        resolving,  // the destination, which may be about to listen
        address_resolved,
        route_resolved,
        listening,
        requesting,  // asked the other side, which has not answered
        replied,     // the other side accepted, and the program has not said that it is ready
        requested,   // the other side asks
        replying,    // accepted, and the other side has not said that it is ready
        connected,
        over,  // or on the way there
    };

    std::uint32_t number = 0;
    std::uint64_t uid = 0;  // what the program calls it; 0: a request that it has not accepted
    std::uint16_t space = 0;
    std::uint8_t qp_type = 0;
    State state = State::idle;
    std::shared_ptr<CmChannel> channel;
    std::shared_ptr<std::uint32_t> taken = std::make_shared<std::uint32_t>(0);

    Address source{};       // as the program named them
    Address destination{};  //
    bool native = false;    // bound to a service in InfiniBand's own terms
    bool on_device = false;
    bool owns_port = false;
    bool reuses_port = false;
    bool one_family = false;  // an IPv6 address is not to mean IPv4 ones, too
    std::uint32_t backlog = 0;

    Instant resolved_by{};
    bool nobody = false;  // has the destination
    PeerId peer{};
    proto::ib::Gid peer_gid{};
    std::optional<std::uint64_t> peer_socket;  // of a process of this host
    std::optional<proto::ib::CmId>
        connection;  // or resolution, or query; nothing: not asked, or over
    bool disconnecting = false;

    /// That was sent to the other side; and until when a refusal may only mean that it was too
    /// early.
    std::variant<std::monostate, proto::ib::CmRequest, proto::ib::CmServiceRequest> question;
    Instant may_be_early_until{};
    Instant asks_again_at = never;

    // Of the connection.
    std::uint8_t traffic_class = 0;
    std::uint8_t ack_timeout = 14;  // 4.096 us x 2^n: 67 ms
    std::size_t path_mtu = 0;       // bytes
    proto::ib::Psn receive_psn{};
    proto::ib::Psn send_psn{};
    std::uint32_t remote_queue_pair = 0;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry = 0;

    bool is_datagram() const;
};

/// How long the other side may take to listen when both are told to begin at once.
inline constexpr Duration early_most = Duration::milliseconds(1000);

/// Any thread. What returns an int returns 0 or an errno. Identifiers are those of one channel:
/// ENOENT for one that there is not, EINVAL for one of another channel.
class RdmaCm : public Engine::ConnectionHearer {
public:
    using ChannelPointer = std::shared_ptr<CmChannel>;

    explicit RdmaCm(std::shared_ptr<Engine> engine);
    RdmaCm(const RdmaCm&) = delete;
    RdmaCm& operator=(const RdmaCm&) = delete;
    /// Every channel is closed. Waits a while for the other sides to hear of what was disconnected.
    ~RdmaCm() override;

    Engine& engine() { return *engine_; }

    int create(const ChannelPointer& channel, std::uint64_t uid, std::uint16_t space,
               std::uint8_t qp_type, std::uint32_t& number);
    /// `taken`: events of it that the program has taken.
    int destroy(const ChannelPointer& channel, std::uint32_t number, std::uint32_t& taken);
    int bind(const ChannelPointer& channel, std::uint32_t number, const CmName& name);
    int resolve_address(const ChannelPointer& channel, std::uint32_t number,
                        const std::optional<CmName>& source, const CmName& destination,
                        Duration limit);
    int resolve_route(const ChannelPointer& channel, std::uint32_t number);
    int listen(const ChannelPointer& channel, std::uint32_t number, std::uint32_t backlog);
    int connect(const ChannelPointer& channel, std::uint32_t number,
                const rdma_ucm_conn_param& asked);
    /// Of the side that was asked, with parameters; of the one that asked, without.
    int accept(const ChannelPointer& channel, std::uint32_t number, std::uint64_t uid,
               const rdma_ucm_conn_param& asked);
    int reject(const ChannelPointer& channel, std::uint32_t number, proto::ib::CmReason reason,
               ConstBytes why);
    int disconnect(const ChannelPointer& channel, std::uint32_t number);
    int notify(const ChannelPointer& channel, std::uint32_t number, std::uint32_t event);
    int set_option(const ChannelPointer& channel, std::uint32_t number, std::uint32_t level,
                   std::uint32_t name, ConstBytes value);
    int migrate(const ChannelPointer& from, const ChannelPointer& to, std::uint32_t number,
                std::uint32_t& taken);
    void close(const ChannelPointer& channel);
    void close_all();

    /// What `use` makes of an identifier, under the engine's lock. It may throw nothing.
    template <class Use>
    int with(const ChannelPointer& channel, std::uint32_t number, Use&& use) {
        return engine_->managing([&](Instant now, proto::ib::ConnectionManagement& management) {
            CmIdentifier* one = nullptr;
            const int error = find(channel, number, one);
            if (error != 0) return error;
            return std::forward<Use>(use)(*one, now, management);
        });
    }

    void on_event(Instant now, proto::ib::ConnectionManagement& management,
                  const proto::ib::CmEvent& event) override;
    void on_deadline(Instant now, proto::ib::ConnectionManagement& management) override;
    Instant next_deadline() const override { return earliest(next_look_, next_watch_); }

    // For answers.
    proto::ib::Gid own_gid() const;
    std::size_t device_path_mtu() const { return engine_->path_mtu(); }

private:
    static constexpr std::uint32_t identifiers_max = 0xFFFF;  // librdmacm has no room for others

    int find(const ChannelPointer& channel, std::uint32_t number, CmIdentifier*& found);
    CmIdentifier& add(const ChannelPointer& channel);
    int bind_to(CmIdentifier& one, const Address& address, bool claims);
    int take_port(CmIdentifier& one, std::uint16_t port, bool claims);
    void give_up_port(CmIdentifier& one);
    bool is_free(const CmIdentifier& one, std::uint16_t port) const;
    int claim(const CmIdentifier& one, std::uint16_t port);
    void seek(Instant now, CmIdentifier& one);
    void resolve_to(CmIdentifier& one, Address to);
    int request(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one,
                const rdma_ucm_conn_param& asked);
    int ask_service(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one,
                    const rdma_ucm_conn_param& asked);
    int accept_request(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one,
                       const rdma_ucm_conn_param& asked);
    int set_path(CmIdentifier& one, ConstBytes paths);
    void end(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one);
    void forget(Instant now, proto::ib::ConnectionManagement& management, std::uint32_t number);
    void close_identifiers(const CmChannel* channel);
    void linger();

    void watch(Instant now, CmIdentifier& one);
    void look_after_peers(Instant now, proto::ib::ConnectionManagement& management);
    void take(Instant now, proto::ib::ConnectionManagement& management,
              const proto::ib::CmEvent& event);
    void on_request(Instant now, proto::ib::ConnectionManagement& management,
                    const proto::ib::CmEvent& event);
    std::optional<proto::ib::CmReason> why_unfit(const CmIdentifier& heard,
                                                 const proto::ib::CmRequest& request) const;
    CmIdentifier& add_requested(const CmIdentifier& heard, proto::ib::CmId id, PeerId peer,
                                const proto::ib::Gid& gid);
    void on_answer(Instant now, CmIdentifier& one, const proto::ib::CmEvent& event);
    int send_question(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one);
    bool may_ask_again(Instant now, CmIdentifier& one, const proto::ib::CmEvent& event);
    void ask_again(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one);
    CmIdentifier* listener(std::uint64_t service, bool ipv6);
    void tell(const CmIdentifier& one, std::uint32_t event, int status = 0);
    void tell(const CmIdentifier& one, const rdma_ucm_event_resp& what);
    void over(CmIdentifier& one);
    static void describe_request(CmIdentifier& one, const proto::ib::CmRequest& request,
                                 rdma_ucm_conn_param& to);

    std::shared_ptr<Engine> engine_;
    // All of these under the engine's lock.
    Random random_;
    std::map<std::uint32_t, CmIdentifier> identifiers_;
    std::map<proto::ib::CmId, std::uint32_t> connections_;
    std::map<std::uint64_t, std::vector<std::uint32_t>> listeners_;  // by service
    std::set<proto::ib::CmId> parting_;  // disconnected by identifiers that are gone; no answer yet
    Instant next_look_ = never;          // at those that are resolving, or ask again
    Instant next_watch_ = never;         // whether those that connections are with still live
    bool explained_ = false;
};

/// Of this process, while a channel of it is open.
Expected<std::shared_ptr<RdmaCm>> shared_rdma_cm();

// Answers to queries: how an identifier looks to the program.
void describe_addresses(const CmIdentifier& one, rdma_ucm_query_addr_resp& to);
void describe_gids(const CmIdentifier& one, const proto::ib::Gid& own,
                   rdma_ucm_query_addr_resp& to);
void describe_route(const CmIdentifier& one, const proto::ib::Gid& own,
                    rdma_ucm_query_route_resp& to);
/// False: there is none.
bool describe_path(const CmIdentifier& one, const proto::ib::Gid& own, ib_path_rec_data& to);
/// What takes its queue pair to a state. EINVAL: it is not where that could be done.
int describe_queue_pair(const CmIdentifier& one, std::uint32_t state, ib_uverbs_qp_attr& to);
void describe_address_vector(const CmIdentifier& one, ib_uverbs_ah_attr& to);

}  // namespace wireproof::verbs
