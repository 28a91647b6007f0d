// A ladder as text, as a picture and as a capture.
#include <gtest/gtest.h>

#include <string>

#include "wireproof/base/bytes.hpp"
#include "wireproof/lab/ladder/ladder_test_kit.hpp"

namespace wireproof::lab {
namespace {

std::size_t count(std::string_view text, std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos; ++found) {
        at = text.find(what, at + what.size());
    }
    return found;
}

TEST(LadderText, IsOneLineForAFrameWithTimesWhereTheyAre) {
    EXPECT_EQ(text_of(run_built_in("pcie-lost-nak")),
              R"(pcie-lost-nak (pcie): TLP 2 is damaged, and B's Nak for it is lost. B sends no
second Nak. A's REPLAY_TIMER sends TLP 1 and TLP 2 again; B has TLP 1 and drops
it.

    A, ns |                                     |    B, ns
        0 |---- TLP 0 ------------------------->|      260 message 1
     1468 |<------------------------- Ack 0 ----|     1260
     2000 |---- TLP 1 ------------------------->|     2260 message 2
     2060 |---- TLP 2 ----------------x-------->|     2320 damaged
          |         x---------------- Nak 1 ----|     2320 lost
     5060 | * timer                             |
     5060 |==== TLP 1 =========================>|     5320 ! duplicate
     5120 |==== TLP 2 =========================>|     5380 message 3
     5528 |<------------------------- Ack 1 ----|     5320
     6588 |<------------------------- Ack 2 ----|     6380

x lost or damaged   ! arrived and refused   ==== sent again   * at one end
A: 5 frames (2 again), timeouts: 1, asked for: 3, delivered here: 0
B: 4 frames (0 again), timeouts: 0, asked for: 0, delivered here: 3
)");
}

TEST(LadderText, Fits80ColumnsWhateverTheScenario) {
    std::vector<Ladder> ladders;
    for (const BuiltIn& one : built_in_scenarios()) ladders.push_back(run_text(one.text));
    const std::string long_word(390, 'w');
    for (const char* protocol : {"pcie", "hippi6400", "sp-am"}) {
        ladders.push_back(run_text(
            "name = \"" + std::string(60, 'n') + "\"\ntitle = \"a " + long_word +
            "\"\nprotocol = \"" + protocol +
            "\"\nshow_start = true\n[[traffic]]\nfrom = \"A\"\nmessages = 30\nat_ns = 900000000\n"
            "[[traffic]]\nfrom = \"B\"\nmessages = 30\n"
            "[[random]]\nloss = 0.2\nduplicate = 0.2\nreorder = 0.2\n[stop]\nframes = 300\n"));
    }
    for (const Ladder& ladder : ladders) {
        const std::string text = text_of(ladder);
        std::size_t begin = 0;
        for (std::size_t end = text.find('\n'); end != std::string::npos;
             begin = end + 1, end = text.find('\n', begin)) {
            EXPECT_LE(end - begin, 80U) << text.substr(begin, end - begin);
        }
        EXPECT_EQ(begin, text.size()) << "the last line ends";
    }
}

TEST(LadderText, TimesTakeALongerUnitBeforeTheyOutgrowTheirColumn) {
    Ladder ladder;
    ladder.notes.push_back({.time = Duration::nanoseconds(99'999)});
    EXPECT_EQ(TimeUnit(ladder).text(Duration::nanoseconds(99'999)), "99999");
    ladder.notes[0].time = Duration::nanoseconds(100'000);
    EXPECT_EQ(TimeUnit(ladder).name(), "us");
    EXPECT_EQ(TimeUnit(ladder).text(Duration::nanoseconds(100'020)), "100.020");
    ladder.notes[0].time = Duration::milliseconds(2'000);
    EXPECT_EQ(TimeUnit(ladder).text(Duration::milliseconds(2'000)), "2000.000");
}

TEST(LadderSvg, HasALineForEachFrameAndACrossForEachThatIsLost) {
    const std::string svg = svg_of(run_built_in("hippi-lost-notice"));
    EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_EQ(count(svg, ">data "), 5U);
    EXPECT_EQ(count(svg, ">null "), 3U);
    EXPECT_EQ(count(svg, "class=\"line lost\""), 2U * 2 + 2) << "shaft and cross, and the legend";
    EXPECT_EQ(count(svg, " again\""), 2U + 1);
    EXPECT_EQ(count(svg, "<circle"), 1U + 1) << "the timer, and the legend";
    EXPECT_EQ(count(svg, "http"), 1U) << "nothing comes from elsewhere";
}

TEST(LadderSvg, EscapesWhatAUserWrote) {
    const std::string svg = svg_of(run_text(R"(
name = "<b> & 'c'"
title = "]]> <script>"
protocol = "pcie"
[[traffic]]
from = "A"
)"));
    EXPECT_EQ(count(svg, "<script"), 0U);
    EXPECT_EQ(count(svg, "&lt;b&gt; &amp; 'c'"), 2U);
}

TEST(LadderSvg, DrawsNothingAtAllWithoutAnAccident) {
    EXPECT_TRUE(svg_of(Ladder()).ends_with("</svg>\n"));
    EXPECT_NE(text_of(Ladder()), "");
}

struct Block {
    std::uint32_t type = 0;
    ConstBytes body;
};

std::vector<Block> blocks_of(ConstBytes file) {
    std::vector<Block> blocks;
    for (std::size_t at = 0; at < file.size();) {
        const std::uint32_t length = load_le<std::uint32_t>(file.subspan(at + 4).first<4>());
        blocks.push_back({load_le<std::uint32_t>(file.subspan(at).first<4>()),
                          file.subspan(at + 8, length - 12)});
        at += length;
    }
    return blocks;
}

TEST(LadderPcapng, HasAPacketForEachFrameAndACommentForEachFault) {
    const Ladder ladder = run_built_in("pcie-lost-nak");
    const std::vector<std::byte> file = pcapng_of(ladder);
    const std::vector<Block> blocks = blocks_of(file);
    ASSERT_EQ(blocks.size(), 3 + ladder.frames.size());
    for (std::size_t i = 0; i < ladder.frames.size(); ++i) {
        const LadderFrame& frame = ladder.frames[i];
        const ConstBytes body = blocks[3 + i].body;
        EXPECT_EQ(blocks[3 + i].type, 6U);
        EXPECT_EQ(load_le<std::uint32_t>(body.first<4>()), index(frame.from));
        EXPECT_EQ(load_le<std::uint32_t>(body.subspan(8).first<4>()), frame.time.nanoseconds());
        const std::size_t size = load_le<std::uint32_t>(body.subspan(12).first<4>());
        ASSERT_EQ(size, frame.bytes.size());
        EXPECT_TRUE(std::equal(frame.bytes.begin(), frame.bytes.end(), body.begin() + 20));
        const bool faulted = frame.fate != Fate();
        const std::size_t filled = (size + 3) / 4 * 4;
        EXPECT_EQ(body.size() > 20 + filled, faulted) << i;
    }
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    EXPECT_EQ(count(text, "lost on the link"), 1U);
    EXPECT_EQ(count(text, "damaged on the link"), 1U);
}

// A dissector must see the frames as the standard defines them, including their checks.
TEST(LadderPcapng, FramesCarryTheirChecks) {
    const Ladder ladder = run_built_in("pcie-lost-tlp");
    const std::vector<std::byte>& ack = ladder.frames[1].bytes;
    constexpr std::array<unsigned, 8> ack0 = {0x5C, 0, 0, 0, 0, 0xB3, 0x62, 0xFD};
    ASSERT_EQ(ack.size(), ack0.size());
    for (std::size_t i = 0; i < ack0.size(); ++i) {
        EXPECT_EQ(std::to_integer<unsigned>(ack[i]), ack0[i]) << i;
    }
}

}  // namespace
}  // namespace wireproof::lab
