// A progress bar on standard error, and only if that is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace wireproof::app {

class Progress {
public:
    /// `what` is done to `total` units; with a total of 0 nothing is shown. `unit` is the name of
    /// the units in the rate, for example "B" or "worlds"; empty: no rate is shown.
    Progress(std::string what, std::uint64_t total, std::string unit = {});
    /// Removes the bar.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void set_total(std::uint64_t total) { total_ = total; }
    /// Stands at the end of the line. Empty: nothing does.
    void set_note(std::string note) { note_ = std::move(note); }
    /// A bar with the rate so far and the time that is left at that rate.
    void show(std::uint64_t done);
    /// For work of unknown size: shows a number and its rate instead of a bar, for any total.
    void show_count(std::uint64_t done);

private:
    using Clock = std::chrono::steady_clock;

    bool is_time();
    double seconds() const;
    std::string rate(std::uint64_t done) const;
    std::string note() const { return note_.empty() ? note_ : "  " + note_; }

    std::string what_;
    std::uint64_t total_;
    std::string unit_;
    std::string note_;
    bool terminal_;
    bool shown_ = false;
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_{};
};

/// "812", "65.3 k" and "1.2 G": three digits and a prefix.
std::string short_number(double number);
/// "12 s", "3:05" and "2:03:05".
std::string short_time(double seconds);

}  // namespace wireproof::app
