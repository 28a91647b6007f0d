#include "wireproof/front/am/shown_endpoint.hpp"

#include <array>
#include <deque>
#include <new>
#include <vector>

#include "wireproof/front/am/endpoint_inside.hpp"
#include "wireproof/wire/faulty/faulty_wire.hpp"

namespace wireproof::am {
namespace {

using host::CounterName;

struct PeerCounter {
    CounterName name;
    std::uint64_t PeerCounters::*count;
};

constexpr std::array<PeerCounter, 15> peer_counters = {{
    {{"mismatched", "frames"}, &PeerCounters::mismatched},
    {{"sent", "frames"}, &PeerCounters::sent},
    {{"resent", "frames"}, &PeerCounters::resent},
    {{"acks", "frames"}, &PeerCounters::acks},
    {{"nacks", "frames"}, &PeerCounters::nacks},
    {{"overruns", "times"}, &PeerCounters::overruns},
    {{"marked", "frames"}, &PeerCounters::marked},
    {{"marked_at_peer", "frames"}, &PeerCounters::marked_at_peer},
    {{"keepalives", "frames"}, &PeerCounters::keepalives},
    {{"hellos", "frames"}, &PeerCounters::hellos},
    {{"timeouts", "times"}, &PeerCounters::timeouts},
    {{"sessions", "sessions"}, &PeerCounters::sessions},
    {{"unhandled_replies", "replies"}, &PeerCounters::unhandled_replies},
    {{"unsent", "frames"}, &PeerCounters::unsent},
    {{"refused", "calls"}, &PeerCounters::refused},
}};

/// The names of a group have its name and a dot in front.
class Names {
public:
    void add(std::string_view group, std::string_view name, std::string_view unit) {
        texts_.push_back(std::string(group) + "." + std::string(name));
        names_.push_back({texts_.back(), unit});
    }
    void add(const CounterName& name) { names_.push_back(name); }
    const std::vector<CounterName>& all() const { return names_; }

private:
    std::deque<std::string> texts_;  // stay in place
    std::vector<CounterName> names_;
};

Names totals_of(const ShownEndpoint::Source& source) {
    Names names;
    if (source.udp != nullptr) {
        for (const UdpCounter& one : udp_counters) names.add("wire", one.name, one.unit);
    }
    if (source.shared != nullptr) {
        for (const ShmCounter& one : shm_counters) names.add("shared", one.name, one.unit);
    }
    names.add("node", "stores_at_once", "stores");
    names.add("node", "gets_at_once", "gets");
    names.add("node", "sessions_cut", "sessions");
    return names;
}

Names counters_of_a_row() {
    Names names;
    for (const std::string_view verdict : verdict_names) names.add("received", verdict, "frames");
    for (const PeerCounter& one : peer_counters) names.add(one.name);
    return names;
}

/// The counters of the shared memory of a wire; null if it has none.
const ShmCounters* shared_of(host::AnyWire& wire) {
    auto* const split = wire.as<host::SplitWire>();
    host::AnyWire& near = split != nullptr ? split->near() : wire;
    if (const auto* const plain = near.as<ShmWire>()) return &plain->counters();
    if (const auto* const faulty = near.as<FaultyWire<ShmWire>>()) {
        return &faulty->inner().counters();
    }
    return nullptr;
}

}  // namespace

std::unique_ptr<ShownEndpoint> ShownEndpoint::open(const Source& source, std::string_view details,
                                                   const host::SteadyClock& clock) {
    const Names totals = totals_of(source);
    const Names of_rows = counters_of_a_row();
    std::unique_ptr<ShownEndpoint> shown(new ShownEndpoint(source));
    shown->section_ = host::CounterSection::open({.source = host::CounterSource::endpoint,
                                                  .totals = totals.all(),
                                                  .of_rows = of_rows.all(),
                                                  .rows = source.node.nodes() - 1},
                                                 clock);
    if (shown->section_ == nullptr) return nullptr;
    shown->section_->begin(clock.now());
    shown->section_->set_details(details);
    shown->section_->end();
    return shown;
}

void ShownEndpoint::copy_totals() {
    std::size_t at = 0;
    const auto put = [&](std::uint64_t value) { section_->set_total(at++, value); };
    if (source_.udp != nullptr) {
        for (const UdpCounter& one : udp_counters) put(source_.udp->*one.count);
    }
    if (source_.shared != nullptr) {
        for (const ShmCounter& one : shm_counters) put(source_.shared->*one.count);
    }
    put(source_.node.stores_at_once());
    put(source_.node.gets_at_once());
    put(source_.node.sessions_cut());
}

void ShownEndpoint::copy_row(std::size_t row, std::size_t peer) {
    const PeerCounters counters = source_.node.counters(peer);
    std::size_t at = 0;
    for (const std::uint64_t count : counters.received) section_->set_value(row, at++, count);
    for (const PeerCounter& one : peer_counters) {
        section_->set_value(row, at++, counters.*one.count);
    }
}

// Without memory for a text, the counters are not published, or are copied later.
void Endpoint::Inside::publish_counters() try {
    const std::string address = udp ? udp->socket().local_address().to_string() : shm_name;
    const std::string details = "address=" + address + "\nnode=" + std::to_string(node.self()) +
                                "\nnodes=" + std::to_string(node.nodes()) + "\n";
    const UdpCounters* const of_socket = udp ? &udp->socket().counters() : nullptr;
    shown = ShownEndpoint::open({node, of_socket, shared_of(node.wire())}, details, clock.steady());
    if (shown) copy_counters();
} catch (const std::bad_alloc&) {
}

void Endpoint::Inside::copy_counters() try {
    shown->copy([this](std::size_t peer) {
        const PeerCounters::Path path = path_to(peer);
        std::string details = "path=" + std::string(name_of(path)) + "\n";
        if (udp && path != PeerCounters::Path::shared_memory) {
            const Address& there = udp->socket().lane(PeerId(peer)).address();
            if (there.is_set()) details += "address=" + there.to_string() + "\n";
        }
        return details;
    });
} catch (const std::bad_alloc&) {
}

}  // namespace wireproof::am
