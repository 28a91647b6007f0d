// A text that this process shows to the other processes of its user: its counters, for instance.
//
// It stands in a memory file, which others find in /proc/PID/fd by its name. So it needs no thread
// and no socket, it is there when the process is stopped, and gone with the process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"

namespace wireproof::host {

/// One thread at a time may call.
class PublishedText {
public:
    static constexpr std::size_t longest = 1 << 20;  // bytes

    /// `name` is what readers look for; at most 200 characters.
    static Expected<PublishedText> open(const std::string& name);
    PublishedText(PublishedText&& other) noexcept;
    PublishedText& operator=(PublishedText&& other) = delete;
    ~PublishedText();

    /// Replaces the text, and waits for nobody. Of a longer one, as many whole lines stand there as
    /// fit.
    void publish(std::string_view text);

private:
    struct Page;
    PublishedText(int file, Page* page) : file_(file), page_(page) {}

    int file_;
    Page* page_;
};

/// The texts of that name that process shows; none where it may not be looked into. A text that was
/// replaced again and again while it was read is left out.
std::vector<std::string> read_published(pid_t process, const std::string& name);

/// The processes that show a text of that name, and may be looked into, in ascending order.
std::vector<pid_t> processes_with_published(const std::string& name);

}  // namespace wireproof::host
