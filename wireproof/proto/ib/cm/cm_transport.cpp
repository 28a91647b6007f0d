#include "wireproof/proto/ib/cm/cm_transport.hpp"

#include <array>

namespace wireproof::proto::ib {
namespace {

constexpr std::uint32_t domain = 0;  // no user has this domain
constexpr std::uint64_t base = 0x1000;
constexpr std::size_t buffers = 64;
constexpr std::size_t buffer_size = UdQueuePair::front_room + cm_datagram_size;

}  // namespace

CmTransport::CmTransport(Port& port, const ConnectionManagement::Config& config)
    : port_(&port), memory_(buffers * buffer_size), management_(config) {
    sent_ = port.add_completion_queue(buffers);
    received_ = port.add_completion_queue(buffers);
    const auto key = port.memory().add_region(
        {.domain = domain, .address = base, .memory = memory_, .access = {.local_write = true}});
    const auto number = port.add_queue_pair(
        {.transport = Transport::ud,
         .number = cm_queue_pair,
         .domain = domain,
         .send_completions = sent_,
         .receive_completions = received_,
         .limits = {
             .sends = buffers, .receives = buffers, .pieces = 1, .inlined = cm_datagram_size}});
    WIREPROOF_CHECK(key && number);
    key_ = *key;
    for (const QueuePairChange& change :
         {QueuePairChange{
              .state = QueuePairState::init, .partition_index = 0, .port = 1, .qkey = cm_qkey},
          QueuePairChange{.state = QueuePairState::rtr},
          QueuePairChange{.state = QueuePairState::rts, .send_psn = Psn(0)}}) {
        WIREPROOF_CHECK(port.modify(cm_queue_pair, change) == ModifyStatus::done);
    }
    for (std::uint64_t i = 0; i < buffers; ++i) post_receive(i);
}

CmTransport::~CmTransport() {
    port_->remove_queue_pair(cm_queue_pair);
    port_->remove(sent_);
    port_->remove(received_);
    port_->memory().remove_region(key_);
}

void CmTransport::post_receive(std::uint64_t buffer) {
    const Piece into{base + buffer * buffer_size, buffer_size, key_};
    const auto posted =
        port_->post_receive(cm_queue_pair, {.id = buffer, .pieces = std::span(&into, 1)});
    WIREPROOF_CHECK(posted == PostStatus::accepted);
}

bool CmTransport::receive(Instant now) {
    const auto one = port_->poll(received_);
    if (!one) return false;
    // The queue pair has failed: this receive and all later ones would come back at once.
    if (one->status != CompletionStatus::success) return true;
    const ConstBytes datagram =
        ConstBytes(memory_).subspan(static_cast<std::size_t>(one->id) * buffer_size, one->length);
    management_.on_datagram(now, one->from, datagram.subspan(UdQueuePair::front_room));
    post_receive(one->id);
    return true;
}

void CmTransport::send() {
    while (port_->poll(sent_)) {
    }
    while (management_.has_outgoing() && port_->queue_pair(cm_queue_pair)->sends.size() < buffers) {
        const auto one = management_.poll_transmit();
        std::array<std::byte, cm_datagram_size> bytes{};
        one->datagram.encode(bytes);
        const ConstBytes inlined(bytes);
        const auto posted = port_->post_send(
            cm_queue_pair,
            {.terms = {.to = one->to, .to_queue_pair = cm_queue_pair, .qkey = cm_qkey},
             .inlined = std::span(&inlined, 1)});
        WIREPROOF_CHECK(posted == PostStatus::accepted);
    }
}

}  // namespace wireproof::proto::ib
