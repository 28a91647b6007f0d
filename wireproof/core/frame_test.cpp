// Checks that the pieces of a frame come out in order, wherever they were before.
#include "wireproof/core/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/crc.hpp"

namespace wireproof {
namespace {

ConstBytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(ConstBytes bytes) {
    std::string text;
    for (const std::byte byte : bytes) text.push_back(static_cast<char>(byte));
    return text;
}

class Room {
public:
    TxFrame& open(std::size_t copied_max = 0) {
        frame_.open(room_, {.frame_max = room_.size(), .copied_max = copied_max});
        return frame_;
    }
    void write(std::string_view text) {
        const ConstBytes bytes = bytes_of(text);
        std::copy(bytes.begin(), bytes.end(), frame_.add_room(bytes.size()).begin());
    }

private:
    std::vector<std::byte> room_ = std::vector<std::byte>(32);
    TxFrame frame_;
};

TEST(TxFrame, GathersInPlaceWhatItGathersElsewhere) {
    const std::string payload = "payload";
    const std::string more = "and more";
    // Each letter is a piece. h: written in the room; p and m: payload by reference.
    for (const std::string_view shape : {"", "h", "p", "hp", "ph", "hph", "phph", "hpm", "hphm",
                                         "pmh", "hh", "hhph", "pph", "hphh"}) {
        Room room;
        TxFrame& frame = room.open();
        std::string expected;
        for (const char part : shape) {
            if (part == 'h') room.write("<>");
            if (part == 'p') frame.add_payload(bytes_of(payload));
            if (part == 'm') frame.add_payload(bytes_of(more));
            expected += part == 'h' ? "<>" : part == 'p' ? payload : more;
        }
        std::vector<std::byte> elsewhere(64);
        EXPECT_EQ(text_of(frame.gather(elsewhere)), expected) << shape;
        EXPECT_EQ(text_of(frame.gather_in_place()), expected) << shape;
    }
}

TEST(TxFrame, CopiesPayloadThatItsLanePrefersCopied) {
    for (const bool checked : {false, true}) {
        std::string payload = "payload";
        std::string longer = "somewhat longer";
        const std::string whole = payload + longer;
        Room room;
        TxFrame& frame = room.open(payload.size());
        room.write("<>");
        Crc32c check;
        if (checked) {
            frame.add_payload(bytes_of(payload), check);
        } else {
            frame.add_payload(bytes_of(payload));
        }
        ASSERT_EQ(frame.pieces().size(), 1U);
        EXPECT_EQ(frame.room_used(), 9U);
        if (checked) {
            frame.add_payload(bytes_of(longer), check);
        } else {
            frame.add_payload(bytes_of(longer));
        }
        ASSERT_EQ(frame.pieces().size(), 2U);
        EXPECT_EQ(frame.room_used(), 9U);
        const ConstBytes seen = checked ? bytes_of(whole) : ConstBytes{};
        EXPECT_EQ(check.value(), Crc32c::of(seen));
        std::fill(payload.begin(), payload.end(), '-');
        longer[0] = 'S';
        std::vector<std::byte> elsewhere(64);
        EXPECT_EQ(text_of(frame.gather(elsewhere)), "<>payloadSomewhat longer");
    }
}

TEST(TxFrame, KnowsHowMuchOfItsRoomWasAskedFor) {
    Room room;
    TxFrame& frame = room.open();
    EXPECT_EQ(frame.room_used(), 0U);
    frame.add_payload(bytes_of("pointed at"));
    EXPECT_EQ(frame.room_used(), 0U);
    room.write("abc");
    EXPECT_EQ(frame.room_used(), 3U);
    EXPECT_EQ(room.open().room_used(), 0U);
}

}  // namespace
}  // namespace wireproof
