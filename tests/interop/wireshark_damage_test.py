#!/usr/bin/env python3
"""The Wireshark plugin with frames that are cut, damaged or random: each has an expert item, and Lua never fails.

usage: wireshark_damage_test.py [CLASS] [unittest options]
"""
import pathlib
import random
import struct
import unittest

from wireshark_kit import (COMPLAINTS, LINKTYPE_USER0, PREFIX, Case, am_packet, crc32c, ladders, link_datagram,
                           packets_of, pcapng, udp)

AM_FOR_ALL = ("-d", "udp.port==7000,wireproof.am")
LINK_FOR_ALL = ("-d", "udp.port==7000,wireproof.link")
SEED, FRAMES = 20, 500  # of random frames
IN_ALL = ["wireproof." + prefix + "." + what for prefix in (*PREFIX.values(), "link") for what in COMPLAINTS]


def am_packets():
    """One packet of each kind, with all parts of its data."""
    words = struct.pack("<QQQQ", 1, 2, 3, 4)
    yield am_packet(9, cookie=0, data=words)
    yield am_packet(1, number=1, data=b"hello")
    yield am_packet(2, number=1, channel=1, data=b"hello")
    yield am_packet(2, number=2, channel=1, id_=0, data=struct.pack("<III", 1, 2, 1))
    yield am_packet(3, number=2, count=3, data=bytes(20))
    yield am_packet(4, number=5, data=words)
    yield am_packet(5, number=6, data=words[:16])
    yield am_packet(6)
    yield am_packet(7, number=3, data=struct.pack("<II", 20, 20) + b"\x01\x02\x03")
    yield am_packet(8, number=7)
    yield am_packet(10, number=7, count=2, data=struct.pack("<HH", 1, 3) + b"abc" + struct.pack("<HH", 1, 2) + b"de")
    yield am_packet(11, count=1)


def first_of_each_kind(file):
    """Frames of a ladder that differ in length or in their first bytes."""
    found = {}
    for interface, frame in packets_of(file):
        found.setdefault((interface, len(frame), frame[:2], frame[32:33]), frame)
    return found.values()


class Corpus(Case):
    def write(self, frames, link_type=1, names=("lo",)):
        file = self.path("corpus.pcapng")
        pathlib.Path(file).write_bytes(pcapng(frames, link_type, names))
        return file

    def expect_complaints(self, file, names, count, *options):
        """Each packet has one of these items."""
        rows = self.rows(file, names, *options)
        self.assertEqual(len(rows), count)
        quiet = [number for number, row in enumerate(rows, 1) if not any(row)]
        self.assertEqual(quiet, [])

    def expect_complaints_of_each(self, frames, names, share=None):
        """Each frame has an item of the protocol of its interface. Of the protocol `share`, nine of ten have one."""
        protocols = list(dict.fromkeys(name.split()[0] for name in names))
        rows = self.rows(self.write(frames, names=names), [name for one in protocols for name in self.of(PREFIX[one])])
        self.assertEqual(len(rows), len(frames))
        places = {protocol: slice(at * len(COMPLAINTS), (at + 1) * len(COMPLAINTS)) for at, protocol in enumerate(protocols)}
        quiet = {name: 0 for name in names}
        for (*_, interface), row in zip(frames, rows):
            quiet[names[interface]] += not any(row[places[names[interface].split()[0]]])
        if share:
            self.assertLess(quiet.pop(share + " A to B"), len(frames) / len(names) / 10)
        self.assertEqual(quiet, dict.fromkeys(quiet, 0))

    @staticmethod
    def of(prefix):
        return ["wireproof." + prefix + "." + what for what in COMPLAINTS]


