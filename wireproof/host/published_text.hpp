// A text that this process publishes to other processes of the same user, for example its counters.
//
// The text is in a memory file that other processes find by name in /proc/PID/fd. So it needs no
// thread and no socket. Others can read it while the process is stopped, and it disappears with the
// process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"

namespace wireproof::host {

/// Only one thread at a time may call this.
class PublishedText {
public:
    static constexpr std::size_t longest = 1 << 20;  // bytes

    /// Readers look for `name`. It has at most 200 characters.
    static Expected<PublishedText> open(const std::string& name);
    PublishedText(PublishedText&& other) noexcept;
    PublishedText& operator=(PublishedText&& other) = delete;
    ~PublishedText();

    /// Replaces the text without waiting for readers. A text that is too long is cut after the last
    /// whole line that fits.
    void publish(std::string_view text);

private:
    struct Page;
    PublishedText(int file, Page* page) : file_(file), page_(page) {}

    int file_;
    Page* page_;
};

/// The texts of this name that `process` publishes; none if the caller may not look into the
/// process. A text that changes again and again while it is read is left out.
std::vector<std::string> read_published(pid_t process, const std::string& name);

/// The processes that publish a text of this name and that the caller may look into, in ascending
/// order.
std::vector<pid_t> processes_with_published(const std::string& name);

}  // namespace wireproof::host
