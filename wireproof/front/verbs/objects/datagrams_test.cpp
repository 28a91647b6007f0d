// Datagrams to a process of this host, while it is not decided which wire leads to it.
#include <algorithm>

#include "wireproof/front/verbs/objects/datagram_test_kit.hpp"
#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

using peers_test::address_of;
using peers_test::Stranger;

constexpr std::uint32_t qkey = 0x11111111;

/// A UD queue pair that may send.
struct Datagrams : End {
    Datagrams() : End(IBV_QPT_UD) {
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_INIT;
        attributes.port_num = 1;
        attributes.qkey = qkey;
        EXPECT_EQ(ibv_modify_qp(pair, &attributes,
                                IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
                  0);
        attributes.qp_state = IBV_QPS_RTR;
        EXPECT_EQ(ibv_modify_qp(pair, &attributes, IBV_QP_STATE), 0);
        attributes.qp_state = IBV_QPS_RTS;
        EXPECT_EQ(ibv_modify_qp(pair, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
    }
    ibv_ah* handle_of(const Address& address) const {
        ibv_ah_attr to{};
        to.is_global = 1;
        to.port_num = 1;
        to.grh.sgid_index = 1;
        to.grh.dgid = gid_of(address);
        return ibv_create_ah(domain, &to);
    }
    int post_datagram(ibv_ah* to, ibv_sge piece) const {
        ibv_send_wr request{};
        request.sg_list = &piece;
        request.num_sge = 1;
        request.opcode = IBV_WR_SEND;
        request.wr.ud = {.ah = to, .remote_qpn = 0x123456, .remote_qkey = qkey};
        ibv_send_wr* bad = nullptr;
        return ibv_post_send(pair, &request, &bad);
    }
};

// A program such as UCX learns from the peer's answer that a datagram has arrived. It then reuses
// the memory before it sees the completion.
TEST(VerbsDatagrams, LeaveAtOnceToAPeerOfThisHostThatDoesNotSayHowItIsReached) {
    constexpr std::size_t headers = 12 + 8;  // base header, datagram header
    constexpr std::uint8_t host = 9;
    const auto listener = Listener::open(Stranger::place_of(host));
    ASSERT_TRUE(listener.has_value());
    const DatagramReceiver peer(address_of(host));
    Datagrams sender;
    ibv_ah* const to = sender.handle_of(address_of(host));
    ASSERT_NE(to, nullptr);
    for (const char which : {'a', 'b'}) {
        std::fill_n(sender.memory.begin(), 40, which);
        ASSERT_EQ(sender.post_datagram(to, sender.piece(0, 40)), 0);
        std::fill_n(sender.memory.begin(), 40, 'x');
        const std::string packet = peer.wait();
        ASSERT_EQ(packet.size(), headers + 40 + 4);
        EXPECT_EQ(packet.substr(headers, 40), std::string(40, which));
        EXPECT_EQ(sender.wait().status, IBV_WC_SUCCESS);
    }
    EXPECT_TRUE(listener->accept().has_value()) << "the sender asked how it is reached";
    EXPECT_EQ(ibv_destroy_ah(to), 0);
}

}  // namespace
}  // namespace wireproof::verbs::test
