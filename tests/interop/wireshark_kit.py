"""What the tests of the Wireshark plugin share: tshark with the plugin, ladders, live captures, written captures.

The variable WIREPROOF names the command, and WIREPROOF_WIRESHARK the folder of the plugin."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIREPROOF = os.environ.get("WIREPROOF", "wireproof")
# The kernel may swap two packets of a sender that moves to another processor.
ON_ONE_PROCESSOR = ("taskset", "--cpu-list", str(min(os.sched_getaffinity(0))))
PLUGIN = pathlib.Path(os.environ.get("WIREPROOF_WIRESHARK", ROOT / "tools" / "wireshark" / "wireproof"))
PATIENCE = 300  # seconds; it only catches a program that hangs
NO_NAMESPACE = "no network namespace with nftables for this user (Debian: apt-get install nftables)"
NO_TSHARK = "tshark is not installed"

COMPLAINTS = ("malformed", "damaged", "cut")  # of the plugin
ERRORS = ["_ws.lua.error", "_ws.malformed.expert", "_ws.malformed.dissector_bug"]  # of Wireshark

LINKTYPE_ETHERNET, LINKTYPE_USER0 = 1, 147


class Case(unittest.TestCase):
    def setUp(self):
        if not shutil.which("tshark"):
            self.skipTest(NO_TSHARK)
        self.folder = tempfile.mkdtemp(prefix="wireproof-wireshark-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def tshark(self, *arguments, plugin=True):
        """Returns the output. Fails if tshark complains."""
        command = ["tshark"]
        if plugin:
            # A port may also be the well-known one of another protocol.
            command += ["-X", f"lua_script:{PLUGIN}/wireproof.lua", "-o", "udp.try_heuristic_first:TRUE"]
        # Plugins and settings of the user must not matter.
        done = subprocess.run([*command, *arguments], cwd=self.folder, capture_output=True, text=True, check=False,
                              timeout=PATIENCE, env={**os.environ, "HOME": self.folder, "XDG_CONFIG_HOME": self.folder})
        complaints = [line for line in done.stderr.splitlines() if line and not line.startswith("Running as user")]
        self.assertEqual((done.returncode, complaints), (0, []))
        return done.stdout

    def rows(self, file, names, *options, errors=ERRORS):
        """Returns, for each packet, the values of these fields: a list for each field. No packet may show one of the errors.
        A start of tshark takes a second, so a test reads all that it needs at once."""
        command = ["-r", file, "-T", "fields", "-E", "separator=/t", "-E", "aggregator=;", *options]
        for name in (*names, *errors):
            command += ["-e", name]
        rows = [[part.split(";") if part else [] for part in line.split("\t")]
                for line in self.tshark(*command).split("\n")[:-1]]
        self.assertEqual([(number, row) for number, row in enumerate(rows, 1) if any(row[len(names):])], [])
        return [row[:len(names)] for row in rows]

    def counts(self, file, names, **errors):
        """Returns how often each field occurs in the file."""
        rows = self.rows(file, names, **errors)
        return {name: sum(len(row[place]) for row in rows) for place, name in enumerate(names)}

    def ladder(self, name):
        """Draws a ladder, and returns its events and its capture."""
        file = self.path(os.path.basename(name) + ".pcapng")
        done = subprocess.run([WIREPROOF, "ladder", name, "--json", "--pcapng", file], capture_output=True, check=True,
                              timeout=PATIENCE)
        return json.loads(done.stdout), file


def am_ladders():
    done = subprocess.run([WIREPROOF, "ladder", "--list"], capture_output=True, text=True, check=True, timeout=PATIENCE)
    return [line.split()[0] for line in done.stdout.splitlines() if line.startswith("am-")]


# Live captures: `carry` in a network namespace, whose firewall may drop what arrives.

NAMESPACE = ["unshare", "--map-root-user", "--net", "sh", "-ec"]
PERMITTED = """ip link set lo mtu 1500 up
nft add table inet wall
nft add chain inet wall arrives '{ type filter hook input priority 0; }'
"""
CAPTURED = PERMITTED + "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'\n"
LOSES = "nft add rule inet wall arrives meta l4proto udp numgen inc mod %d == %d drop\n"


def permitted():
    try:
        probe = subprocess.run([*NAMESPACE, CAPTURED], capture_output=True, timeout=PATIENCE, check=False)
    except OSError:
        return False
    return probe.returncode == 0


class LiveCase(Case):
    def setUp(self):
        super().setUp()
        if not permitted():
            print(NO_NAMESPACE)
            self.skipTest(NO_NAMESPACE)

    def carry(self, *options, size=200_000, firewall=""):
        """Carries a file by SP Active Messages. Returns the counters that the command prints, and the capture of all that left."""
        with open(self.path("file.bin"), "wb") as file:
            file.write(os.urandom(size))
        capture = self.path("carried.pcap")
        tap = os.path.join(os.path.dirname(__file__), "loopback_capture.py")
        done = subprocess.run(
            [*NAMESPACE, PERMITTED + firewall + 'exec "$@"', "sh", sys.executable, tap, capture,
             *ON_ONE_PROCESSOR, WIREPROOF, "carry", self.path("file.bin"), "--protocol", "sp-am", "--json", *options],
            cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        run = json.loads(done.stdout)["runs"][0]
        self.assertTrue(run["verified"])
        return run, capture


# Captures that a test writes.

def block(kind, body):
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def option(code, text):
    return struct.pack("<HH", code, len(text)) + text + bytes(-len(text) % 4)


def pcapng(frames, link_type=LINKTYPE_ETHERNET, names=("lo",)):
    """`frames`: bytes, or (bytes, length on the wire), or (bytes, length, number of the interface)."""
    file = block(0x0A0D0D0A, struct.pack("<IHHQ", 0x1A2B3C4D, 1, 0, 2 ** 64 - 1))
    for name in names:
        file += block(1, struct.pack("<HHI", link_type, 0, 0) + option(2, name.encode()) + option(0, b""))
    for at, frame in enumerate(frames):
        frame = frame if isinstance(frame, tuple) else (frame, len(frame))
        captured, length, interface = (*frame, 0)[:3]
        file += block(6, struct.pack("<IIIII", interface, 0, at, len(captured), length) + captured)
    return file


def packets_of(file):
    """The packets of a capture that `ladder` or loopback_capture.py has written: (interface, bytes)."""
    data = pathlib.Path(file).read_bytes()
    if data[:4] == b"\xd4\xc3\xb2\xa1":
        at = 24
        while at < len(data):
            size = struct.unpack_from("<I", data, at + 8)[0]
            yield 0, data[at + 16:at + 16 + size]
            at += 16 + size
        return
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            interface, _, _, size = struct.unpack_from("<IIII", data, at + 8)
            yield interface, data[at + 28:at + 28 + size]
        at += length


def udp(payload, source=7001, destination=7000, length=None):
    """An Ethernet frame with IPv4 and UDP, from 10.0.0.1 if its port is the higher one. `length`: the bytes of the
    payload that the headers promise."""
    size = len(payload) if length is None else length
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + size, 0, 0, 64, 17, 0)
    ip += b"\x0a\0\0\1\x0a\0\0\2" if source > destination else b"\x0a\0\0\2\x0a\0\0\1"
    return bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHH", source, destination, 8 + size, 0) + payload


CRC32C = []
for octet in range(256):
    for _ in range(8):
        octet = octet >> 1 ^ (0x82F63B78 if octet & 1 else 0)
    CRC32C.append(octet)


def crc32c(data):
    state = 0xFFFFFFFF
    for octet in data:
        state = state >> 8 ^ CRC32C[(state ^ octet) & 255]
    return state ^ 0xFFFFFFFF


def am_packet(kind, number=0, data=b"", channel=0, cookie=0x77, round_=0, count=0, acks=(0, 0), id_=1, offset=0,
              dst=1, src=0, filler=0):
    """A packet of SP Active Messages in the ethernet layout, without its filler."""
    head = struct.pack("<HHBBHQIIIIQ", dst, src, kind | channel << 4, round_, count, cookie, number, *acks, id_, offset)
    body = head + bytes(4) + struct.pack("<I", filler) + data
    return head + struct.pack("<II", crc32c(body), filler) + data
