#!/usr/bin/env python3
"""Writes the seed corpus: inputs that use everything that a target understands. libFuzzer varies them.

The source of each target says what its bytes mean. Run this program again after a change there.
"""

import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"
SP2, ETHERNET = 0, 1
CONFIGS = {"gbn_tiny": 0, "gbn": 4 + 8, "selective_tiny": 3 + 8, "selective": 3 + 4, "mixed": 1 + 4}


def write(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(bytes(data))


# decode_am: packets as on the wire, and addresses.

def packet(layout, kind, data=b"", count=0, cookie=0x0123456789ABCDEF, number=0xFFFE, offset=0):
    head = struct.pack("<HHBBHQ", 1, 0, kind | 0x40, 3, count, 0 if kind == 9 else cookie)
    if layout == SP2:
        return head + struct.pack("<HHHHII", number, 7, 9, 2, offset, 0) + data
    return head + struct.pack("<IIIIQII", number, 7, 9, 2, offset, 0, 0) + data


def decode_corpus():
    bodies = {
        "request": (1, bytes(range(16)), 4),
        "reply": (2 | 0x10, bytes(12), 3),
        "chunk": (3 | 0x10, bytes(100), 5),
        "open": (4, struct.pack("<QQII", 0x1000, 8064, 9, 5), 0),
        "get": (5, struct.pack("<QQ", 0x1000, 8064), 0),
        "ack": (6, b"", 0),
        "nack": (7, struct.pack("<II", 9, 12) + b"\xf5\x01", 16),
        "keepalive": (8 | 0x10, b"", 0),
        "hello": (9, struct.pack("<QQQQ", 5, 6, 7, 8), 1),
    }
    for name, (kind, data, count) in bodies.items():
        for layout, width in ((SP2, "sp2"), (ETHERNET, "ethernet")):
            write("decode_am", f"{name}_{width}", packet(layout, kind, data, count))
    for name, text in {"ipv4": "127.0.0.1:7000", "ipv6": "[fe80::1%1]:7000"}.items():
        write("decode_am", name, text.encode())


# decode_link: frames as on the wire.

def link_corpus():
    for name, text in {
            "ack": "5c0000002afbbcfd", "nak": "5c10000fffcecffd", "init_fc": "5c400801004b75fd",
            "tlp": "fb0005600080010000000f" + "00" * 8 + "deadbeef" + "00" * 8 + "fd",
            "ue_ack": "4b01003846000000", "ue_init": "4b03000016efbe00",
            "ue_frame": "fb170384555555d5" + "02" + "00" * 5 + "02" + "00" * 5 + "88b50005" + "00" * 50,
            "cxl_idle": "d2d2" + "0100000001" + "00" * 59 + "41c3",
            "cxl_request": "d2d2" + "0100000011000000" + "0500010000000000" + "00" * 48 + "8fbe",
            "cxl_message": "d2d2" + "083c0000" + "a5" * 60 + "0000", "cxl_training": "bc0301015cae07a2",
            "micropacket": "00" * 40, "datagram": "5101" + "01" * 40,
            "flit": "11" * 9 + "00" * 226 + "09" + "4801" + "00" * 4 + "5a" * 14,
            "ucie_flit": "4211" + "a0a1" + "00" * 61 + "02" + "7777",
            "segment": "18" + "01" * 2 + "00" * 14 + "11" * 8}.items():
        write("decode_link", name, bytes.fromhex(text))


# decode_ib: packets, frames with them, and captures of frames.

def capture(order, *frames):
    file = struct.pack(order + "IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return file + b"".join(struct.pack(order + "IIII", 1, 2, len(f), len(f)) + f for f in frames)


def captureng(order, *frames):
    def block(kind, body):
        body += bytes(-len(body) % 4)
        length = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + length + body + length
    file = block(0x0A0D0D0A, struct.pack(order + "IHHQ", 0x1A2B3C4D, 1, 0, 2 ** 64 - 1))
    file += block(1, struct.pack(order + "HHIHHI", 1, 0, 0, 9, 1, 9) + bytes(4))
    for f in frames:
        file += block(6, struct.pack(order + "IIIII", 0, 1, 2, len(f), len(f)) + f)
        file += block(3, struct.pack(order + "I", len(f)) + f)
    return file


def ib_corpus():
    packets = {
        "send": "0230ffff0000003e80000002d8000000",
        "write": "0b20ffff0000003f8000000200007f012b0970400000567c00000006c0de0005424950575e650000",
        "ack": "1100ffff00000047" "00fffffb32000001",
        "atomic": "1300ffff0000005f8032351f0000557184a9d00000008e66" + "00" * 16,
        "atomic_ack": "1200ffff0000005f0032351f1f000001a2b4abefa0840159",
        "datagram": "6400ffff0000000180000003800100000000000101070102"}
    for name, text in packets.items():
        write("decode_ib", name, bytes.fromhex(text))
    native = "7012375c000e17d20a2024870087b1b3000dec2a01710a1c015d400238f27a050000000e" \
             "bb884d85fd5cfba4728bc0690ed400009625b75a45fa"
    write("decode_ib", "native", bytes.fromhex(native))
    for name, attribute in {"req": 0x10, "mra": 0x11, "rej": 0x12, "rep": 0x13, "dreq": 0x15,
                            "sidr_req": 0x17, "sidr_rep": 0x18}.items():
        head = bytes([1, 7, 2, 3]) + bytes(12) + struct.pack(">H", attribute)
        write("decode_ib", "cm_" + name, head + bytes(range(1, 239)))
    ipv4 = bytes.fromhex("52" * 12 + "0800"
                         "45010040047840004011b4d5c0a80007c0a80007c00012b7002caca2"
                         "2460ffff000000d300cf17104630818be28935d90e9a95505401be885e50000078f353f3")
    ipv6 = bytes.fromhex("52" * 12 + "81000007" "86dd"
                         "60000000001c1140fe80000000000000505400fffe120002"
                         "fe80000000000000505400fffe120001d32412b7001c0000"
                         "1100ffff0000004600fffffc1f000001d6f335c9")
    write("decode_ib", "ipv4", ipv4)
    write("decode_ib", "ipv6", ipv6)
    for name, order in (("little", "<"), ("big", ">")):
        write("decode_ib", "pcap_" + name, capture(order, ipv4, ipv6))
        write("decode_ib", "pcapng_" + name, captureng(order, ipv4, ipv6))


# inspect: the captures of the tests.

def inspect_corpus():
    data = pathlib.Path(__file__).parent.parent / "tests" / "data"
    for file in sorted((data / "inspect").glob("*.pcap")):
        write("inspect", file.stem, file.read_bytes())
    for name in ("rc_atomic", "rc_rnr", "rc_ipv6", "uc_drop_middle.at_server", "rping_rdmacm"):
        write("inspect", name, (data / "rocev2" / (name + ".pcap")).read_bytes())


# drive_link: byte 0 chooses the engine and its configuration. Turns follow: submit, send, arrive,
# lose, damage, time.

def drive_link_corpus():
    clean = bytes([0, 20, 1, 0, 33, 1, 3, 1, 3, 9, 11, 6, 20, 9, 11])
    lossy = bytes([0, 20, 0, 40, 1, 4, 1, 3, 9, 11, 5, 9, 1, 6, 21, 1, 3, 6, 25, 1, 3, 11])
    reset = bytes([0, 5, 1, 7, 1, 1, 1, 3, 9, 11])
    forged = bytes([7, 2, 8]) + bytes.fromhex("5c0000002afbbcfd") + bytes([1, 3, 6, 22])
    # Frames with right checks, of both ends: an Ack or TLP, a unit, flits, a frame or CtlOS, RETRY flits.
    sealed = {
        "pcie": "0500000000", "hippi": "0880fe0000000000" + "07" * 12, "flit": "4801" + "05" + "a5" * 5,
        "ue": "feff0f000003a5", "cxl": "0100000011000000" + "0500010000000000"}
    # The place of the engine in the list of links: bit 0, then bits 6 and 7.
    for engine, place in (("pcie", 0), ("hippi", 1), ("flit", 64), ("ue", 65), ("cxl", 128)):
        for shape, choice in (("plain", 0), ("small", 16), ("credits", 32), ("forged", 8)):
            for name, turns in (("clean", clean), ("lossy", lossy), ("reset", reset),
                                ("strange", forged)):
                write("drive_link", f"{engine}_{shape}_{name}", bytes([choice + place]) + turns * 3)
        wish = bytes.fromhex(sealed[engine])
        both = b"".join(bytes([op, 2, 64 + len(wish)]) + wish for op in (7, 15))
        for choice in (8, 10, 12, 24, 40):
            write("drive_link", f"{engine}_sealed_{choice}", bytes([choice + place]) + both * 2 + clean + both)


# receive_am: byte 0 chooses the configuration. Turns follow.

REQ, REP, CHUNK, OPEN, GET_REQ, ACK, NACK, KEEPALIVE, HELLO = range(9)


def forged(kind, number=0, acks=0, ident=1, place=0, shape=0, body=(), on_reply=False):
    """A turn with a frame that decodes. `number` counts from the expected number."""
    if on_reply:  # a byte with its top bit set that is the same kind modulo 9
        kind = next(byte for byte in range(0x80, 0x100) if byte % 9 == kind)
    return bytes([1, kind, 0, 16 + number, acks, ident, place, shape, *body])


def receive_corpus():
    mood = bytes([7, 0x20 | 7])  # replies to all
    chunk = 32
    conversation = [
        mood,
        forged(REQ, shape=8), forged(REQ, shape=0), forged(REQ, number=1, shape=4),
        forged(OPEN, ident=0, shape=16, body=(0, 9)),  # 64 bytes: two packets
        forged(CHUNK, ident=0, place=0 + 32 * 1, shape=chunk),
        forged(CHUNK, ident=0, place=1 + 32 * 1, shape=chunk),
        forged(GET_REQ, ident=0, shape=16, body=(0,)),
        forged(ACK, acks=0x11),
        forged(KEEPALIVE), forged(KEEPALIVE, on_reply=True),
        forged(NACK, shape=3, body=(3,)), forged(NACK, shape=3, body=(3,), on_reply=True),
    ]
    transfers = [
        bytes([5, 1, 40]), bytes([5, 2, 10]), bytes([5, 0, 3]),  # a store, a get, a request
        bytes([6, 14]),
        forged(REP, ident=0, shape=2, body=(0, 1)),  # refuses the store
        forged(CHUNK, ident=0, place=0 + 32 * 1, shape=chunk, on_reply=True),
        forged(CHUNK, ident=0, place=1 + 32 * 1, shape=8, on_reply=True),
        forged(OPEN, ident=1, shape=10, body=(0, 9)),  # 40 bytes: two packets
        forged(CHUNK, ident=1, place=0 + 32 * 1, shape=chunk),
        forged(CHUNK, ident=1, place=1 + 32 * 1, shape=8),
        forged(REP, ident=2, shape=8),
        bytes([7, 4]), bytes([7, 0]), bytes([6, 23]), bytes([7, 2]),
        forged(HELLO, shape=1, body=(3,)), forged(HELLO, shape=0, body=(3,), place=1),
    ]
    early = [
        forged(CHUNK, number=1, ident=0, place=1 + 32 * 1, shape=chunk),
        forged(CHUNK, number=1, ident=0, place=0 + 32 * 1, shape=chunk),
        forged(OPEN, ident=0, shape=16, body=(0, 9)),
        forged(REQ, number=3, shape=4), forged(REQ, number=2, shape=4), forged(REQ, shape=4),
    ]
    raw = packet(SP2, 1, bytes(8), 2)
    for name, choice in CONFIGS.items():
        write("receive_am", name, bytes([choice]) + b"".join(conversation + transfers + early))
    write("receive_am", "raw", bytes([0, 0, 7, len(raw)]) + raw + bytes([8, 0, 3]) + b"abc")


# drive_am: byte 0 chooses the configuration. Turns follow; bit 7 names the node.

B = 0x80
REQUEST, STORE, GET, SEND_ALL, SEND_ONE, DELIVER, PICK, LOSE, REPEAT, DAMAGE, DELIVER_ALL, TIME, \
    DEADLINE, OTHER = 0, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15


def drive_corpus():
    perfect = [SEND_ALL, B | DELIVER_ALL, B | SEND_ALL, DELIVER_ALL]
    lossy = [SEND_ALL, B | LOSE, 1, B | REPEAT, 0, B | PICK, 3, B | DAMAGE, 0, B | DELIVER_ALL,
             B | SEND_ALL, LOSE, 0, DELIVER_ALL, DEADLINE]
    posts = [REQUEST, 1, REQUEST, 4, REQUEST, 8, STORE, 0x70, GET, 0x32, STORE, 0xFF, GET, 0x3F,
             B | REQUEST, 25, B | STORE, 0x3E, B | GET, 0x40, STORE, 0x00]
    odds = [OTHER, 1, B | OTHER, 2, OTHER, 128, TIME, 12, B | SEND_ONE, SEND_ONE]
    for name, choice in CONFIGS.items():
        write("drive_am", name, [choice] + perfect + (posts + lossy + odds) * 3 + perfect)
    write("drive_am", "windows", [4] + [REQUEST, 1, B | REQUEST, 1] * 20 + lossy * 3)


# receive_ib: byte 0 chooses the configuration. Turns follow, most of them packets of a peer.

def ib_packet(which, operation, psn, place=0, to=40, length=8, flags=1, syndrome=0x1F, payload=None):
    size = [] if payload is None else [payload]
    return [1, which, operation, psn + 4, flags, place, to & 255, to >> 8, length & 255, length >> 8, 5, syndrome, 1,
            5] + size


def receive_ib_corpus():
    UC, RC, UD = 0, 1, 3
    POST, TIME, SEND = 5, 6, 7
    receives = [POST, UC, 0x40, 0, 0x80, POST, RC, 0x40, 0, 0x80, POST, UD, 0x40, 0, 0x80] * 4
    for name, choice in {"plain": 0, "behind": 1, "credits": 3}.items():
        messages = []
        for which in (UC, RC):
            messages += ib_packet(which, 0, 0, flags=9) + ib_packet(which, 2, 1, payload=20)
            messages += ib_packet(which, 6, 2, length=300, flags=9) + ib_packet(which, 9, 3, payload=44)
            messages += ib_packet(which, 10, 4, length=0, payload=0) + ib_packet(which, 1, 9, flags=8)
        write("receive_ib", "messages_" + name, [choice] + receives + messages + [SEND, 15])
        reads = ib_packet(RC, 12, 0, length=600 % 400) + ib_packet(RC, 12, 0, length=600 % 400)
        reads += ib_packet(RC, 0x14, 1, flags=4) * 2 + ib_packet(RC, 0x13, 2, place=2, to=200, flags=4)
        write("receive_ib", "reads_" + name, [choice] + reads + [SEND, 15])
        asks = []
        for request in (0, 3, 5, 7, 6, 1):
            asks += [POST, RC, request, request * 16, 0x40, SEND, 3]
        answers = ib_packet(RC, 0x11, 0) + ib_packet(RC, 0x11, 3, syndrome=0x60) + [SEND, 15]
        answers += ib_packet(RC, 0x10, 2, payload=128) + ib_packet(RC, 0x12, 3)
        answers += ib_packet(RC, 0x11, 5, syndrome=0x21) + [TIME, 10, SEND, 15, TIME, 200, SEND, 15]
        write("receive_ib", "answers_" + name, [choice] + asks + answers)
    datagrams = ib_packet(UD, 4, 0, payload=60) + ib_packet(UD, 5, 1, payload=200)
    write("receive_ib", "datagrams", [0] + receives + datagrams)


# receive_peer: turns of the device (0) and of the other process (1), each with its action.

def receive_peer_corpus():
    device, other = lambda *turn: [0, *turn], lambda *turn: [1, *turn]
    looks, calls, sends, judges, sleeps = device(0, 2), device(2), device(3), device(4), device(5)
    connects, hears = other(0), other(5)
    life, address, nothing, pair, segment = 7, 1, 0, 1, 2
    hello = other(2, 67, life, address, pair)  # with memory
    welcome = other(2, 68, life, address, nothing)
    offers, takes = other(4, 0, segment), other(4, 1, nothing)
    packets = other(6, 48, 0, 20, *range(20)) + other(6, 200, 16, 60, *range(60)) + other(6, 0, 0, 0)
    words = other(7, 12, 0, 5, 0) + other(7, 28, 255, 255, 9) + other(7, 14, 255, 127, 255, 255, 3)
    heads = other(7, 8, 40, 0) + sends * 3 + other(7, 25, 1, 0) + sends + other(7, 0, 1, 0) + sleeps
    ends = judges + sleeps + other(10) + other(9, 1) + looks * 2 + other(9, 0) + looks
    called = connects + hello + looks * 2 + offers + looks * 3
    calling = calls + hears * 2 + welcome + looks * 2 + hears + takes + looks * 2
    for name, begins in {"called": called, "calling": calling}.items():
        write("receive_peer", name, begins + (packets + looks) * 2 + sends + ends)
        write("receive_peer", name + "_words", begins + packets + looks + words + looks + heads + looks + ends)
        write("receive_peer", name + "_crossing", calls + begins + connects + hello + looks * 2 + packets + looks + ends)
    strange = []
    for descriptor in range(10):
        strange += connects + other(2, 67, descriptor, address, descriptor) + looks * 2 + other(3, 4, 5, 0, 0, 0, descriptor)
    write("receive_peer", "descriptors", strange + looks)
    write("receive_peer", "messages", connects + other(1, 48, *range(48), 0) + looks + called + other(2, 65, 7, 1, 0) * 3 + looks)


decode_corpus()
link_corpus()
receive_peer_corpus()
ib_corpus()
inspect_corpus()
receive_ib_corpus()
drive_link_corpus()
receive_corpus()
drive_corpus()
