// For tests: a host whose packets and messages the test chooses.
#pragma once

#include <atomic>
#include <optional>
#include <thread>

#include "wireproof/front/ib/device.hpp"
#include "wireproof/front/ib/device_test_kit.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::ib::test {

inline constexpr std::uint32_t peers_number = 0x777777;  // no queue pair has it

struct ScriptedPeer {
    explicit ScriptedPeer(unsigned number)
        : address(*Address::parse_host(host(number))),
          device(*Rocev2Wire::open({.local = address, .frame_max = proto::ib::packet_max(1024)}),
                 {.address = host(number), .path_mtu = 1024}) {
        device.wire.welcome(4);
    }
    /// The number of packets that arrived for `peers_number`. The peer answers none.
    std::uint64_t packets() {
        while (device.poll(device.clock.now()) > 0) {
        }
        return device.port.counters().unknown_queue_pair;
    }

    /// Accepts the first request for `service` with `reply`, while this thread runs `ask`. The
    /// request is empty if none came.
    template <class Ask>
    proto::ib::CmRequest accept_while(std::uint64_t service, const proto::ib::CmReply& reply,
                                      Ask&& ask) {
        EXPECT_TRUE(device.cm.listen(service));
        proto::ib::CmRequest request;
        std::atomic<bool> over = false;
        std::thread other([&] {
            std::optional<proto::ib::CmEvent> event;
            device.wait([&] { return (event = device.cm.next_request(service)).has_value(); },
                        patience);
            if (!event) return;
            request = std::get<proto::ib::CmRequest>(event->message);
            device.cm.management().accept(device.clock.now(), event->id, reply);
            while (!over) device.wait([] { return false; }, std::chrono::milliseconds(10));
        });
        ask();
        over = true;
        other.join();
        return request;
    }
    /// Sends `request` to the device at host(number), while this thread runs `answer`. The reply
    /// is empty if none came.
    template <class Answer>
    proto::ib::CmReply connect_while(unsigned number, const proto::ib::CmRequest& request,
                                     Answer&& answer) {
        proto::ib::CmReply reply;
        std::thread other([&] {
            proto::ib::ConnectionManagement& cm = device.cm.management();
            const auto to = device.peer_at(*Address::parse_host(host(number)));
            const auto id = cm.connect(device.clock.now(), *to, request);
            device.cm.join(*id, request.queue_pair);
            device.wait([&] { return device.cm.has_answer(*id); }, patience);
            const auto event = device.cm.take_answer(*id);
            if (!event || event->what != proto::ib::CmEvent::What::replied) return;
            reply = std::get<proto::ib::CmReply>(event->message);
            cm.confirm(device.clock.now(), *id);
            device.poll(device.clock.now());
        });
        answer();
        other.join();
        return reply;
    }

    Address address;
    Device::Inside device;
};

}  // namespace wireproof::ib::test