class Cut(Corpus):
    def test_am_packets_of_each_length(self):
        frames = [udp(packet[:length]) for packet in am_packets() for length in range(1, len(packet))]
        self.expect_complaints(self.write(frames), self.of("am"), len(frames), *AM_FOR_ALL)

    def test_am_packets_of_which_the_capture_has_the_beginning(self):
        """The snap length."""
        frames = []
        for packet in am_packets():
            whole = udp(packet)
            frames += [(whole[:length], len(whole)) for length in range(43, len(whole))]
        self.expect_complaints(self.write(frames), ["wireproof.am.cut"], len(frames), *AM_FOR_ALL)

    def test_link_datagrams_of_each_length(self):
        whole = link_datagram([b"abc", b"", b"defgh"])
        frames = [udp(whole[:length]) for length in range(1, len(whole))]
        shown = [(udp(whole)[:length], len(udp(whole))) for length in range(43, len(udp(whole)))]
        rows = self.rows(self.write(frames + shown), self.of("link"), *LINK_FOR_ALL)
        self.assertEqual(len(rows), len(frames) + len(shown))
        cut = COMPLAINTS.index("cut")
        self.assertEqual([number for number, row in enumerate(rows, 1)
                          if not (any(row) if number <= len(frames) else row[cut])], [])

    def check_frames(self, begin):
        """Frames in datagrams whose own header is right, and bare as in a capture of a ladder. Of the first one each
        length, of the others some."""
        names, places, wholes, cuts, bare = [name for name in ladders() if name.startswith(begin)], 0, set(), [], []
        for name in names:
            drawn, file = self.ladder(name)
            for place, frame in enumerate(first_of_each_kind(file)):
                # The whole frame first, so that the protocol of the link is known.
                wholes.add(len(cuts))
                cuts.append(udp(link_datagram([frame], counter=0, link=places)))
                some = range(1, len(frame), 7 if place else 1)
                cuts += [udp(link_datagram([frame[:length]], counter=length, link=places)) for length in some]
                bare += [(frame[:length], length, 1) for length in some]
                places += 1
        corpus = self.write(cuts + bare, names=["lo", drawn["protocol"] + " A to B"])
        rows = self.rows(corpus, self.of(PREFIX[drawn["protocol"]]))
        self.assertEqual(len(rows), len(cuts) + len(bare))
        self.assertEqual({number for number, row in enumerate(rows) if not any(row)}, wholes)

    def test_frames_of_pcie_of_each_length(self):
        self.check_frames("pcie-lost-")

    def test_frames_of_hippi_of_each_length(self):
        self.check_frames("hippi-lost-n")

    def test_frames_of_ue_of_each_length(self):
        self.check_frames("ue-f")

    def test_frames_of_flit_of_each_length(self):
        self.check_frames("flit-")

    def test_frames_of_cxl_of_each_length(self):
        self.check_frames("cxl-")

    def test_ladders_of_am_of_each_length(self):
        frames = []
        for name in ladders():
            if name.startswith("am-"):
                _, file = self.ladder(name)
                frames += [frame[:length] for frame in first_of_each_kind(file) for length in range(1, len(frame))]
        corpus = self.write(frames, LINKTYPE_USER0, ["sp-am A to B"])
        self.expect_complaints(corpus, self.of("am"), len(frames))

    def test_frames_that_are_longer_than_their_datagram(self):
        frame = bytes(20)
        frames = [udp(link_datagram([frame, frame], promised=[20, length])) for length in (21, 1000, 65535)]
        self.expect_complaints(self.write(frames), self.of("link"), len(frames))


