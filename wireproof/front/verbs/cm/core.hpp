// The part of the kernel's rdma_cm that programs see: identifiers that a program binds, resolves,
// connects and disconnects, and events that report the results. It sends datagrams to queue pair 1.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/front/verbs/cm/address.hpp"
#include "wireproof/front/verbs/cm/channel.hpp"
#include "wireproof/front/verbs/cm/registry.hpp"
#include "wireproof/front/verbs/device/device.hpp"
#include "wireproof/front/verbs/device/keeper.hpp"
#include "wireproof/host/steady_clock.hpp"

namespace wireproof::verbs {

inline constexpr std::uint8_t cm_hop_limit = 64;
inline constexpr std::uint32_t datagram_key =
    0x01234567;  // rdma_cm gives it to all datagram queue pairs

using CmQuestion = std::variant<std::monostate, proto::ib::CmRequest, proto::ib::CmServiceRequest>;

struct CmIdentifier {
    enum class State : std::uint8_t {
        idle,
        bound,
        resolving,  // the destination, whose program may be about to listen
        address_resolved,
        route_resolved,
        listening,
        requesting,  // this side sent a request; no answer yet
        replied,     // the peer accepted; the program has not confirmed yet
        requested,   // the peer sent a request
        replying,    // the program accepted; the peer has not confirmed yet
        connected,
        over,  // ended or ending
    };

    std::uint32_t number = 0;
    std::uint64_t uid = 0;  // given by the program; 0: a request that it has not accepted
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
    bool one_family = false;  // an IPv6 address does not include IPv4 addresses
    std::uint32_t backlog = 0;

    Instant resolved_by{};
    Address peer{};  // of the side that asks: the host that it asks
    proto::ib::Gid peer_gid{};
    PeerId peer_number{};  // while there is a connection
    // If the peer is another process of this host: its socket (0: none was seen yet).
    std::optional<std::uint64_t> peer_socket;
    bool peer_gone = false;  // its process has ended; what it sent before may not be read yet
    std::optional<proto::ib::CmId>
        connection;  // or resolution, or query; empty: not begun, or ended
    bool disconnecting = false;

    /// The message that this side sent to the peer. Until `may_be_early_until`, a refusal may only
    /// mean that the peer does not listen yet.
    CmQuestion question;
    Instant may_be_early_until{};
    Instant asks_again_at = never;

    // Parameters of the connection.
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

    /// The service at its port, as connection management numbers it.
    std::uint64_t service() const;
    bool is_datagram() const;
};

/// How often identifiers look for a listener, and how soon a failed step is tried again.
inline constexpr Duration between_connection_looks = Duration::milliseconds(10);

/// Any thread may call any function. A function with an int result returns 0 or an errno. Each
/// identifier belongs to one channel: the result is ENOENT if the identifier does not exist, and
/// EINVAL if it belongs to another channel.
class RdmaCm : public Device::ConnectionHearer {
public:
    using ChannelPointer = std::shared_ptr<CmChannel>;

    /// Without the keeper of the device, it makes progress only inside calls, and looks only in
    /// look().
    explicit RdmaCm(std::shared_ptr<Device> device);
    RdmaCm(const RdmaCm&) = delete;
    RdmaCm& operator=(const RdmaCm&) = delete;
    /// Every channel must be closed before. Waits for a while, so that the peers learn of the
    /// disconnects.
    ~RdmaCm() override;

    Device& device() { return *device_; }
    /// From now on a thread calls look(). It starts when there is first something to look for.
    void let_thread_look();
    /// Looks for the listeners that identifiers seek, in files, and for the sockets of their peers,
    /// in the kernel. It holds the device's lock before and after that, but never meanwhile.
    void look(Instant now);

    int create(const ChannelPointer& channel, std::uint64_t uid, std::uint16_t space,
               std::uint8_t qp_type, std::uint32_t& number);
    /// `taken` becomes the number of its events that the program has taken.
    int destroy(const ChannelPointer& channel, std::uint32_t number, std::uint32_t& taken);
    int bind(const ChannelPointer& channel, std::uint32_t number, const CmName& name);
    int resolve_address(const ChannelPointer& channel, std::uint32_t number,
                        const std::optional<CmName>& source, const CmName& destination,
                        Duration limit);
    int resolve_route(const ChannelPointer& channel, std::uint32_t number);
    int listen(const ChannelPointer& channel, std::uint32_t number, std::uint32_t backlog);
    int connect(const ChannelPointer& channel, std::uint32_t number,
                const rdma_ucm_conn_param& asked);
    /// The side that received the request gives parameters. The side that sent it gives none.
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

    /// Returns what `use` returns for the identifier. `use` runs under the device's lock and must
    /// not throw.
    template <class Use>
    int with(const ChannelPointer& channel, std::uint32_t number, Use&& use) {
        return device_->managing([&](Instant now, proto::ib::ConnectionManagement& management) {
            CmIdentifier* one = nullptr;
            const int error = find(channel, number, one);
            if (error != 0) return error;
            return std::forward<Use>(use)(*one, now, management);
        });
    }

