"""Captures for the tests of `wireproof inspect`: of real traffic, and written by the tests."""
import os
import struct
import zlib

from command import Case

CASES = os.path.join(os.path.dirname(__file__), "..", "data", "inspect")
CAPTURES = os.path.join(os.path.dirname(__file__), "..", "data", "rocev2")


def capture(name):
    return os.path.join(CAPTURES, name + ".pcap")


def case(name):
    return os.path.join(CASES, name + ".pcap")


def records(name):
    """Yields the frames of a capture, each with seconds and microseconds."""
    with open(capture(name), "rb") as file:
        data = file.read()
    at = 24
    while at < len(data):
        seconds, part, size, _ = struct.unpack_from("<IIII", data, at)
        yield seconds, part, data[at + 16:at + 16 + size]
        at += 16 + size


def pcap(frames, order="<", magic=0xA1B2C3D4):
    file = struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, 1)
    for seconds, part, frame in frames:
        file += struct.pack(order + "IIII", seconds, part, len(frame), len(frame)) + frame
    return file


def pcapng(frames, order="<"):
    def block(kind, body):
        body += bytes(-len(body) % 4)
        length = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + length + body + length
    file = block(0x0A0D0D0A, struct.pack(order + "IHHQ", 0x1A2B3C4D, 1, 0, 2 ** 64 - 1))
    file += block(1, struct.pack(order + "HHI", 1, 0, 0))
    for seconds, part, frame, *comment in frames:
        time = seconds * 1_000_000 + part
        body = struct.pack(order + "IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(frame), len(frame)) + frame
        for text in comment:
            body += bytes(-len(body) % 4) + struct.pack(order + "HH", 1, len(text)) + text
        file += block(6, body)
    return file


def with_icrc(frame):
    """Returns the Ethernet frame with IPv4 with the right ICRC."""
    ip, udp, packet = bytearray(frame[14:34]), bytearray(frame[34:42]), bytearray(frame[42:-4])
    covered = packet[:]
    ip[1] = ip[8] = ip[10] = ip[11] = udp[6] = udp[7] = covered[4] = 0xFF
    icrc = zlib.crc32(b"\xff" * 8 + ip + udp + covered)
    return frame[:42] + bytes(packet) + struct.pack("<I", icrc)


def super_packet(frames):
    """Joins Ethernet frames with IPv4 to one. Its segments have identifications from 0 on and right ICRCs."""
    payload = b""
    for place, frame in enumerate(frames):
        one = bytearray(frame)
        one[18:20] = struct.pack(">H", place)
        payload += with_icrc(bytes(one))[42:]
    whole = bytearray(frames[0][:42])
    whole[16:20] = struct.pack(">HH", 28 + len(payload), 0)
    whole[38:40] = struct.pack(">H", 8 + len(payload))
    return bytes(whole) + payload


class Inspection(Case):
    def write(self, data, name="some.pcap"):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return name

    def inspect(self, file):
        ended, found = self.run_json("inspect", file)
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(found["schema"], "wireproof.inspect/1")
        return found



# Frames of a sender and a receiver, for captures of many queue pairs.

def frame(back, opcode, queue_pair, psn, rest, port=49152):
    """An Ethernet frame from 10.0.0.1 to 10.0.0.2, or back, with a right ICRC."""
    packet = struct.pack(">BBHIBBH", opcode, 0x40, 0xFFFF, queue_pair, 0x80, psn >> 16,
                         psn & 0xFFFF) + rest
    size = 20 + 8 + len(packet) + 4
    hosts = b"\x0a\0\0\2\x0a\0\0\1" if back else b"\x0a\0\0\1\x0a\0\0\2"
    ip = struct.pack(">BBHHHBBH", 0x45, 0, size, 0, 0x4000, 64, 17, 0) + hosts
    udp = struct.pack(">HHHH", port, 4791, size - 20, 0)
    return with_icrc(bytes(12) + b"\x08\x00" + ip + udp + packet + bytes(4))


def send(queue_pair, psn, **more):
    return frame(False, 4, queue_pair, psn, b"data", **more)


def answer(queue_pair, psn, syndrome=0x1F, msn=0, **more):
    return frame(True, 17, queue_pair, psn, struct.pack(">I", syndrome << 24 | msn), **more)


def at_once(frames):
    return pcap([(0, number, one) for number, one in enumerate(frames)])
