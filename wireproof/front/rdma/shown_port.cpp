#include "wireproof/front/rdma/shown_port.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <new>
#include <string_view>
#include <utility>

namespace wireproof::rdma {
namespace {

using host::CounterKind;
using host::CounterName;
using proto::ib::PortCounters;
using proto::ib::QueuePairCounter;

/// Calls `use` for each counter of queue pairs.
template <class Use>
void for_each_counter(Use&& use) {
    for (const QueuePairCounter& one : proto::ib::reception_counters) use(one);
    for (const QueuePairCounter& one : proto::ib::more_counters) use(one);
}

struct PortCounter {
    CounterName name;
    std::uint64_t PortCounters::*count;
};

constexpr std::array<PortCounter, 6> port_counters = {{
    {{"port.damaged", "packets"}, &PortCounters::damaged},
    {{"port.unknown_queue_pair", "packets"}, &PortCounters::unknown_queue_pair},
    {{"port.foreign_partition", "packets"}, &PortCounters::foreign_partition},
    {{"port.foreign_source", "packets"}, &PortCounters::foreign_source},
    {{"port.wrong_transport", "packets"}, &PortCounters::wrong_transport},
    {{"port.congestion", "packets"}, &PortCounters::congestion},
}};

struct IcrcCounter {
    CounterName name;
    std::uint64_t Rocev2Counters::*count;
};

constexpr std::array<IcrcCounter, 4> icrc_counters = {{
    {{"wire.too_short", "packets"}, &Rocev2Counters::too_short},
    {{"wire.icrc_wrong", "packets"}, &Rocev2Counters::icrc_wrong},
    {{"wire.identification_jumped", "packets"}, &Rocev2Counters::identification_jumped},
    {{"wire.identified", "packets"}, &Rocev2Counters::identified},
}};

}  // namespace

std::unique_ptr<ShownPort> ShownPort::open(Source source, const Form& form,
                                           const host::SteadyClock& clock) try {
    std::deque<std::string> texts;  // stay in place
    std::vector<CounterName> totals;
    const auto add = [&](std::string_view group, const auto& one) {
        texts.push_back(std::string(group) + std::string(one.name));
        totals.push_back({texts.back(), one.unit});
    };
    totals.push_back({"device.queue_pairs", "queue pairs", CounterKind::gauge});
    for (const PortTotal& one : form.more) totals.push_back(one.name);
    for_each_counter([&](const QueuePairCounter& one) { add("total.", one); });
    for (const UdpCounter& one : udp_counters) add("wire.", one);
    for (const IcrcCounter& one : icrc_counters) totals.push_back(one.name);
    if (source.shared) {
        for (const ShmCounter& one : shm_counters) add("shared.", one);
    }
    for (const PortCounter& one : port_counters) totals.push_back(one.name);
    std::vector<CounterName> of_rows = {
        {"sends_posted", "requests", CounterKind::gauge},
        {"receives_posted", "requests", CounterKind::gauge},
    };
    for_each_counter([&](const QueuePairCounter& one) { of_rows.push_back({one.name, one.unit}); });
    std::unique_ptr<ShownPort> shown(new ShownPort(std::move(source), form.more));
    shown->section_ = host::CounterSection::open({.source = form.source,
                                                  .totals = totals,
                                                  .of_rows = of_rows,
                                                  .rows = host::counter_rows_max},
                                                 clock);
    if (shown->section_ == nullptr) return nullptr;
    shown->section_->begin(clock.now());
    shown->section_->set_details(
        form.details + "path_mtu=" + std::to_string(shown->source_.port.config().path_mtu) + "\n");
    shown->section_->end();
    return shown;
} catch (const std::bad_alloc&) {
    return nullptr;
}

// Without memory for the list of queue pairs, they are copied later.
void ShownPort::copy() try {
    const auto numbers = source_.port.numbers();
    const std::size_t rows = std::min(numbers.size(), section_->row_places());
    section_->begin(pace_.last());
    copy_totals(sums(numbers));
    for (std::size_t row = 0; row < rows; ++row) {
        copy_row(row, *source_.port.queue_pair(numbers[row]));
    }
    section_->set_rows(rows, numbers.size() - rows);
    section_->end();
    pace_.copied(rows, frames());
} catch (const std::bad_alloc&) {
}

PortSums ShownPort::sums(const std::vector<std::uint32_t>& numbers) const {
    PortSums sums{.wire = source_.wire,
                  .shared = source_.shared ? source_.shared() : ShmCounters(),
                  .port = source_.port.counters(),
                  .total = source_.port.total()};
    for (const std::uint64_t count : sums.port.malformed) sums.malformed += count;
    // Queue pair 1 manages connections. It is not counted.
    const auto counted = std::ranges::count_if(numbers, [](auto number) { return number > 1; });
    sums.queue_pairs = static_cast<std::uint64_t>(counted);
    return sums;
}

void ShownPort::copy_totals(const PortSums& sums) {
    std::size_t at = 0;
    const auto put = [&](std::uint64_t value) { section_->set_total(at++, value); };
    put(sums.queue_pairs);
    for (const PortTotal& one : more_) put(one.of(sums));
    for_each_counter([&](const QueuePairCounter& one) { put(sums.total.*one.count); });
    for (const UdpCounter& one : udp_counters) put(sums.wire.udp.*one.count);
    for (const IcrcCounter& one : icrc_counters) put(sums.wire.*one.count);
    if (source_.shared) {
        for (const ShmCounter& one : shm_counters) put(sums.shared.*one.count);
    }
    for (const PortCounter& one : port_counters) put(sums.port.*one.count);
}

void ShownPort::copy_row(std::size_t row, const proto::ib::QueuePairCore& core) {
    const proto::ib::QueuePairAttributes& known = core.attributes();
    const Told told{core.number(), core.config().transport, core.state(),    known.has_address,
                    known.address, known.dest_queue_pair,   known.congestion};
    if (row == told_.size()) told_.emplace_back();
    if (told_[row] != told) {
        told_[row] = told;
        section_->set_row_text(row, std::to_string(told.number), details_of(told));
    }
    std::size_t at = 0;
    section_->set_value(row, at++, core.sends.size());
    section_->set_value(row, at++, core.receives.size());
    for_each_counter([&](const QueuePairCounter& one) {
        section_->set_value(row, at++, core.counters.*one.count);
    });
}

std::string ShownPort::details_of(const Told& told) const {
    std::string details = "transport=" + std::string(proto::ib::name_of(told.transport)) +
                          "\nstate=" + std::string(proto::ib::name_of(told.state)) + "\n";
    if (told.has_address) {
        details += "peer=" + source_.host_of(told.peer) +
                   "\npeer_queue_pair=" + std::to_string(told.peer_queue_pair) + "\n";
    }
    if (told.transport == proto::ib::Transport::rc) {
        details += "congestion_control=" + std::string(name_of(told.congestion)) + "\n";
    }
    return details;
}

}  // namespace wireproof::rdma