    void on_event(Instant now, proto::ib::ConnectionManagement& management,
                  const proto::ib::CmEvent& event) override;
    void on_deadline(Instant now, proto::ib::ConnectionManagement& management) override;
    void on_peer_end(Instant now, PeerId peer) override;
    Instant next_deadline() const override { return earliest(next_look_, next_try_); }

    // For answers.cpp.
    proto::ib::Gid own_gid() const;
    std::size_t device_path_mtu() const { return device_->path_mtu(); }

private:
    static constexpr std::uint32_t identifiers_max = 0xFFFF;  // librdmacm has no room for more

    int find(const ChannelPointer& channel, std::uint32_t number, CmIdentifier*& found);
    CmIdentifier& add(const ChannelPointer& channel);
    int bind_and_claim(const ChannelPointer& channel, std::uint32_t number, const Address& address);
    int bind_to(CmIdentifier& one, const Address& address);
    int take_port(CmIdentifier& one, std::uint16_t port);
    void give_up_port(CmIdentifier& one);
    bool is_free(const CmIdentifier& one, std::uint16_t port) const;
    std::optional<CmService> claim_of(const CmIdentifier& one) const;
    bool claim(const CmService& service);
    void give_up_services();
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

    void seek(Instant now);
    void settle(Instant now, CmIdentifier& one, const std::optional<Address>& found);
    std::optional<std::uint64_t> socket_of_peer(const ChannelPointer& channel,
                                                std::uint32_t number);
    void watch(Instant now, const CmIdentifier& one);
    bool is_watched(const CmIdentifier& one) const;
    void look_after_peers();
    void note_socket(Instant now, CmIdentifier& one, std::uint64_t socket);
    void plan_look(Instant at) { next_look_ = earliest(next_look_, at); }
    void start_look(Instant now);
    bool lookers_turn();
    void lose_peer(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one);
    void refuse_for_nobody(CmIdentifier& one);
    void on_request(Instant now, proto::ib::ConnectionManagement& management,
                    const proto::ib::CmEvent& event);
    std::optional<proto::ib::CmReason> why_unfit(const CmIdentifier& heard,
                                                 const proto::ib::CmRequest& request) const;
    CmIdentifier& add_requested(const CmIdentifier& heard, proto::ib::CmId id,
                                const proto::ib::Gid& gid);
    void on_answer(CmIdentifier& one, const proto::ib::CmEvent& event);
    void on_reply(CmIdentifier& one, const proto::ib::CmReply& reply);
    void on_rejection(CmIdentifier& one, const proto::ib::CmReject& reject);
    void on_service(CmIdentifier& one, const proto::ib::CmServiceReply& reply);
    int ask_first(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one,
                  CmQuestion question);
    int send_question(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one);
    bool may_ask_again(Instant now, CmIdentifier& one, const proto::ib::CmEvent& event);
    void ask_again(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one);
    CmIdentifier* listener(std::uint64_t service, bool ipv6);
    void tell(const CmIdentifier& one, std::uint32_t event, int status = 0);
    void tell(const CmIdentifier& one, const rdma_ucm_event_resp& what);
    void over(CmIdentifier& one);
    static void describe_request(CmIdentifier& one, const proto::ib::CmRequest& request,
                                 rdma_ucm_conn_param& to);

    std::shared_ptr<Device> device_;
    // A call that gives or ends names of services holds it, before and beside the device's lock,
    // while it works with files.
    std::mutex naming_;
    std::vector<CmService> given_up_;  // files that have to go
    bool explained_ = false;
    // The device's lock protects all of these.
    Random random_;
    std::map<std::uint32_t, CmIdentifier> identifiers_;
    std::map<proto::ib::CmId, std::uint32_t> connections_;
    std::map<std::uint64_t, std::vector<std::uint32_t>> listeners_;  // by service
    std::set<proto::ib::CmId> parting_;  // of removed identifiers; DREQ not answered yet
    Instant next_try_ = never;           // when to ask again, or to believe in the end of a peer
    Instant next_look_ = never;          // when to look()
    bool thread_looks_ = false;
    std::unique_ptr<Keeper> looker_;  // null: there was nothing to look for yet
};

/// The object of this process. It exists while a channel is open.
Expected<std::shared_ptr<RdmaCm>> shared_rdma_cm();

// Answers to queries: an identifier as the program sees it.
void describe_addresses(const CmIdentifier& one, rdma_ucm_query_addr_resp& to);
void describe_gids(const CmIdentifier& one, const proto::ib::Gid& own,
                   rdma_ucm_query_addr_resp& to);
void describe_route(const CmIdentifier& one, const proto::ib::Gid& own,
                    rdma_ucm_query_route_resp& to);
/// Returns false if there is no path.
bool describe_path(const CmIdentifier& one, const proto::ib::Gid& own, ib_path_rec_data& to);
/// The attributes that move the queue pair to a state. The result is EINVAL if the identifier is
/// not ready for that.
int describe_queue_pair(const CmIdentifier& one, std::uint32_t state, ib_uverbs_qp_attr& to);
void describe_address_vector(const CmIdentifier& one, ib_uverbs_ah_attr& to);

}  // namespace wireproof::verbs
