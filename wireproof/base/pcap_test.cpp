#include "wireproof/base/pcap.hpp"

#include <gtest/gtest.h>

#include "wireproof/base/pcapng.hpp"
#include "wireproof/base/random.hpp"

namespace wireproof {
namespace {

using File = std::vector<std::byte>;

/// Writes words in the given byte order.
class Words {
public:
    explicit Words(bool big_endian) : big_endian_(big_endian) {}

    Words& put(std::uint64_t value, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            const std::size_t shift = 8 * (big_endian_ ? size - 1 - i : i);
            file.push_back(static_cast<std::byte>(value >> shift));
        }
        return *this;
    }
    Words& put(std::string_view text) {
        for (const char c : text) file.push_back(static_cast<std::byte>(c));
        return *this;
    }
    Words& pad() {
        while (file.size() % 4 != 0) file.push_back(std::byte{0});
        return *this;
    }
    Words& block(std::uint32_t type, const Words& body) {
        const std::uint64_t length = (body.file.size() + 3) / 4 * 4 + 12;
        put(type, 4).put(length, 4);
        file.insert(file.end(), body.file.begin(), body.file.end());
        return pad().put(length, 4);
    }
    Words body() const { return Words(big_endian_); }

    File file;

private:
    bool big_endian_;
};

struct Read {
    std::vector<std::string> packets;
    std::vector<std::uint64_t> times;
    std::string error;
};

Read read(const File& file, std::size_t piece = SIZE_MAX) {
    Read result;
    CaptureReader reader(capture_in(file, piece));
    while (true) {
        const auto packet = reader.next();
        if (!packet) {
            result.error = packet.error().message;
            const auto after = reader.next();
            EXPECT_TRUE(!after || !*after) << "something after an error";
            return result;
        }
        if (!*packet) return result;
        const CapturedPacket& one = **packet;
        EXPECT_EQ(one.number, result.packets.size() + 1);
        EXPECT_EQ(one.link_type, link_type_ethernet);
        std::string text;
        for (const std::byte byte : one.bytes) text.push_back(static_cast<char>(byte));
        if (one.length != one.bytes.size()) text += " of " + std::to_string(one.length);
        result.packets.push_back(text);
        result.times.push_back(one.time.value_or(0));
    }
}

using Texts = std::vector<std::string>;
using Times = std::vector<std::uint64_t>;

Words pcap_file(bool big_endian, std::uint32_t magic = 0xA1B2C3D4) {
    Words words(big_endian);
    words.put(magic, 4).put(2, 2).put(4, 2).put(0, 4).put(0, 4).put(65'535, 4).put(1, 4);
    words.put(1'000, 4).put(5, 4).put(5, 4).put(5, 4).put("first");
    words.put(1'001, 4).put(999'999, 4).put(6, 4).put(90, 4).put("second");
    return words;
}

TEST(CaptureReader, ReadsPcapOfBothByteOrdersAndResolutions) {
    for (const bool big_endian : {false, true}) {
        const Read micro = read(pcap_file(big_endian).file);
        EXPECT_EQ(micro.error, "");
        EXPECT_EQ(micro.packets, (Texts{"first", "second of 90"}));
        EXPECT_EQ(micro.times, (Times{1'000'000'005'000, 1'001'999'999'000}));
        const Read nano = read(pcap_file(big_endian, 0xA1B23C4D).file);
        EXPECT_EQ(nano.packets, micro.packets);
        EXPECT_EQ(nano.times, (Times{1'000'000'000'005, 1'001'000'999'999}));
    }
}

Words pcapng_file(bool big_endian) {
    Words words(big_endian);
    words.block(0x0A0D0D0A, words.body().put(0x1A2B3C4D, 4).put(1, 2).put(0, 2).put(~0ULL, 8));
    // The first interface has no option: microseconds. The second: units of 2^-10 s, counted from
    // 100 s.
    words.block(1, words.body().put(1, 2).put(0, 2).put(0, 4));
    words.block(1, words.body()
                       .put(1, 2)
                       .put(0, 2)
                       .put(4, 4)
                       .put(9, 2)
                       .put(1, 2)
                       .put(0x8A, 1)
                       .pad()
                       .put(14, 2)
                       .put(8, 2)
                       .put(100, 8)
                       .put(0, 4));
    words.block(5, words.body().put(0, 4));  // statistics
    const auto packet = [&](std::uint32_t interface, std::uint64_t ticks, std::string_view text) {
        Words body = words.body();
        body.put(interface, 4).put(ticks >> 32, 4).put(ticks & 0xFFFFFFFF, 4);
        return body.put(text.size(), 4).put(text.size(), 4).put(text);
    };
    words.block(6, packet(0, 0x1'0000'0001, "first"));
    words.block(6, packet(1, 512, "second"));
    words.block(3, words.body().put(3, 4).put("3rd"));
    words.block(
        2, words.body().put(1, 2).put(7, 2).put(0, 4).put(1'024, 4).put(3, 4).put(3, 4).put("4th"));
    return words;
}

TEST(CaptureReader, ReadsPcapngOfBothByteOrdersAndAnyResolution) {
    for (const bool big_endian : {false, true}) {
        const Read all = read(pcapng_file(big_endian).file);
        EXPECT_EQ(all.error, "");
        EXPECT_EQ(all.packets, (Texts{"first", "second", "3rd", "4th"}));
        EXPECT_EQ(all.times, (Times{4'294'967'297'000, 100'500'000'000, 0, 101'000'000'000}));
    }
}

TEST(CaptureReader, APipeMayGiveAByteAtATime) {
    for (const bool big_endian : {false, true}) {
        for (const File& file : {pcap_file(big_endian).file, pcapng_file(big_endian).file}) {
            for (const std::size_t piece : {1U, 7U}) {
                EXPECT_EQ(read(file, piece).packets, read(file).packets);
                EXPECT_EQ(read(file, piece).error, "");
            }
        }
    }
}

TEST(CaptureReader, NoMoreOfAPipeIsWaitedForThanAPacketNeeds) {
    const File file = pcap_file(false).file;
    std::size_t given = 0;
    CaptureReader reader([&](Bytes to) {
        to.front() = file.at(given);
        ++given;
        return std::size_t{1};
    });
    ASSERT_TRUE(reader.next().value());
    EXPECT_EQ(given, 24U + 16U + 5U);
}

TEST(CaptureReader, ReadsTheLongerRecordsOfModifiedPcap) {
    for (const bool big_endian : {false, true}) {
        Words words(big_endian);
        words.put(0xA1B2CD34, 4).put(2, 2).put(4, 2).put(0, 8).put(65'535, 4).put(1, 4);
        for (const std::string_view text : {"first", "second"}) {
            words.put(1'000, 4).put(5, 4).put(text.size(), 4).put(text.size(), 4);
            words.put(2, 4).put(0x800, 2).put(0, 2).put(text);
        }
        EXPECT_EQ(read(words.file).packets, (Texts{"first", "second"}));
        EXPECT_EQ(read(words.file).error, "");
    }
}

TEST(CaptureReader, InterfacesOfAPcapngFileHaveLinkTypesAndResolutionsOfTheirOwn) {
    for (const bool big_endian : {false, true}) {
        Words words(big_endian);
        words.block(0x0A0D0D0A, words.body().put(0x1A2B3C4D, 4).put(1, 2).put(0, 2).put(~0ULL, 8));
        words.block(1, words.body().put(113, 2).put(0, 2).put(0, 4));
        Words nanoseconds = words.body();
        nanoseconds.put(276, 2).put(0, 2).put(0, 4).put(9, 2).put(1, 2).put(9, 1).pad().put(0, 4);
        words.block(1, nanoseconds);
        for (const std::uint32_t interface : {1U, 0U, 1U}) {
            Words body = words.body();
            body.put(interface, 4).put(0, 4).put(1'234, 4).put(4, 4).put(4, 4).put("text");
            words.block(6, body);
        }
        File file = words.file;
        // In the next section, interfaces count from 0 again.
        const File second = pcapng_file(!big_endian).file;
        file.insert(file.end(), second.begin(), second.end());
        CaptureReader reader(capture_in(file));
        for (const auto& [link_type, time] :
             {std::pair{276, 1'234U}, {113, 1'234'000U}, {276, 1'234U}}) {
            const auto packet = reader.next().value();
            ASSERT_TRUE(packet);
            EXPECT_EQ(packet->link_type, link_type);
            EXPECT_EQ(packet->time, time);
        }
        EXPECT_EQ(reader.next().value()->link_type, link_type_ethernet);
    }
}

TEST(CaptureReader, ASectionMayHaveAnotherByteOrderThanTheOneBefore) {
    File both = pcapng_file(true).file;
    const File second = pcapng_file(false).file;
    both.insert(both.end(), second.begin(), second.end());
    EXPECT_EQ(read(both).packets.size(), 8U);
}

TEST(CaptureReader, ReadsWhatThisLibraryWrites) {
    PcapngFile written("test");
    written.add_interface("a", link_type_ethernet);
    const std::string text = "a frame";
    const std::string other = "another of some length";
    written.add(
        {.nanoseconds = 1'700'000'000'123'456'789, .bytes = std::as_bytes(std::span(text))});
    written.add({.nanoseconds = 7, .bytes = std::as_bytes(std::span(other)), .comment = "why"});
    const Read all = read({written.bytes().begin(), written.bytes().end()});
    EXPECT_EQ(all.packets, (Texts{text, other}));
    EXPECT_EQ(all.times, (Times{1'700'000'000'123'456'789, 7}));
}

TEST(CaptureReader, WindowsOnALargeFileGiveTheSamePackets) {
    Words words(false);
    words.put(0xA1B2C3D4, 4).put(2, 2).put(4, 2).put(0, 8).put(0, 4).put(1, 4);
    const std::string packet(60'000, 'x');
    for (std::uint32_t i = 0; i < 30; ++i) {
        words.put(i, 4).put(0, 4).put(packet.size() + i, 4).put(packet.size() + i, 4);
        words.put(packet + std::string(i, 'y'));
    }
    const Read all = read(words.file);
    EXPECT_EQ(all.error, "");
    ASSERT_EQ(all.packets.size(), 30U);
    EXPECT_EQ(all.packets[29], packet + std::string(29, 'y'));
}

TEST(CaptureReader, AFileOfAnotherKindIsRefused) {
    EXPECT_EQ(read({}).error, "neither a pcap nor a pcapng file");
    EXPECT_EQ(read(File(100, std::byte{0x7F})).error, "neither a pcap nor a pcapng file");
    File cut = pcap_file(false).file;
    cut.resize(20);
    EXPECT_EQ(read(cut).error, "the pcap file header is cut short");
    File old = pcap_file(false).file;
    old[4] = std::byte{1};
    EXPECT_EQ(read(old).error, "pcap version 1 is unknown");
}

TEST(CaptureReader, AFileThatIsCutShortIsReadAsFarAsItGoesAndNamesThePacket) {
    const File whole = pcap_file(false).file;
    const std::size_t second_at = 24 + 16 + 5;
    File cut = whole;
    cut.resize(whole.size() - 1);
    EXPECT_EQ(read(cut).packets, Texts{"first"});
    EXPECT_EQ(read(cut).error, "packet 2: the file ends after 5 of 6 bytes of its data");
    cut.resize(second_at + 3);
    EXPECT_EQ(read(cut).error, "packet 2: the file ends after 3 of 16 bytes of its record header");
    cut.resize(second_at);
    EXPECT_EQ(read(cut).error, "");
    EXPECT_EQ(read(cut).packets, Texts{"first"});
}

// Cuts the file at every length. An error names the packet after the last good one.
TEST(CaptureReader, EveryCutOfAPcapngFileIsReportedOrClean) {
    for (const bool big_endian : {false, true}) {
        const File whole = pcapng_file(big_endian).file;
        const Read all = read(whole);
        std::size_t clean = 0;
        for (std::size_t size = 4; size < whole.size(); ++size) {
            const Read part =
                read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
            ASSERT_LE(part.packets.size(), all.packets.size());
            if (part.error.empty()) {
                ++clean;
                continue;
            }
            const std::string place = "packet " + std::to_string(part.packets.size() + 1) + ": ";
            EXPECT_TRUE(part.error.starts_with(place)) << part.error;
        }
        EXPECT_EQ(clean, 7U);  // cuts between its eight blocks
    }
}

TEST(CaptureReader, AFractionAboveItsUnitIsNoTime) {
    const auto times = [](std::uint32_t magic, std::uint64_t fraction) {
        Words words(false);
        words.put(magic, 4).put(2, 2).put(4, 2).put(0, 8).put(65'535, 4).put(1, 4);
        words.put(1'000, 4).put(fraction, 4).put(5, 4).put(5, 4).put("first");
        CaptureReader reader(capture_in(words.file));
        const auto packet = reader.next().value();
        EXPECT_EQ(packet->time_above_unit, !packet->time.has_value());
        return packet->time;
    };
    EXPECT_EQ(times(0xA1B2C3D4, 999'999), 1'000'999'999'000U);
    EXPECT_EQ(times(0xA1B2C3D4, 1'000'000), std::nullopt);
    EXPECT_EQ(times(0xA1B23C4D, 999'999'999), 1'000'999'999'999U);
    EXPECT_EQ(times(0xA1B23C4D, 1'000'000'000), std::nullopt);
}

TEST(CaptureReader, PacketsOfPcapngHaveTheirInterfaceAndTheProgramThatWroteThem) {
    PcapngFile writer("some program");
    writer.add_interface("one", link_type_ethernet);
    writer.add_interface("two", link_type_ethernet);
    for (const std::uint32_t interface : {1U, 0U})
        writer.add({.interface = interface, .nanoseconds = 0, .bytes = {}});
    const File written = writer.take();
    File both = written;
    const File second = pcapng_file(true).file;
    both.insert(both.end(), second.begin(), second.end());
    CaptureReader reader(capture_in(both));
    for (const auto& [interface, application] :
         {std::pair{1U, "some program"}, {0U, "some program"}, {0U, ""}, {1U, ""}}) {
        const auto packet = reader.next().value();
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->interface, interface);
        EXPECT_EQ(packet->application, application);
    }
}

TEST(CaptureReader, DamageIsReportedWithThePacketsNumber) {
    const auto with = [](File file, std::size_t at, std::uint8_t value) {
        file[at] = std::byte{value};
        return read(file).error;
    };
    const File pcap = pcap_file(false).file;
    const std::size_t second_at = 24 + 16 + 5;
    EXPECT_EQ(with(pcap, second_at + 11, 0x7F),
              "packet 2: it claims 2130706438 bytes; the file is damaged");

    const File pcapng = pcapng_file(false).file;
    const std::size_t first_at = 28 + 20 + 44 + 16;  // after four blocks
    ASSERT_EQ(pcapng[first_at], std::byte{6});
    EXPECT_EQ(with(pcapng, first_at + 4, 41),
              "packet 1: a block claims 41 bytes; the file is damaged");
    EXPECT_EQ(with(pcapng, first_at + 4, 44),
              "packet 1: a block's two lengths differ; the file is damaged");
    EXPECT_EQ(with(pcapng, first_at + 8, 2),
              "packet 1: it names interface 2, which is not described");
    EXPECT_EQ(with(pcapng, first_at + 20, 9), "packet 1: it claims 9 bytes, and its block has 8");
    EXPECT_EQ(with(pcapng, 8, 0),
              "packet 1: a section does not say its byte order; the file is damaged");
    EXPECT_EQ(with(pcapng, 28 + 20 + 20, 0xC0), "packet 1: an interface counts time too finely");
}

// Random damage: the reader returns packets that lie within the file, and then the end or an error.
TEST(CaptureReader, RandomDamageNeverReadsOutside) {
    Random random(5);
    std::size_t errors = 0;
    for (int i = 0; i < 20'000; ++i) {
        File file = random.chance(0.5) ? pcap_file(random.chance(0.5)).file
                                       : pcapng_file(random.chance(0.5)).file;
        for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
            file[random.below(file.size())] = static_cast<std::byte>(random.next());
        }
        CaptureReader reader(capture_in(file));
        while (true) {
            const auto packet = reader.next();
            errors += packet ? 0U : 1U;
            if (!packet || !*packet) break;
            ASSERT_LE((*packet)->bytes.size(), file.size());
        }
    }
    EXPECT_GT(errors, 5'000U);
}

}  // namespace
}  // namespace wireproof
