// A progress bar on standard error, and only if that is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace wireproof::cli {

class Progress {
public:
    /// `what` is being done to `total` units; a total of 0 shows nothing.
    Progress(std::string what, std::uint64_t total);
    /// Takes the bar away.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void set_total(std::uint64_t total) { total_ = total; }
    void show(std::uint64_t done);
    /// Where nobody knows how much there is: a number instead of a bar, whatever the total.
    void show_count(std::uint64_t done);

private:
    bool is_time();

    std::string what_;
    std::uint64_t total_;
    bool terminal_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point next_{};
};

}  // namespace wireproof::cli
