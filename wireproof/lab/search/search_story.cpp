#include "wireproof/lab/search/search_story.hpp"

#include <algorithm>
#include <map>

namespace wireproof::lab {
namespace {

using Move = SearchMove::What;

constexpr std::size_t width = 37;  // between the two life lines

std::string side(std::size_t end) {
    return end == 0 ? "A" : "B";
}

std::string name(const FrameInfo& info) {
    std::string text(info.kind);
    if (info.number) text += " " + std::to_string(*info.number);
    // The own number of a null is the number that it acknowledges.
    const bool null = info.kind == "null" || info.kind == "status null";
    if (info.ack && !null) text += ", ack " + std::to_string(*info.ack);
    return text;
}

std::string padded(std::string text, std::size_t columns, char with) {
    text.resize(std::max(columns, text.size()), with);
    return text;
}

/// The part of the way between the life lines that is drawn.
enum class Stretch : std::uint8_t { all, first, last, not_the_end };

std::string arrow(std::size_t end, const std::string& what, Stretch stretch) {
    constexpr std::size_t part = width * 3 / 5;
    const std::size_t length = stretch == Stretch::all ? width : part;
    const std::string tip = stretch == Stretch::not_the_end ? "x" : (end == 0 ? ">" : "<");
    const bool at_sender = stretch != Stretch::last;
    const std::string blank(width - length, ' ');
    if (end == 0) {
        const std::string drawn = padded("---- " + what + " ", length - 1, '-') + tip;
        return at_sender ? drawn + blank : blank + drawn;
    }
    const std::string label = " " + what + " ----";
    const std::size_t shaft = length - 1 - std::min(length - 1, label.size());
    const std::string drawn = tip + std::string(shaft, '-') + label;
    return at_sender ? blank + drawn : drawn + blank;
}

std::string note(std::size_t end, const std::string& what) {
    const std::string left = end == 1 ? "" : " * " + what;
    const std::string right = end == 0 ? "" : what + " * ";
    return padded(left, width - right.size(), ' ') + right;
}

std::string outcome(const SearchStep& step) {
    std::string text(step.verdict ? name_of(*step.verdict) : "");
    std::replace(text.begin(), text.end(), '_', ' ');
    if (!step.delivered.empty()) text += ", " + step.delivered;
    return text;
}

std::string line(const std::string& between, const std::string& beside) {
    return "|" + between + "|" + (beside.empty() ? "" : "  " + beside);
}

/// `at_once`: the frame left in the step before.
std::string drawn(const SearchStep& step, bool at_once) {
    const std::size_t end = step.move.end;
    const std::string what = name(step.info);
    const Stretch stretch = at_once ? Stretch::all : Stretch::last;
    switch (step.move.what) {
        case Move::offer: return line(note(end, "a message to send"), "");
        case Move::due: return line(note(end, "timer"), "");
        case Move::wait: return line(note(end, step.move.fault ? "timer, early" : "timer"), "");
        case Move::leave: return line(arrow(end, what, Stretch::first), "");
        case Move::lose: return line(arrow(end, what, Stretch::not_the_end), "lost");
        case Move::damage: return line(arrow(end, what, stretch), "damaged: " + outcome(step));
        case Move::damage_tail:
            return line(arrow(end, what, stretch), "tail damaged: " + outcome(step));
        case Move::repeat: return line(arrow(end, what, stretch), outcome(step) + " (1 of 2)");
        case Move::arrive: break;
    }
    return line(arrow(end, what, stretch),
                outcome(step) + (step.overtaken.empty() ? "" : ", ahead"));
}

/// The keys that name such frames in a scenario.
std::string script_name(const FrameInfo& info) {
    std::string text = "kind = \"" + std::string(info.kind) + "\"\n";
    if (info.number) text += "number = " + std::to_string(*info.number) + "\n";
    return text;
}

/// All that happens to one frame.
struct Fate {
    FrameInfo info{};
    std::size_t nth = 0;  // among those of its kind and number
    std::size_t arrivals = 0;
    std::size_t behind = 0;
    bool damaged = false;
    bool lost = false;
    std::size_t intact_front = 0;  // of a damaged one

