#include "wireproof/base/pcapng.hpp"
#include "wireproof/lab/ladder/ladder_render.hpp"

namespace wireproof::lab {
namespace {

std::string comment_on(const Fate& fate) {
    std::string text;
    const auto add = [&](bool there, const std::string& what) {
        if (there) text += (text.empty() ? "" : "; ") + what;
    };
    add(fate.lost, "lost on the link");
    add(fate.damaged, "damaged on the link (these are the bytes as sent)");
    add(fate.duplicated, "delivered twice by the link");
    add(fate.held_behind > 0,
        "held back by the link behind " + std::to_string(fate.held_behind) + " later");
    return text;
}

}  // namespace

std::vector<std::byte> pcapng_of(const Ladder& ladder) {
    PcapngFile file("wireproof ladder");
    const std::string protocol(ladder.protocol);
    file.add_interface(protocol + " A to B", link_type_user0);
    file.add_interface(protocol + " B to A", link_type_user0);
    for (const LadderFrame& frame : ladder.frames) {
        file.add({.interface = static_cast<std::uint32_t>(index(frame.from)),
                  .nanoseconds = static_cast<std::uint64_t>(frame.time.nanoseconds()),
                  .bytes = frame.bytes,
                  .comment = comment_on(frame.fate)});
    }
    const ConstBytes bytes = file.bytes();
    return {bytes.begin(), bytes.end()};
}

}  // namespace wireproof::lab
