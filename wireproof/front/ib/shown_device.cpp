#include "wireproof/front/ib/shown_device.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <new>
#include <string_view>

namespace wireproof::ib {
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

std::unique_ptr<ShownDevice> ShownDevice::open(Source source, const std::string& address,
                                               const host::SteadyClock& clock) try {
    std::deque<std::string> texts;  // stay in place
    std::vector<CounterName> totals;
    const auto add = [&](std::string_view group, std::string_view name, std::string_view unit) {
        texts.push_back(std::string(group) + std::string(name));
        totals.push_back({texts.back(), unit});
    };
    totals.push_back({"device.queue_pairs", "queue pairs", CounterKind::gauge});
    for_each_counter([&](const QueuePairCounter& one) { add("total.", one.name, one.unit); });
    for (const UdpCounter& one : udp_counters) add("wire.", one.name, one.unit);
    for (const IcrcCounter& one : icrc_counters) totals.push_back(one.name);
    for (const PortCounter& one : port_counters) totals.push_back(one.name);
    std::vector<CounterName> of_rows = {
        {"sends_posted", "work", CounterKind::gauge},
        {"receives_posted", "work", CounterKind::gauge},
    };
    for_each_counter([&](const QueuePairCounter& one) { of_rows.push_back({one.name, one.unit}); });
    std::unique_ptr<ShownDevice> shown(new ShownDevice(std::move(source)));
    shown->section_ = host::CounterSection::open({.source = host::CounterSource::ib_device,
                                                  .totals = totals,
                                                  .of_rows = of_rows,
                                                  .rows = host::counter_rows_max},
                                                 clock);
    if (shown->section_ == nullptr) return nullptr;
    shown->section_->begin(clock.now());
    shown->section_->set_details("address=" + address + "\npath_mtu=" +
                                 std::to_string(shown->source_.port.config().path_mtu) + "\n");
    shown->section_->end();
    return shown;
} catch (const std::bad_alloc&) {
    return nullptr;
}

// Without memory for the list of queue pairs, they are copied later.
void ShownDevice::copy() try {
    const auto numbers = source_.port.numbers();
    const std::size_t rows = std::min(numbers.size(), section_->row_places());
    section_->begin(pace_.last());
    copy_totals(numbers);
    for (std::size_t row = 0; row < rows; ++row) {
        copy_row(row, *source_.port.queue_pair(numbers[row]));
    }
    section_->set_rows(rows, numbers.size() - rows);
    section_->end();
    pace_.copied(rows, frames());
} catch (const std::bad_alloc&) {
}

void ShownDevice::copy_totals(const std::vector<std::uint32_t>& numbers) {
    std::size_t at = 0;
    const auto put = [&](std::uint64_t value) { section_->set_total(at++, value); };
    // Queue pair 1 manages connections. It is not counted.
    put(static_cast<std::uint64_t>(std::ranges::count_if(numbers, [](auto n) { return n > 1; })));
    const proto::ib::QueuePairCounters total = source_.port.total();
    for_each_counter([&](const QueuePairCounter& one) { put(total.*one.count); });
    for (const UdpCounter& one : udp_counters) put(source_.wire.udp.*one.count);
    for (const IcrcCounter& one : icrc_counters) put(source_.wire.*one.count);
    for (const PortCounter& one : port_counters) put(source_.port.counters().*one.count);
}

void ShownDevice::copy_row(std::size_t row, const proto::ib::QueuePairCore& core) {
    const proto::ib::QueuePairAttributes& known = core.attributes();
    const Told now{core.number(),     core.config().transport, core.state(),
                   known.has_address, known.address,           known.dest_queue_pair};
    if (row == told_.size()) told_.emplace_back();
    if (told_[row] != now) {
        told_[row] = now;
        std::string details =
            "transport=" + std::string(proto::ib::name_of(core.config().transport)) +
            "\nstate=" + std::string(proto::ib::name_of(core.state())) + "\n";
        if (known.has_address) {
            details += "peer=" + source_.host_of(known.address) +
                       "\npeer_queue_pair=" + std::to_string(known.dest_queue_pair) + "\n";
        }
        section_->set_row_text(row, std::to_string(core.number()), details);
    }
    std::size_t at = 0;
    section_->set_value(row, at++, core.sends.size());
    section_->set_value(row, at++, core.receives.size());
    for_each_counter([&](const QueuePairCounter& one) {
        section_->set_value(row, at++, core.counters.*one.count);
    });
}

}  // namespace wireproof::ib
