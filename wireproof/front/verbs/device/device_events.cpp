// What the device tells: the events of its objects, of connection management and of scripts of
// faults.
#include <memory>
#include <mutex>
#include <utility>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/front/verbs/device/device.hpp"

namespace wireproof::verbs {

void Device::hear(const void* owner, About what, std::uint32_t number, Hearer hearer) {
    const std::lock_guard guard(lock_);
    hearers_[{what, number}] = {owner, std::move(hearer)};
}

void Device::forget(About what, std::uint32_t number) {
    const std::lock_guard guard(lock_);
    hearers_.erase({what, number});
}

void Device::hear_device(const void* owner, std::function<void(News)> hearer) {
    const std::lock_guard guard(lock_);
    device_hearers_[owner] = std::move(hearer);
}

void Device::hear_connections(ConnectionHearer& hearer) {
    const std::lock_guard guard(lock_);
    connection_hearer_ = &hearer;
}

void Device::forget_connections(const ConnectionHearer& hearer) {
    const std::lock_guard guard(lock_);
    if (connection_hearer_ == &hearer) connection_hearer_ = nullptr;
}

void Device::plan_failures(std::uint32_t number) {
    if (!faults_) return;
    const std::lock_guard guard(lock_);
    for (const CompletionFault& fault : faults_->completions()) {
        if (fault.queue_pair.value_or(faults_->place_of(number)) != faults_->place_of(number)) {
            continue;
        }
        if (fault.of == CompletionFault::Of::receive) {
            port_.fail_receive(number, fault.nth, fault.status);
        } else {
            port_.fail_send(number, fault.nth, fault.status);
        }
    }
}

bool Device::port_is_up() {
    if (!faults_ || !is_ours()) return true;
    const std::lock_guard guard(lock_);
    return faults_->link_is_up();
}

void Device::tell_device(Instant now) {
    if (!faults_) return;
    if (const auto up = faults_->link_change(now)) {
        for (const auto& [owner, hearer] : device_hearers_) {
            hearer(*up ? News::port_up : News::port_down);
        }
    }
    while (const auto event = faults_->next_event(now)) tell(*event);
}

void Device::tell(const EventFault& event) {
    using What = proto::ib::PortEvent::What;
    if (event.what == EventFault::What::limit_reached) {
        for (const auto& [about, listener] : hearers_) {
            if (about.first != About::shared_receive_queue) continue;
            port_.report({What::limit_reached, about.second});
        }
        return;
    }
    const bool fatal = event.what == EventFault::What::device_fatal;
    if (fatal) {
        for (const auto& [owner, hearer] : device_hearers_) hearer(News::device_fatal);
    }
    const What said = event.what == EventFault::What::request_refused  ? What::request_refused
                      : event.what == EventFault::What::access_refused ? What::access_refused
                                                                       : What::receive_faulty;
    for (const auto& [about, listener] : hearers_) {
        const auto [of, number] = about;
        if (of != About::queue_pair) continue;
        const std::uint32_t place = faults_->place_of(number);
        if (event.queue_pair.value_or(place) != place) continue;
        if (!fatal) port_.report({said, number});
        port_.modify(number, {.state = proto::ib::QueuePairState::error});
    }
}

// The call of the program, in which there was no memory for an event, has done what it should.
template <class Tell>
bool Device::tell_or_wait(Tell&& tell) {
    if (errno_of([&] { return tell(), 0; }) == 0) return true;
    untold_ = true;
    keeper_.wake_by(clock_.now());
    return false;
}

void Device::tell_events() {
    while (const auto event = port_.next_delivery()) {
        const auto about = proto::ib::PortEvent::about(event->what);
        const auto hearer = hearers_.find({about, event->number});
        if (hearer == hearers_.end()) continue;
        if (!tell_or_wait([&] { hearer->second.hearer(event->what); })) {
            return port_.report(*event);
        }
    }
}

// The device answers a request for a connection even if no program listens.
void Device::manage(Instant now) {
    tell_or_wait([&] {
        connections_.hear(now, [&](const proto::ib::CmEvent& event) { tell(now, event); });
    });
}

void Device::expire_connections(Instant now) {
    tell_or_wait([&] {
        if (connection_hearer_ != nullptr && connection_hearer_->next_deadline() <= now) {
            connection_hearer_->on_deadline(now, connections_.management());
        }
        connections_.poll(now, [&](const proto::ib::CmEvent& event) { tell(now, event); });
    });
}

void Device::tell(Instant now, const proto::ib::CmEvent& event) {
    if (connection_hearer_ == nullptr) return;
    connection_hearer_->on_event(now, connections_.management(), event);
}

}  // namespace wireproof::verbs
