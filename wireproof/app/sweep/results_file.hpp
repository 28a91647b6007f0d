// The file of a sweep's results while a run writes it. One run at a time has the file: it holds the
// kernel's lock (flock) on it, which ends with the process. The file gets a line for each point as
// soon as the point is finished. At the end it is replaced by one with sorted lines.
#pragma once

#include <string>

#include "wireproof/os/descriptor.hpp"

namespace wireproof::app {

class ResultsFile {
public:
    /// Opens the file, or creates it, and locks it. Throws Failure with one line: another run has
    /// the file, or it cannot be written.
    explicit ResultsFile(std::string path);

    const std::string& path() const { return path_; }
    /// The complete lines that the file had when it was opened.
    const std::string& text() const { return text_; }

    /// Removes an incomplete last line, which a killed run left, and says so on standard error.
    void drop_torn_line();
    /// Adds a line, which ends with a line feed.
    void append(const std::string& line);
    /// Gives the file this content in one step. Nothing may be appended any more.
    void replace(const std::string& text);

private:
    bool lock();
    [[noreturn]] void fail() const;

    std::string path_;
    std::string text_;
    bool torn_ = false;
    Descriptor file_;
};

/// The complete lines of a file that no run may be writing now. Throws Failure.
std::string finished_results(const std::string& path);

}  // namespace wireproof::app
