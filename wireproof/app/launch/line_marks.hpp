// Puts a mark, such as the rank, in front of each line of a stream that arrives in pieces.
#pragma once

#include <string>
#include <string_view>

namespace wireproof::launch {

class LineMarks {
public:
    /// A longer line is passed in pieces, each as a line of its own.
    static constexpr std::size_t line_max = 65'536;

    explicit LineMarks(std::string mark) : mark_(std::move(mark)) {}

    /// Appends the lines that are complete to `out`.
    void pass(std::string_view bytes, std::string& out);
    /// The stream has ended. Its last line may lack its line feed, and gets one.
    void finish(std::string& out);

private:
    std::string mark_;
    std::string begun_;  // a line whose end has not arrived
};

}  // namespace wireproof::launch