class Damaged(Corpus):
    def test_am_packets_with_one_wrong_bit(self):
        frames = []
        for packet in am_packets():
            for place in range(0, 8 * len(packet), 3):
                spoilt = bytearray(packet)
                spoilt[place // 8] ^= 1 << place % 8
                frames.append(udp(bytes(spoilt)))
        self.expect_complaints(self.write(frames), self.of("am"), len(frames), *AM_FOR_ALL)

    def test_link_headers_with_one_wrong_bit(self):
        whole = link_datagram([b"abc", b"defgh"])
        frames = []
        for place in range(8 * (len(whole) - 8)):
            spoilt = bytearray(whole)
            spoilt[place // 8] ^= 1 << place % 8
            frames.append(udp(bytes(spoilt)))
        self.expect_complaints(self.write(frames), self.of("link"), len(frames), *LINK_FOR_ALL)

    def test_frames_of_links_with_one_wrong_bit(self):
        """Number and control ordered sets of Ultra Ethernet have no check."""
        frames, names = [], []
        for name in ("pcie-lost-tlp", "hippi-lost-data", "flit-lost-payload", "flit-ucie-false-nak", "flit-half-used",
                     "cxl-spoilt-flit"):
            drawn, file = self.ladder(name)
            ecc = range(244, 250) if name == "flit-half-used" else range(250, 256)
            for frame in first_of_each_kind(file):
                for place in range(0, 8 * len(frame), 7):
                    if drawn["protocol"] == "flit" and place // 8 in ecc:
                        continue  # the code that corrects errors is not checked
                    spoilt = bytearray(frame)
                    spoilt[place // 8] ^= 1 << place % 8
                    frames.append((bytes(spoilt), len(spoilt), len(names)))
            names.append(drawn["protocol"] + " A to B")
        self.expect_complaints_of_each(frames, names)


class Random(Corpus):
    def bytes_of(self, generator):
        for _ in range(FRAMES):
            yield bytes(generator.getrandbits(8) for _ in range(generator.choice((1, 7, 8, 9, 27, 28, 40, 48, 68, 100,
                                                                                  256))))

    def test_bytes_in_every_protocol(self):
        """Some begin as a frame does, so that they come further. A control ordered set of Ultra Ethernet has no check."""
        generator = random.Random(SEED)
        begins = (b"", b"\xFB", b"\x5C", b"\x4B\x01", b"\xBC", b"\xD2\xD2", b"\xFB\x07\0\0UUU\xD5")
        frames = [(generator.choice(begins) + data) for data in self.bytes_of(generator)]
        names = [protocol + " A to B" for protocol in PREFIX]
        self.expect_complaints_of_each([(frame, len(frame), at) for at in range(len(names)) for frame in frames], names,
                                       share="ue-llr")

    def test_bytes_over_udp(self):
        generator = random.Random(SEED)
        frames = [udp(generator.choice((b"", b"\x51\x01", b"\x01\0\0\0\x01")) + data)
                  for data in self.bytes_of(generator)]
        corpus = self.write(frames)
        self.expect_complaints(corpus, self.of("am"), len(frames), *AM_FOR_ALL)
        self.expect_complaints(corpus, self.of("link"), len(frames), *LINK_FOR_ALL)
        # Without "Decode as" none of them is taken for one of ours. Some stop the dissector that takes them.
        self.assertEqual(self.counts(corpus, IN_ALL, errors=()), dict.fromkeys(IN_ALL, 0))

    def test_headers_with_a_right_check_and_random_fields(self):
        generator = random.Random(SEED)
        frames = []
        for _ in range(FRAMES):
            packet = bytearray(generator.getrandbits(8) for _ in range(generator.choice((48, 60, 80, 200))))
            packet[4] = generator.choice((1, 18, 3, 4, 36, 5, 6, 7, 23, 8, 9, 10, 26, 11))
            packet[40:48] = bytes(8)
            if packet[4] == 9:
                packet[8:16] = bytes(8)
            packet[40:44] = struct.pack("<I", crc32c(bytes(packet)))
            frames.append(udp(bytes(packet)))
        file = self.write(frames)
        self.assertEqual(self.counts(file, ["wireproof.am.kind", "wireproof.am.damaged"]),
                         {"wireproof.am.kind": len(frames), "wireproof.am.damaged": 0})
        frames = [udp(link_datagram([bytes(generator.getrandbits(8) for _ in range(generator.choice((0, 8, 40, 68)))),
                                     *([b"x"] * generator.randrange(3))], counter=generator.getrandbits(32),
                                    link=generator.getrandbits(2), sender=generator.choice((0, 1, 2, 0xFFFFFFFF))))
                  for _ in range(FRAMES)]
        self.assertEqual(len(self.rows(self.write(frames), ["frame.number"], *LINK_FOR_ALL)), FRAMES)


if __name__ == "__main__":
    unittest.main()
