#!/usr/bin/env python3
"""The Wireshark plugin with packets that are cut, damaged or random: each has an expert item, and Lua never fails.

usage: wireshark_damage_test.py [CLASS] [unittest options]
"""
import pathlib
import random
import struct
import unittest

from wireshark_kit import (COMPLAINTS, LINKTYPE_USER0, Case, am_ladders, am_packet, crc32c, packets_of, pcapng,
                           udp)

AM_FOR_ALL = ("-d", "udp.port==7000,wireproof.am")
SEED, FRAMES = 20, 500  # of random frames
OF_AM = ["wireproof.am." + what for what in COMPLAINTS]


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


class Cut(Corpus):
    def test_am_packets_of_each_length(self):
        frames = [udp(packet[:length]) for packet in am_packets() for length in range(1, len(packet))]
        self.expect_complaints(self.write(frames), OF_AM, len(frames), *AM_FOR_ALL)

    def test_am_packets_of_which_the_capture_has_the_beginning(self):
        """The snap length."""
        frames = []
        for packet in am_packets():
            whole = udp(packet)
            frames += [(whole[:length], len(whole)) for length in range(43, len(whole))]
        self.expect_complaints(self.write(frames), ["wireproof.am.cut"], len(frames), *AM_FOR_ALL)

    def test_ladders_of_each_length(self):
        frames = []
        for name in am_ladders():
            _, file = self.ladder(name)
            frames += [frame[:length] for frame in first_of_each_kind(file) for length in range(1, len(frame))]
        self.expect_complaints(self.write(frames, LINKTYPE_USER0, ["sp-am A to B"]), OF_AM, len(frames))


class Damaged(Corpus):
    def test_am_packets_with_one_wrong_bit(self):
        frames = []
        for packet in am_packets():
            for place in range(0, 8 * len(packet), 3):
                spoilt = bytearray(packet)
                spoilt[place // 8] ^= 1 << place % 8
                frames.append(udp(bytes(spoilt)))
        self.expect_complaints(self.write(frames), OF_AM, len(frames), *AM_FOR_ALL)


class Random(Corpus):
    def bytes_of(self, generator):
        for _ in range(FRAMES):
            yield bytes(generator.getrandbits(8) for _ in range(generator.choice((1, 7, 8, 9, 27, 28, 40, 48, 68, 100,
                                                                                  256))))

    def test_bytes_in_a_ladder(self):
        frames = list(self.bytes_of(random.Random(SEED)))
        self.expect_complaints(self.write(frames, LINKTYPE_USER0, ["sp-am A to B"]), OF_AM, len(frames))

    def test_bytes_over_udp(self):
        """Some begin as a packet does, so that they come further."""
        generator = random.Random(SEED)
        frames = [udp(generator.choice((b"", b"\x01\0\0\0\x01")) + data) for data in self.bytes_of(generator)]
        corpus = self.write(frames)
        self.expect_complaints(corpus, OF_AM, len(frames), *AM_FOR_ALL)
        # Without "Decode as" none of them is taken for one of ours. Some stop the dissector that takes them.
        self.assertEqual(self.counts(corpus, OF_AM, errors=()), dict.fromkeys(OF_AM, 0))

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


if __name__ == "__main__":
    unittest.main()
