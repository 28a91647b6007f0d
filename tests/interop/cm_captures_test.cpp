// The datagrams of communication management between two Linux hosts that connected by rdma_cm.
#include "tests/interop/rocev2_captures.hpp"

#include "wireproof/proto/ib/cm/connection_management.hpp"

namespace wireproof::test {
namespace {

using namespace wireproof::proto::ib;

struct CapturedCm {
    Headers headers;
    std::vector<std::byte> bytes;
    CmDatagram datagram;
};

std::vector<CapturedCm> captured(const Capture& capture) {
    std::vector<CapturedCm> all;
    for (const CapturedRocev2& one : capture.packets) {
        const Packet packet = one.packet();
        if (packet.bth().dest_qp != cm_queue_pair) continue;
        const auto datagram = CmDatagram::decode(packet.payload);
        EXPECT_TRUE(datagram) << one.number;
        if (datagram) {
            all.push_back(
                {packet.headers, {packet.payload.begin(), packet.payload.end()}, *datagram});
        }
    }
    return all;
}

TEST(CmCaptures, EveryDatagramIsWrittenAsLinuxWroteIt) {
    const Capture capture = Capture::named("rping_rdmacm");
    const auto all = captured(capture);
    std::string names;
    for (const CapturedCm& one : all) {
        EXPECT_EQ(one.headers.deth.qkey, cm_qkey);
        EXPECT_EQ(one.headers.deth.source_qp, cm_queue_pair);
        std::array<std::byte, cm_datagram_size> written{};
        one.datagram.encode(written);
        EXPECT_TRUE(std::ranges::equal(written, one.bytes)) << name_of(one.datagram.message);
        names += std::string(name_of(one.datagram.message)) + " ";
    }
    EXPECT_EQ(names, "REQ REP RTU DREQ DREP ");
}

// The values are from rping_rdmacm.txt and from the data packets that follow.
TEST(CmCaptures, FieldsAreWhereLinuxHasThem) {
    const auto all = captured(Capture::named("rping_rdmacm"));
    ASSERT_EQ(all.size(), 5U);
    const auto& request = std::get<CmRequest>(all[0].datagram.message);
    EXPECT_EQ(request.service, service_of_port(7174));
    EXPECT_TRUE(is_ip_service(request.service));
    EXPECT_EQ(request.ca_guid, 0x505400FFFE120001U);
    EXPECT_EQ(request.queue_pair, 0x60U);
    EXPECT_EQ(request.starting_psn, Psn(0x1CB8DF));
    EXPECT_EQ(request.responder_resources, 1);
    EXPECT_EQ(request.initiator_depth, 1);
    EXPECT_EQ(request.remote_response_timeout, 20);
    EXPECT_EQ(request.local_response_timeout, 20);
    EXPECT_EQ(request.transport, 0);
    EXPECT_FALSE(request.flow_control);
    EXPECT_EQ(request.retry_count, 7);
    EXPECT_EQ(request.rnr_retry, 7);
    EXPECT_EQ(request.partition, 0xFFFF);
    EXPECT_EQ(path_mtu_of(request.path_mtu), 4096U);
    EXPECT_EQ(request.max_retries, 15);
    EXPECT_EQ(request.primary.hop_limit, 64);
    EXPECT_EQ(request.primary.flow_label, 0x65CE1U);
    EXPECT_EQ(request.primary.ack_timeout, 19);
    EXPECT_EQ(request.alternate, CmPath());
    const Gid client = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 198, 18, 0, 2};
    EXPECT_EQ(request.primary.local_gid, client);

    const auto addresses = CmIpAddresses::decode(
        std::span<const std::byte, 92>(request.private_bytes).first<CmIpAddresses::size>());
    ASSERT_TRUE(addresses);
    EXPECT_FALSE(addresses->ipv6);
    EXPECT_EQ(addresses->source_port, 0xB7C5);
    EXPECT_EQ(addresses->destination[15], 3);
    std::array<std::byte, CmIpAddresses::size> written{};
    addresses->encode(written);
    EXPECT_TRUE(std::equal(written.begin(), written.end(), request.private_bytes.begin()));

