#include "wireproof/lab/link_retry/loss_trace.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "wireproof/base/random.hpp"

namespace wireproof::lab {
namespace {

constexpr std::uint64_t run_max = 1'000'000'000'000'000;  // frames
constexpr std::size_t runs_max = 10'000'000;

/// A word of a line, and its column.
struct Word {
    std::string_view text;
    std::size_t column = 1;
};

class Line {
public:
    explicit Line(std::string_view text) : text_(text.substr(0, text.find('#'))) {}

    /// Empty at the end of the line.
    Word next() {
        constexpr std::string_view blanks = " \t\r";
        at_ = std::min(text_.find_first_not_of(blanks, at_), text_.size());
        const std::size_t end = std::min(text_.find_first_of(blanks, at_), text_.size());
        const Word word{text_.substr(at_, end - at_), at_ + 1};
        at_ = end;
        return word;
    }

private:
    std::string_view text_;
    std::size_t at_ = 0;
};

std::optional<std::uint64_t> count_of(std::string_view text) {
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (!whole || count < 1 || count > run_max) return std::nullopt;
    return count;
}

}  // namespace

Expected<LossTrace> LossTrace::read(std::string_view text, std::string_view file) {
    LossTrace trace;
    std::size_t number = 0;
    const auto wrong = [&](std::size_t column, std::string_view what) {
        return unexpected(std::string(file) + ":" + std::to_string(number) + ":" +
                          std::to_string(column) + ": " + std::string(what));
    };
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        Line line(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        ++number;
        const Word kind = line.next();
        if (kind.text.empty()) continue;
        const bool bad = kind.text == "bad";
        if (!bad && kind.text != "ok")
            return wrong(kind.column, "a line is ok or bad, and a count");
        const Word count = line.next();
        const auto frames = count.text.empty() ? 1 : count_of(count.text);
        if (!frames) return wrong(count.column, "a count is 1 to 1000000000000000 frames");
        const Word rest = line.next();
        if (!rest.text.empty()) return wrong(rest.column, "nothing may follow the count");
        if (trace.runs_.empty() || trace.runs_.back().bad != bad) {
            if (trace.runs_.size() == runs_max)
                return wrong(1, "a trace has at most ten million changes");
            trace.runs_.push_back({0, bad});
        }
        trace.runs_.back().frames += *frames;
        trace.frames_ += *frames;
        trace.bad_frames_ += bad ? *frames : 0;
        if (trace.frames_ > run_max) return wrong(1, "there are more than 1000000000000000 frames");
    }
    number = std::max<std::size_t>(number, 1);
    if (trace.frames_ == trace.bad_frames_) return wrong(1, "no frame of this trace is ok");
    return trace;
}

std::uint64_t LossTrace::digest() const {
    std::uint64_t digest = 0;
    for (const Run& run : runs_) digest = mix64(digest ^ mix64(2 * run.frames + (run.bad ? 1 : 0)));
    return digest;
}

}  // namespace wireproof::lab
