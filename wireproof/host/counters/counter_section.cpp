#include "wireproof/host/counters/counter_section.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "wireproof/base/check.hpp"
#include "wireproof/base/publish.hpp"

namespace wireproof::host {
namespace {

constexpr std::size_t word_size = sizeof(std::uint64_t);

template <class Clock>
std::int64_t nanoseconds_of(Clock) {
    return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
}

CounterEntry entry_of(const CounterName& counter) {
    CounterEntry entry{};
    WIREPROOF_CHECK(counter.name.size() < entry.name.size());
    WIREPROOF_CHECK(counter.unit.size() < entry.unit.size());
    std::ranges::copy(counter.name, entry.name.begin());
    std::ranges::copy(counter.unit, entry.unit.begin());
    entry.kind = static_cast<std::uint32_t>(counter.kind);
    return entry;
}

}  // namespace

std::unique_ptr<CounterSection> CounterSection::open(const Form& form, const SteadyClock& clock) {
    WIREPROOF_CHECK(form.totals.size() <= counters_max && form.of_rows.size() <= counters_max);
    const CounterSectionShape shape{form.totals.size(), form.of_rows.size(),
                                    std::min(form.rows, counter_rows_max)};
    auto file = CounterFile::of_process();
    if (file == nullptr) return nullptr;
    const auto bytes = file->take(shape.size());
    if (bytes.empty()) return nullptr;
    std::unique_ptr<CounterSection> section(new (std::nothrow) CounterSection(file, bytes, shape));
    if (section == nullptr) {
        file->give_back(bytes);
        return nullptr;
    }
    section->fill(form, clock);
    section->file_->show(bytes);
    return section;
}

void CounterSection::fill(const Form& form, const SteadyClock& clock) {
    const std::int64_t now = nanoseconds_of(std::chrono::steady_clock());
    clock_began_ = now - clock.now().since_start().nanoseconds();
    CounterSectionHeader header{};
    header.magic = counter_section_magic;
    header.source = static_cast<std::uint32_t>(form.source);
    header.started_unix_ns =
        static_cast<std::uint64_t>(nanoseconds_of(std::chrono::system_clock()));
    header.started_ns = header.updated_ns = static_cast<std::uint64_t>(now);
    header.totals = static_cast<std::uint32_t>(shape_.totals);
    header.row_counters = static_cast<std::uint32_t>(shape_.row_counters);
    header.row_places = static_cast<std::uint32_t>(shape_.row_places);
    header.row_size = static_cast<std::uint32_t>(shape_.row_size());
    std::memcpy(bytes_.data(), &header, sizeof header);
    std::byte* at = bytes_.data() + sizeof header;
    for (const auto names : {form.totals, form.of_rows}) {
        for (const CounterName& name : names) {
            const CounterEntry entry = entry_of(name);
            std::memcpy(at, &entry, sizeof entry);
            at += sizeof entry;
        }
    }
}

CounterSection::~CounterSection() {
    if (!fork_.forked()) file_->give_back(bytes_);
}

// All positions are multiples of a word, so that each value is written at once.
void CounterSection::store(std::size_t at, std::uint64_t value) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(bytes_.data() + at))
        .store(value, std::memory_order_relaxed);
}

void CounterSection::store_text(std::size_t at, std::size_t room, std::string_view text) {
    if (text.size() > room) text = text.substr(0, text.rfind('\n', room - 1) + 1);
    for (std::size_t i = 0; i < room; i += word_size) {
        std::uint64_t part = 0;
        if (i < text.size()) std::memcpy(&part, &text[i], std::min(word_size, text.size() - i));
        store(at + i, part);
    }
}

void CounterSection::begin(Instant now) {
    sequence_ |= 1;  // an exception may have ended the writing before
    store(offsetof(CounterSectionHeader, sequence), sequence_);
    release_fence();
    store(offsetof(CounterSectionHeader, updated_ns),
          static_cast<std::uint64_t>(clock_began_ + now.since_start().nanoseconds()));
}

void CounterSection::end() {
    release_fence();
    store(offsetof(CounterSectionHeader, sequence), ++sequence_);
}

void CounterSection::set_details(std::string_view lines) {
    store_text(offsetof(CounterSectionHeader, details), sizeof CounterSectionHeader::details,
               lines);
}

void CounterSection::set_total(std::size_t index, std::uint64_t value) {
    store(shape_.totals_at() + index * word_size, value);
}

void CounterSection::set_row_text(std::size_t row, std::string_view name,
                                  std::string_view details) {
    const std::size_t at = shape_.row_at(row);
    store_text(at, sizeof CounterRowHeader::name, name);
    store_text(at + offsetof(CounterRowHeader, details), sizeof CounterRowHeader::details, details);
}

void CounterSection::set_rows(std::size_t used, std::size_t missing) {
    store(offsetof(CounterSectionHeader, rows), used);
    store(offsetof(CounterSectionHeader, rows_missing), missing);
}

}  // namespace wireproof::host