    const auto& reply = std::get<CmReply>(all[1].datagram.message);
    EXPECT_EQ(reply.remote_id, request.local_id);
    EXPECT_EQ(reply.queue_pair, 0x60U);
    EXPECT_EQ(reply.starting_psn, Psn(0x49A542));
    EXPECT_EQ(reply.target_ack_delay, 15);
    EXPECT_EQ(reply.rnr_retry, 7);
    EXPECT_EQ(reply.ca_guid, 0x505400FFFE120002U);
    EXPECT_EQ(std::get<CmReady>(all[2].datagram.message).remote_id, reply.local_id);
    EXPECT_EQ(std::get<CmDisconnect>(all[3].datagram.message).remote_queue_pair, 0x60U);
    EXPECT_EQ(std::get<CmDisconnected>(all[4].datagram.message).local_id, reply.local_id);
    for (const CapturedCm& one : all) {
        EXPECT_EQ(one.datagram.transaction, all[0].datagram.transaction);
    }
}

/// The next datagram of an engine as bytes. The result is empty if the engine has none to send.
std::vector<std::byte> next_of(ConnectionManagement& cm) {
    const auto one = cm.poll_transmit();
    if (!one) return {};
    std::vector<std::byte> bytes(cm_datagram_size);
    one->datagram.encode(std::span(bytes).first<cm_datagram_size>());
    return bytes;
}

constexpr PeerId linux_host{0};

// The test gives the engine the identifiers and the GUID of the capture. The user answers with the
// queue pair, PSN and limits of the captured REP.
TEST(CmCaptures, ThePassiveSideAnswersAsLinuxDid) {
    const auto all = captured(Capture::named("rping_rdmacm"));
    ASSERT_EQ(all.size(), 5U);
    const auto& captured_reply = std::get<CmReply>(all[1].datagram.message);
    ConnectionManagement cm(
        {.ca_guid = captured_reply.ca_guid, .first_id = captured_reply.local_id});
    cm.listen(service_of_port(7174));
    Instant now{};
    EXPECT_EQ(cm.on_datagram(now, linux_host, all[0].bytes), RxVerdict::accepted);
    const auto asked = cm.next_event();
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->what, CmEvent::What::requested);
    ASSERT_TRUE(cm.accept(now, asked->id,
                          {.queue_pair = 0x60,
                           .starting_psn = Psn(0x49A542),
                           .responder_resources = 1,
                           .initiator_depth = 1,
                           .target_ack_delay = 15,
                           .rnr_retry = 7}));
    EXPECT_TRUE(std::ranges::equal(next_of(cm), all[1].bytes));
    EXPECT_EQ(cm.on_datagram(now, linux_host, all[2].bytes), RxVerdict::accepted);
    EXPECT_EQ(cm.next_event()->what, CmEvent::What::established);
    EXPECT_EQ(cm.on_datagram(now, linux_host, all[3].bytes), RxVerdict::accepted);
    EXPECT_EQ(cm.next_event()->what, CmEvent::What::disconnected);
    EXPECT_TRUE(std::ranges::equal(next_of(cm), all[4].bytes));
    EXPECT_TRUE(next_of(cm).empty());
}

// The transaction may differ: in Linux's it includes the number of a user of datagrams.
TEST(CmCaptures, TheActiveSideAsksAsLinuxDid) {
    const auto all = captured(Capture::named("rping_rdmacm"));
    ASSERT_EQ(all.size(), 5U);
    const auto& request = std::get<CmRequest>(all[0].datagram.message);
    ConnectionManagement cm(
        {.ca_guid = request.ca_guid, .first_id = request.local_id, .response_timeout = 20});
    const auto same_but_transaction = [&](const std::vector<std::byte>& ours, std::size_t which) {
        auto read = CmDatagram::decode(ours);
        ASSERT_TRUE(read);
        EXPECT_NE(read->transaction, 0U);
        read->transaction = all[which].datagram.transaction;
        EXPECT_EQ(*read, all[which].datagram) << which;
    };
    // The values that the user chooses. The engine fills in the rest.
    CmRequest chosen = request;
    chosen.local_id = 0;
    chosen.ca_guid = 0;
    chosen.remote_response_timeout = chosen.local_response_timeout = chosen.max_retries = 0;
    Instant now{};
    const auto id = cm.connect(now, linux_host, chosen);
    ASSERT_TRUE(id);
    same_but_transaction(next_of(cm), 0);
    EXPECT_EQ(cm.on_datagram(now, linux_host, all[1].bytes), RxVerdict::accepted);
    EXPECT_EQ(cm.next_event()->what, CmEvent::What::replied);
    ASSERT_TRUE(cm.confirm(now, *id));
    same_but_transaction(next_of(cm), 2);
    ASSERT_TRUE(cm.disconnect(now, *id));
    same_but_transaction(next_of(cm), 3);
    EXPECT_EQ(cm.on_datagram(now, linux_host, all[4].bytes), RxVerdict::accepted);
    EXPECT_EQ(cm.next_event()->what, CmEvent::What::disconnected);
}

}  // namespace
}  // namespace wireproof::test
