// Queue pair 1 of a port: carries the datagrams of connection management there and back.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "wireproof/proto/ib/connection_management.hpp"
#include "wireproof/proto/ib/port.hpp"

namespace wireproof::proto::ib {

class CmTransport {
public:
    /// `port` outlives this, and has no queue pair 1.
    CmTransport(Port& port, const ConnectionManagement::Config& config);
    CmTransport(const CmTransport&) = delete;
    CmTransport& operator=(const CmTransport&) = delete;
    ~CmTransport();

    ConnectionManagement& management() { return management_; }
    const ConnectionManagement& management() const { return management_; }

    /// Takes datagrams in and does what is due. `on_event(CmEvent)` is called with each event, in
    /// order, and may call the management. Then what there is to be said leaves.
    template <class OnEvent>
    void poll(Instant now, OnEvent&& on_event);
    /// What there is to be said is posted, as far as there is room.
    void send();
    Instant next_deadline() const { return management_.next_deadline(); }

private:
    /// False: none waits.
    bool receive(Instant now);
    void post_receive(std::uint64_t buffer);

    Port* port_;
    std::vector<std::byte> memory_;  // of receives
    std::uint32_t key_ = 0;
    CompletionQueueId sent_{};
    CompletionQueueId received_{};
    ConnectionManagement management_;
};

template <class OnEvent>
void CmTransport::poll(Instant now, OnEvent&& on_event) {
    const auto tell = [&] {
        while (auto event = management_.next_event()) on_event(std::move(*event));
    };
    tell();
    while (receive(now)) tell();
    if (management_.next_deadline() <= now) management_.on_deadline(now);
    tell();
    send();
}

}  // namespace wireproof::proto::ib
