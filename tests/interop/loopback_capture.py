#!/usr/bin/env python3
"""Runs a command, and writes what leaves through the loopback interface meanwhile to a pcap file.

usage: loopback_capture.py FILE COMMAND…

It ends with 99 if the kernel had no room for a packet, else with the exit code of the command. A firewall that drops
what arrives comes after it: the file has those packets, too.
"""
import select
import socket
import struct
import subprocess
import sys

ALL = 3
OUTGOING = 4
PACKET, STATISTICS = 263, 6
FORCED_BUFFER = 33
PAUSE = 0.05  # seconds between two looks whether the command has ended


def main():
    taps = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    taps.bind(("lo", ALL))
    try:
        taps.setsockopt(socket.SOL_SOCKET, FORCED_BUFFER, 64 << 20)
    except OSError:  # not in a namespace of a user
        taps.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
    frames = []
    with subprocess.Popen(sys.argv[2:]) as command:
        while True:
            ended = command.poll() is not None  # all that it sent is in the socket then
            ready, _, _ = select.select([taps], [], [], 0 if ended else PAUSE)
            if ready:
                frame, (_, _, kind, _, _) = taps.recvfrom(1 << 17)
                if kind == OUTGOING:
                    frames.append(frame)
            elif ended:
                break
    with open(sys.argv[1], "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 1))
        for at, frame in enumerate(frames):
            file.write(struct.pack("<IIII", 1 + at // 1_000_000, at % 1_000_000, len(frame), len(frame)) + frame)
    _, dropped = struct.unpack("II", taps.getsockopt(PACKET, STATISTICS, 8))
    return 99 if dropped else command.returncode


if __name__ == "__main__":
    sys.exit(main())
