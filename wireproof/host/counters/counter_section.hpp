// The counters of one Endpoint or device, published for other processes of the same user.
//
// Readers map nothing and lock nothing, and the owner does not wait for them. A reader that sees an
// even and unchanged `sequence` before and after its read has values of one moment.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/instant.hpp"
#include "wireproof/host/counters/counter_file.hpp"
#include "wireproof/host/counters/layout.hpp"
#include "wireproof/host/fork_watch.hpp"
#include "wireproof/host/steady_clock.hpp"

namespace wireproof::host {

/// The name of a counter has lower-case letters, digits, '_' and '.', at most 43 characters. The
/// unit has at most 15.
struct CounterName {
    std::string_view name;
    std::string_view unit;
    CounterKind kind = CounterKind::counter;
};

/// Only one thread at a time may call this. In a forked child all calls do nothing.
class CounterSection {
public:
    struct Form {
        CounterSource source = CounterSource::endpoint;
        std::span<const CounterName> totals;
        std::span<const CounterName> of_rows;
        std::size_t rows = 0;  // at most; more than counter_rows_max counts as that
    };
    /// Null: the process cannot publish it, or publishes nothing. `clock` gives the instants of
    /// begin().
    static std::unique_ptr<CounterSection> open(const Form& form, const SteadyClock& clock);

    CounterSection(const CounterSection&) = delete;
    CounterSection& operator=(const CounterSection&) = delete;
    ~CounterSection();

    std::size_t row_places() const { return shape_.row_places; }

    /// Between begin() and end() a reader waits. `now` is the moment of the values.
    void begin(Instant now);
    void end();
    // The calls below are between begin() and end(). Details that are too long are cut after the
    // last whole line that fits. The name of a row has at most 31 characters.
    void set_details(std::string_view lines);
    void set_total(std::size_t index, std::uint64_t value);
    void set_row_text(std::size_t row, std::string_view name, std::string_view details);
    void set_value(std::size_t row, std::size_t index, std::uint64_t value) {
        store(shape_.row_at(row) + sizeof(CounterRowHeader) + index * sizeof value, value);
    }
    /// How many rows are in use, and how many more there would be if there were room.
    void set_rows(std::size_t used, std::size_t missing);

private:
    CounterSection(std::shared_ptr<CounterFile> file, std::span<std::byte> bytes,
                   const CounterSectionShape& shape)
        : file_(std::move(file)), bytes_(bytes), shape_(shape) {}
    void fill(const Form& form, const SteadyClock& clock);
    void store(std::size_t at, std::uint64_t value);
    void store_text(std::size_t at, std::size_t room, std::string_view text);

    std::shared_ptr<CounterFile> file_;
    std::span<std::byte> bytes_;
    CounterSectionShape shape_;
    std::int64_t clock_began_ = 0;  // in nanoseconds of CLOCK_MONOTONIC
    std::uint64_t sequence_ = 0;
    ForkWatch fork_{[this] { replace_shared_memory(bytes_.data(), bytes_.size()); }};
};

}  // namespace wireproof::host