    std::string key() const {
        if (intact_front > 0) {
            return "fate = \"damaged\"\nintact = " + std::to_string(intact_front);
        }
        if (damaged) return "fate = \"damaged\"";
        if (lost && arrivals == 0) return "fate = \"lost\"";
        if (arrivals > 1) return "fate = \"duplicated\"";
        if (behind > 0) return "fate = \"held\"\nbehind = " + std::to_string(behind);
        return "";
    }
};

/// By the end that sent the frame, and the index of the frame.
using Fates = std::map<std::pair<std::size_t, std::size_t>, Fate>;

Fates fates_of(const std::vector<SearchStep>& steps) {
    Fates fates;
    std::map<std::pair<std::size_t, std::string>, std::size_t> seen;
    for (const SearchStep& step : steps) {
        if (step.frame == 0) continue;
        Fate& fate = fates[{step.move.end, step.frame}];
        if (step.move.what == Move::leave) {
            fate.info = step.info;
            fate.nth = ++seen[{step.move.end, script_name(step.info)}];
        }
        fate.arrivals += step.move.what == Move::arrive || step.move.what == Move::repeat ? 1 : 0;
        fate.damaged |= step.move.what == Move::damage;
        fate.intact_front = std::max(fate.intact_front, step.intact_front);
        fate.lost |= step.move.what == Move::lose;
        for (const std::size_t other : step.overtaken) ++fates[{step.move.end, other}].behind;
    }
    return fates;
}

}  // namespace

std::string search_ladder(const std::vector<SearchStep>& steps, std::size_t circle) {
    std::string text = "        A" + std::string(width, ' ') + "B\n";
    std::size_t lines = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i == circle) text += "  from here on, again and again:\n";
        // A frame that leaves in one step and arrives in the next has one line.
        const bool at_once = steps[i].move.what == Move::leave && i + 1 < steps.size() &&
                             i + 1 != circle && steps[i + 1].move.moves_frame() &&
                             steps[i + 1].move.end == steps[i].move.end &&
                             steps[i + 1].frame == steps[i].frame;
        if (at_once) ++i;
        const std::string number = std::to_string(++lines);
        text += std::string(6 - std::min<std::size_t>(6, number.size()), ' ') + number + "  " +
                drawn(steps[i], at_once) + "\n";
    }
    return text;
}

std::string search_scenario(const SearchScenario& about, const std::vector<SearchStep>& steps) {
    std::string text = "# Found by: wireproof search " + about.protocol + "\n";
    text += "name = \"" + about.name + "\"\ntitle = \"" + about.title + "\"\n";
    text += "protocol = \"" + about.protocol + "\"\n";
    text += "\n[engine]\n" + about.engine;
    if (about.any_window) text += "any_window = true\n";
    for (std::size_t end = 0; end < 2; ++end) {
        if (about.messages[end] == 0) continue;
        text += "\n[[traffic]]\nfrom = \"" + side(end) +
                "\"\nmessages = " + std::to_string(about.messages[end]) +
                "\nbytes = " + std::to_string(about.bytes) + "\n";
    }
    const Fates fates = fates_of(steps);
    for (const auto& [which, fate] : fates) {
        const std::size_t end = which.first;
        if (fate.key().empty()) continue;
        text += "\n[[fault]]\ndirection = \"" + side(end) + "->" + side(1 - end) + "\"\n" +
                script_name(fate.info) + "nth = " + std::to_string(fate.nth) + "\n" + fate.key() +
                "\n";
    }
    text += "\n[stop]\nframes = " + std::to_string(fates.size() + 20) + "\n";
    return text;
}

bool is_hasty(const std::vector<SearchStep>& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const SearchStep& step) {
        return step.move.what == Move::wait && step.move.fault;
    });
}

}  // namespace wireproof::lab
