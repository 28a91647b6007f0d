// The ladder as a picture: time runs down, each end has a life line, and each frame is a slanted
// arrow. Heights are proportional to time, but never smaller than a label needs. Long waits are
// shortened; there the life lines are dotted.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "wireproof/lab/ladder/ladder_render.hpp"
#include "wireproof/report/markup.hpp"

namespace wireproof::lab {
namespace {

constexpr double width = 820;
constexpr std::array<double, 2> life_line = {250, 570};
constexpr double margin = 24;
constexpr double label_height = 17;   // at least, between two labels of one side
constexpr double flight_height = 42;  // of the shortest flight
constexpr double wait_height = 64;    // of the longest wait
constexpr double title_line = 18;
constexpr std::size_t title_columns = 122;
constexpr std::size_t note_columns = 26;
constexpr double lost_at = 0.62;  // share of the way
constexpr double label_at = 0.26;

constexpr std::string_view style = R"(<style>
text{font:12px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1f2328}
.bg{fill:#ffffff}
.name{font-size:15px;font-weight:600}
.end{font-size:14px;font-weight:600;text-anchor:middle}
.time,.unit{fill:#57606a;font-size:11px}
.label{font-size:11.5px;text-anchor:middle}
.life{stroke:#8c959f;stroke-width:1.6;fill:none}
.cut{stroke-dasharray:2 5}
.good{stroke:#1f2328}.goodtext{fill:#1f2328}
.lost{stroke:#cf222e}.losttext{fill:#cf222e}
.damaged{stroke:#bc4c00}.damagedtext{fill:#bc4c00}
.refused{stroke:#8250df}.refusedtext{fill:#8250df}
.timertext{fill:#0969da}.timer{fill:#0969da}
.line{stroke-width:1.4;fill:none;stroke-linecap:round;stroke-linejoin:round}
.again{stroke-dasharray:6 4}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.bg{fill:#0d1117}.time,.unit{fill:#9198a1}
.life{stroke:#656c76}.good{stroke:#e6edf3}.goodtext{fill:#e6edf3}
.lost{stroke:#ff7b72}.losttext{fill:#ff7b72}.damaged{stroke:#f0883e}.damagedtext{fill:#f0883e}
.refused{stroke:#d2a8ff}.refusedtext{fill:#d2a8ff}.timertext{fill:#58a6ff}.timer{fill:#58a6ff}
}
</style>
)";

struct Point {
    double x = 0;
    double y = 0;
};

Point between_times(Point from, Point to, double part) {
    return {from.x + (to.x - from.x) * part, from.y + (to.y - from.y) * part};
}

std::string coordinate(double value) {
    std::array<char, 32> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 1);
    return {text.data(), end.ptr};
}

std::string pair(Point point) {
    return coordinate(point.x) + "," + coordinate(point.y);
}

std::string path(std::string_view classes, const std::string& steps) {
    return "<path class=\"" + std::string(classes) + "\" d=\"" + steps + "\"/>\n";
}

std::string text_at(std::string_view classes, Point at, std::string_view text,
                    std::string_view more = {}) {
    return "<text class=\"" + std::string(classes) + "\" x=\"" + coordinate(at.x) + "\" y=\"" +
           coordinate(at.y) + "\"" + std::string(more) + ">" + report::escaped(text) + "</text>\n";
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines(1);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (lines.back().size() + 1 + end > title_columns && !lines.back().empty()) {
            lines.emplace_back();
        }
        if (!lines.back().empty()) lines.back() += ' ';
        lines.back() += text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

/// The label beside a life line at one time.
struct Beside {
    std::string note;
    std::string_view kind = "good";
};

class Picture {
public:
    explicit Picture(const Ladder& ladder) : ladder_(ladder), unit_(ladder) {
        title_ = lines_of(ladder.title);
        gather();
        place();
    }

    std::string draw() {
        std::string frames;
        std::string labels;
        for (const LadderFrame& frame : ladder_.frames) {
            frames += arrows_of(frame);
            labels += label_on(frame);
        }
        const std::string legend = legend_at(bottom_ + 34);
        const double height = bottom_ + 34 + (legend.empty() ? 0 : 22);
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + coordinate(width) +
               "\" height=\"" + coordinate(height) + "\" viewBox=\"0 0 " + coordinate(width) + " " +
               coordinate(height) + "\" role=\"img\">\n<title>" + report::escaped(ladder_.name) +
               "</title>\n<desc>" + report::escaped(ladder_.title) + "</desc>\n" +
               std::string(style) +
               "<rect class=\"bg\" fill=\"#ffffff\" width=\"100%\" height=\"100%\"/>\n" +
               heading() + life_lines() + frames + labels + beside_lines() + legend + "</svg>\n";
    }

private:
    using Moment = std::pair<Duration, Side>;

    void say(Moment moment, const std::string& what, std::string_view kind) {
        Beside& beside = beside_[moment];
        if (what.empty()) return;
        beside.note += (beside.note.empty() ? "" : ", ") + what;
        beside.kind = kind;
    }

    void gather() {
        flight_ = Duration::milliseconds(1'000);
        for (const LadderFrame& frame : ladder_.frames) {
            say({frame.time, frame.from}, "", "");
            for (std::size_t i = 0; i < frame.arrivals.size(); ++i) {
                const LadderArrival& arrival = frame.arrivals[i];
                if (i == 0) flight_ = std::min(flight_, arrival.time - frame.time);
                const Moment moment{arrival.time, other(frame.from)};
                say(moment, i == 0 ? outcome_of(frame) : std::string(), class_of(frame));
                for (const std::string& what : arrival.delivered) say(moment, what, "good");
            }
        }
        for (const LadderNote& note : ladder_.notes) {
            say({note.time, note.side}, note.text, "timer");
            if (note.text == "timer") timers_.push_back({note.time, note.side});
        }
        flight_ = std::max(flight_, Duration(1));
        for (const LadderFrame& frame : ladder_.frames) {
            if (frame.arrivals.empty()) continue;
            const Duration took = frame.arrivals.front().time - frame.time;
            Duration& least = flights_.try_emplace(frame.info.length, took).first->second;
            least = std::min(least, took);
        }
    }

    // Computes the heights of all moments, in order of time.
    void place() {
        top_ = margin + 26 + title_line * static_cast<double>(title_.size()) + 44;
        const double per_time = flight_height / static_cast<double>(flight_.picoseconds());
        double y = top_;
        Duration before{};
        std::array<double, 2> labelled = {top_ - label_height, top_ - label_height};
        for (auto moment = beside_.begin(); moment != beside_.end();) {
            const Duration time = moment->first.first;
            const double wanted = static_cast<double>((time - before).picoseconds()) * per_time;
            if (wanted > wait_height) cuts_.push_back({y, y + wait_height});
            y += std::min(wanted, wait_height);
            // Both sides may have a label at the same time.
            const auto next = beside_.lower_bound({time + Duration(1), Side::a});
            for (auto one = moment; one != next; ++one) {
                y = std::max(y, labelled[index(one->first.second)] + label_height);
            }
            for (; moment != next; ++moment) labelled[index(moment->first.second)] = y;
            before = time;
            heights_[time] = y;
        }
        bottom_ = y + 20;
    }

    // Interpolates between moments. A lost frame can end at a time without any event.
    double height_of(Duration time) const {
        const auto after = heights_.lower_bound(time);
        if (after == heights_.begin()) return after == heights_.end() ? top_ : after->second;
        const auto before = std::prev(after);
        if (after == heights_.end()) return before->second + flight_height;
        const auto part = static_cast<double>((time - before->first).picoseconds()) /
                          static_cast<double>((after->first - before->first).picoseconds());
        return before->second + (after->second - before->second) * part;
    }

    static double x_of(Side side) { return life_line[index(side)]; }

    static std::string_view class_of(const LadderFrame& frame) {
        if (frame.fate.lost) return "lost";
        if (frame.fate.damaged) return "damaged";
        return frame.refused() ? "refused" : "good";
    }

    struct Ends {
        Point from;
        Point to;
    };
    // The ends of the arrow. For a lost frame: where it would have arrived.
    Ends ends_of(const LadderFrame& frame, std::size_t arrival = 0) const {
        const auto like_it = flights_.find(frame.info.length);
        const Duration flight = like_it == flights_.end() ? flight_ : like_it->second;
        const Duration arrives =
            arrival < frame.arrivals.size() ? frame.arrivals[arrival].time : frame.time + flight;
        double end = height_of(arrives);
        const double begin = height_of(frame.time);
        if (frame.arrivals.empty()) end = std::clamp(end, begin + 0.8 * flight_height, begin + 90);
        return {{x_of(frame.from), begin}, {x_of(other(frame.from)), end}};
    }

    static std::string head(Point tip, Point from, std::string_view classes) {
        const double length = std::hypot(tip.x - from.x, tip.y - from.y);
        const Point unit{(tip.x - from.x) / length, (tip.y - from.y) / length};
        const Point back{tip.x - unit.x * 8, tip.y - unit.y * 8};
        const Point left{back.x - unit.y * 3.5, back.y + unit.x * 3.5};
        const Point right{back.x + unit.y * 3.5, back.y - unit.x * 3.5};
        return path(classes, "M" + pair(left) + "L" + pair(tip) + "L" + pair(right));
    }
    static std::string cross(Point at, std::string_view classes) {
        constexpr double arm = 5;
        return path(classes, "M" + pair({at.x - arm, at.y - arm}) + "L" +
                                 pair({at.x + arm, at.y + arm}) + "M" +
                                 pair({at.x - arm, at.y + arm}) + "L" +
                                 pair({at.x + arm, at.y - arm}));
    }

    std::string arrows_of(const LadderFrame& frame) const {
        const std::string solid = "line " + std::string(class_of(frame));
        const std::string shaft = solid + (frame.resent ? " again" : "");
        std::string out;
        for (std::size_t i = 0; i < std::max<std::size_t>(frame.arrivals.size(), 1); ++i) {
            const Ends ends = ends_of(frame, i);
            const Point stop =
                frame.fate.lost ? between_times(ends.from, ends.to, lost_at) : ends.to;
            out += path(shaft, "M" + pair(ends.from) + "L" + pair(stop));
            if (frame.fate.lost) {
                out += cross(stop, solid);
                continue;
            }
            if (frame.fate.damaged) out += cross(between_times(ends.from, ends.to, lost_at), solid);
            out += head(ends.to, ends.from, solid);
        }
        return out;
    }

    std::string label_on(const LadderFrame& frame) const {
        const Ends ends = ends_of(frame);
        const std::string label = label_of(frame);
        // The label stands in a gap of the arrow, a little after its start.
        constexpr double character = 6.2;
        constexpr double gap_height = 13;
        constexpr double away = 20;
        const double gap = character * static_cast<double>(label.size()) + 4;
        const double way = life_line[1] - life_line[0];
        const Point at =
            between_times(ends.from, ends.to, std::max(label_at, (gap / 2 + away) / way));
        const Point low = ends.from.x < ends.to.x ? ends.from : ends.to;
        const Point high = ends.from.x < ends.to.x ? ends.to : ends.from;
        const double degrees = std::atan2(high.y - low.y, high.x - low.x) * 180 / std::numbers::pi;
        const std::string turn =
            " transform=\"rotate(" + coordinate(degrees) + " " + pair(at) + ")\"";
        return "<rect class=\"bg\" x=\"" + coordinate(at.x - gap / 2) + "\" y=\"" +
               coordinate(at.y - gap_height / 2) + "\" width=\"" + coordinate(gap) +
               "\" height=\"" + coordinate(gap_height) + "\"" + turn + "/>\n" +
               text_at("label " + std::string(class_of(frame)) + "text", at, label,
                       " dy=\"4\"" + turn);
    }

    std::string heading() const {
        double y = margin + 12;
        std::string out = text_at("name", {margin, y}, ladder_.name);
        for (const std::string& line : title_) {
            y += title_line;
            out += text_at("title", {margin, y + 4}, line);
        }
        const std::string unit(unit_.name());
        for (const Side side : {Side::a, Side::b}) {
            const double x = x_of(side);
            out += text_at("end", {x, top_ - 22}, name_of(side));
            const bool left = side == Side::a;
            out += text_at("unit", {x + (left ? -10 : 10), top_ - 22}, unit,
                           left ? " text-anchor=\"end\"" : "");
        }
        return out;
    }

    std::string life_lines() const {
        std::string out;
        for (const Side side : {Side::a, Side::b}) {
            const double x = x_of(side);
            double y = top_ - 12;
            for (const auto& [from, to] : cuts_) {
                // The dotted part lies within the wait, where neither side has an event.
                const double low = from + 12;
                const double high = to - 12;
                out += path("life", "M" + pair({x, y}) + "V" + coordinate(low));
                out += path("life cut", "M" + pair({x, low}) + "V" + coordinate(high));
                y = high;
            }
            out += path("life", "M" + pair({x, y}) + "V" + coordinate(bottom_));
        }
        for (const auto& [time, side] : timers_) {
            out += "<circle class=\"timer\" cx=\"" + coordinate(x_of(side)) + "\" cy=\"" +
                   coordinate(height_of(time)) + "\" r=\"4\"/>\n";
        }
        return out;
    }

    std::string beside_lines() const {
        std::string out;
        for (const auto& [moment, beside] : beside_) {
            const auto& [time, side] = moment;
            const bool left = side == Side::a;
            const Point at{x_of(side) + (left ? -10 : 10), height_of(time) + 4};
            const std::string_view anchor = left ? " text-anchor=\"end\"" : "";
            out += text_at("time", at, unit_.text(time), anchor);
            if (beside.note.empty()) continue;
            std::string note = beside.note;
            if (note.size() > note_columns) note.replace(note_columns - 2, std::string::npos, "..");
            constexpr double past_time = 62;
            out += text_at(std::string(beside.kind) + "text",
                           {at.x + (left ? -past_time : past_time), at.y}, note, anchor);
        }
        return out;
    }

    std::string legend_at(double y) const {
        std::string out;
        double x = margin;
        const auto add = [&](std::string_view kind, bool again, bool crossed, std::string_view what,
                             double room) {
            const std::string solid = "line " + std::string(kind);
            const Point from{x, y};
            const Point to{x + 34, y};
            out += path(solid + (again ? " again" : ""), "M" + pair(from) + "L" + pair(to));
            if (crossed) out += cross(kind == "lost" ? to : between_times(from, to, 0.5), solid);
            if (kind != "lost") out += head(to, from, solid);
            out += text_at("legend", {x + 46, y + 4}, what);
            x += 46 + room;
        };
        std::set<std::string_view> kinds;
        bool again = false;
        for (const LadderFrame& frame : ladder_.frames) {
            kinds.insert(class_of(frame));
            again |= frame.resent;
        }
        if (kinds.contains("lost")) add("lost", false, true, "lost", 44);
        if (kinds.contains("damaged")) add("damaged", false, true, "damaged", 70);
        if (kinds.contains("refused")) add("refused", false, false, "arrived and refused", 130);
        if (again) add("good", true, false, "sent again", 80);
        if (!timers_.empty()) {
            out += "<circle class=\"timer\" cx=\"" + coordinate(x + 6) + "\" cy=\"" +
                   coordinate(y) + "\" r=\"4\"/>\n" + text_at("legend", {x + 18, y + 4}, "timer");
            x += 70;
        }
        if (!cuts_.empty()) {
            out += path("life cut", "M" + pair({x, y}) + "H" + coordinate(x + 34));
            out += text_at("legend", {x + 46, y + 4}, "a longer wait");
        }
        return out;
    }

    const Ladder& ladder_;
    TimeUnit unit_;
    std::vector<std::string> title_;
    Duration flight_{};                        // the shortest
    std::map<std::size_t, Duration> flights_;  // by the length of a frame
    std::map<Moment, Beside> beside_;
    std::map<Duration, double> heights_;
    std::vector<std::pair<double, double>> cuts_;
    std::vector<Moment> timers_;
    double top_ = 0;
    double bottom_ = 0;
};

}  // namespace

std::string svg_of(const Ladder& ladder) {
    return Picture(ladder).draw();
}

}  // namespace wireproof::lab
