// Queue pair 1 of a port. It sends and receives the datagrams of connection management.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "wireproof/proto/ib/cm/connection_management.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::proto::ib {

class CmTransport {
public:
    /// `port` must outlive this object and must not have a queue pair 1 yet.
    CmTransport(Port& port, const ConnectionManagement::Config& config);
    CmTransport(const CmTransport&) = delete;
    CmTransport& operator=(const CmTransport&) = delete;
    ~CmTransport();

    ConnectionManagement& management() { return management_; }
    const ConnectionManagement& management() const { return management_; }

    /// Processes the datagrams that have arrived. Calls `on_event(CmEvent)` with each event, in
    /// order; the callback may call the management. If it throws, the next call begins with the
    /// same event. Then sends the datagrams that wait.
    template <class OnEvent>
    void hear(Instant now, OnEvent&& on_event);
    /// Like hear(), and processes the timers that have expired, after the datagrams.
    template <class OnEvent>
    void poll(Instant now, OnEvent&& on_event);
    /// Posts the datagrams that wait, as far as the send queue has room.
    void send();
    Instant next_deadline() const { return management_.next_deadline(); }

private:
    template <class OnEvent>
    void tell(OnEvent& on_event) {
        while (const CmEvent* const event = management_.first_event()) {
            on_event(*event);
            management_.end_event();
        }
    }
    /// Returns false if no datagram waits.
    bool receive(Instant now);
    void post_receive(std::uint64_t buffer);

    Port* port_;
    std::vector<std::byte> memory_;  // of receive requests
    std::uint32_t key_ = 0;
    CompletionQueueId sent_{};
    CompletionQueueId received_{};
    ConnectionManagement management_;
};

template <class OnEvent>
void CmTransport::hear(Instant now, OnEvent&& on_event) {
    tell(on_event);
    while (receive(now)) tell(on_event);
    send();
}

template <class OnEvent>
void CmTransport::poll(Instant now, OnEvent&& on_event) {
    hear(now, on_event);
    if (management_.next_deadline() > now) return;
    management_.on_deadline(now);
    tell(on_event);
    send();
}

}  // namespace wireproof::proto::ib
