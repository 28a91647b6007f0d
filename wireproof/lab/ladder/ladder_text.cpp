// One line for each frame: the times of departure and arrival, each on its side, and an arrow
// between.
#include <algorithm>

#include "wireproof/lab/ladder/ladder_render.hpp"

namespace wireproof::lab {
namespace {

constexpr std::size_t columns = 80;
constexpr std::size_t time_width = 9;
constexpr std::size_t arrow_width = 37;
constexpr std::size_t note_width = columns - 2 * time_width - arrow_width - 5;

std::string right_aligned(std::string text, std::size_t size) {
    return text.size() < size ? std::string(size - text.size(), ' ') + text : text;
}

std::string cut(std::string text, std::size_t size) {
    if (text.size() > size) text.replace(size - 2, std::string::npos, "..");
    return text;
}

// Breaks the text into lines that fit. A word that is too long is broken between UTF-8 characters.
std::string wrapped(std::string_view text) {
    std::string out;
    std::string line;
    const auto flush = [&] {
        if (!line.empty()) out += line + "\n";
        line.clear();
    };
    while (!text.empty()) {
        std::size_t end = std::min(text.find(' '), text.size());
        std::string_view word = text.substr(0, end);
        while (word.size() > columns) {
            flush();
            std::size_t part = columns;
            while ((static_cast<unsigned char>(word[part]) & 0xC0U) == 0x80) --part;
            out += std::string(word.substr(0, part)) + "\n";
            word.remove_prefix(part);
        }
        if (line.size() + 1 + word.size() > columns) flush();
        if (!line.empty()) line += ' ';
        line += word;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    flush();
    return out;
}

// "---- TLP 2 ------x             " for a frame from A; mirrored for B.
std::string arrow(const LadderFrame& frame) {
    const char line = frame.resent ? '=' : '-';
    std::string shaft(arrow_width, line);
    constexpr std::size_t cross_at = 27;
    const bool to_b = frame.from == Side::a;
    const auto place = [&](std::size_t at) { return to_b ? at : arrow_width - 1 - at; };
    shaft[place(arrow_width - 1)] = to_b ? '>' : '<';
    if (frame.fate.lost) {
        for (std::size_t at = cross_at; at < arrow_width; ++at) shaft[place(at)] = ' ';
    }
    const bool crossed = frame.fate.lost || frame.fate.damaged;
    const std::size_t room = crossed ? cross_at - 6 : arrow_width - 9;
    const std::string label = " " + cut(label_of(frame), room) + " ";
    if (crossed) shaft[place(cross_at)] = 'x';
    const std::size_t begin = to_b ? 4 : arrow_width - 4 - label.size();
    return shaft.replace(begin, label.size(), label);
}

struct Row {
    std::string at_a;
    std::string middle;
    std::string at_b;
    std::string note = {};
};

std::string line_of(const Row& row) {
    std::string line = right_aligned(row.at_a, time_width) + " |" + row.middle + "|" +
                       right_aligned(row.at_b, time_width) + " " + cut(row.note, note_width);
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

std::string note_of(const LadderFrame& frame) {
    std::string note = outcome_of(frame);
    if (frame.refused()) note = "! " + note;
    for (const LadderArrival& arrival : frame.arrivals) {
        for (const std::string& delivered : arrival.delivered) {
            note += (note.empty() ? "" : ", ") + delivered;
        }
    }
    return note;
}

Row row_of(const LadderFrame& frame, const TimeUnit& unit) {
    const std::string left = unit.text(frame.time);
    const std::string came =
        frame.arrivals.empty() ? std::string() : unit.text(frame.arrivals.front().time);
    const bool to_b = frame.from == Side::a;
    return {to_b ? left : came, arrow(frame), to_b ? came : left, note_of(frame)};
}

Row row_of(const LadderNote& note, const TimeUnit& unit) {
    const std::string time = unit.text(note.time);
    const bool at_a = note.side == Side::a;
    const std::string text = at_a ? "* " + note.text : note.text + " *";
    std::string middle = cut(text, arrow_width - 2);
    const std::string space(arrow_width - 1 - middle.size(), ' ');
    middle = at_a ? " " + middle + space : space + middle + " ";
    return {at_a ? time : "", middle.substr(0, arrow_width), at_a ? "" : time};
}

std::string legend_of(const Ladder& ladder) {
    const auto any = [&](auto&& is) {
        return std::any_of(ladder.frames.begin(), ladder.frames.end(), is);
    };
    std::string legend;
    const auto add = [&](bool there, std::string_view what) {
        if (there) legend += (legend.empty() ? "" : "   ") + std::string(what);
    };
    add(any([](const LadderFrame& f) { return f.fate.lost || f.fate.damaged; }),
        "x lost or damaged");
    add(any([](const LadderFrame& f) { return f.refused(); }), "! arrived and refused");
    add(any([](const LadderFrame& f) { return f.resent; }), "==== sent again");
    add(!ladder.notes.empty(), "* at one end");
    return legend.empty() ? "" : legend + "\n";
}

std::string counts_of(const Ladder& ladder, Side side) {
    const LadderCounts& counts = (*ladder.counts)[index(side)];
    return std::string(name_of(side)) + ": " + std::to_string(counts.frames) + " frames (" +
           std::to_string(counts.resent) + " again), timeouts: " + std::to_string(counts.timeouts) +
           ", asked for: " + std::to_string(counts.asked) +
           ", delivered here: " + std::to_string(counts.delivered) + "\n";
}

}  // namespace

std::string label_of(const LadderFrame& frame) {
    const FrameInfo& info = frame.info;
    std::string label(info.kind);
    if (info.number) label += " " + std::to_string(*info.number);
    // Replies always have their own channel, so the label need not name it.
    if (info.channel != 0 && info.kind != "REP") label += " ch " + std::to_string(info.channel);
    if (const auto ack = frame.ack_besides()) {
        label += (info.kind == "ACK" ? " " : " ack ") + std::to_string(*ack);
    }
    return label;
}

std::string outcome_of(const LadderFrame& frame) {
    std::string text;
    const auto add = [&](std::string_view what) {
        if (!text.empty()) text += ", ";
        text += what;
    };
    if (frame.fate.lost) add("lost");
    if (frame.fate.damaged) add("damaged");
    if (frame.fate.duplicated) add("twice");
    if (frame.fate.held_behind > 0) add("held");
    if (frame.refused()) add(name_of(frame.arrivals.front().verdict));
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

TimeUnit::TimeUnit(const Ladder& ladder) {
    if (ladder.clock == LadderClock::line_bytes) {
        name_ = "bytes";
        picoseconds_ = 1;
        return;
    }
    Duration longest{};
    for (const LadderFrame& frame : ladder.frames) {
        longest = std::max(longest, frame.time);
        for (const LadderArrival& arrival : frame.arrivals) {
            longest = std::max(longest, arrival.time);
        }
    }
    for (const LadderNote& note : ladder.notes) longest = std::max(longest, note.time);
    constexpr std::int64_t few = 100'000;
    for (const std::string_view longer : {"us", "ms", "s"}) {
        if (longest.picoseconds() / picoseconds_ < few) return;
        name_ = longer;
        picoseconds_ *= 1'000;
    }
}

std::string TimeUnit::text(Duration time) const {
    if (picoseconds_ == 1) return std::to_string(time.picoseconds());
    if (picoseconds_ == 1'000) return std::to_string(time.nanoseconds());
    const std::int64_t thousandths = time.picoseconds() / (picoseconds_ / 1'000);
    const std::string decimals = std::to_string(1'000 + thousandths % 1'000).substr(1);
    return std::to_string(thousandths / 1'000) + "." + decimals;
}

std::string text_of(const Ladder& ladder) {
    const TimeUnit unit(ladder);
    std::string text =
        wrapped(ladder.name + " (" + std::string(ladder.protocol) + "): " + ladder.title);
    const std::string name(unit.name());
    text += "\n" + line_of({"A, " + name, std::string(arrow_width, ' '), "B, " + name});
    std::size_t next_note = 0;
    for (std::size_t i = 0; i <= ladder.frames.size(); ++i) {
        while (next_note < ladder.notes.size() && ladder.notes[next_note].before <= i) {
            text += line_of(row_of(ladder.notes[next_note++], unit));
        }
        if (i < ladder.frames.size()) text += line_of(row_of(ladder.frames[i], unit));
    }
    if (ladder.end == LadderEnd::frame_limit)
        text += "    and so on: as many frames as asked for\n";
    if (ladder.end == LadderEnd::time_limit) text += "    and so on: the time asked for is over\n";
    text += "\n" + legend_of(ladder);
    if (ladder.counts) text += counts_of(ladder, Side::a) + counts_of(ladder, Side::b);
    if (!ladder.wrong.empty()) text += "WRONG: " + ladder.wrong + "\n";
    return text;
}

}  // namespace wireproof::lab
