"""Shared by measurements between hosts. Two network namespaces are two hosts, joined by a pair of veth devices or by a
shaped link. Each packet of MTU 1500 travels alone, since segmentation offload is off."""
import atexit
import json
import os
import pathlib
import select
import subprocess

from peers_in_turns import Absent, Link, PATIENCE, need, run

made = 0


def tcp_controls():
    """The congestion controls of TCP that this kernel has."""
    return pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def need_tcp(control):
    if control not in tcp_controls():
        raise Absent(f"this kernel has no congestion control {control} for TCP")


class Hosts(Link):
    """Two hosts, made at the first use. Each loses the given share of the packets that come in."""
    server = "192.0.2.2"
    client = "192.0.2.1"
    device = "wp0"
    tools = ("ip", "nft", "ethtool")
    offloads = ("tso", "gso", "gro", "tx-udp-segmentation")  # that are switched off

    def __init__(self, loss=0.0):
        global made
        made += 1
        self.loss = loss
        self.ends = [f"hosts-{os.getpid()}-{made}-{end}" for end in "ab"]
        self.spaces = []  # that exist

    def near(self, command):
        self.make()
        return ["ip", "netns", "exec", self.ends[0], *command]

    def far(self, command):
        self.make()
        return ["ip", "netns", "exec", self.ends[1], *command]

    def make(self):
        if self.spaces:
            return
        if os.geteuid() != 0:
            raise RuntimeError("network namespaces need root")
        need(*self.tools)
        atexit.register(self.unmake)
        try:
            self.set_up()
        except (RuntimeError, OSError):
            self.unmake()
            raise

    def set_up(self):
        for end in self.ends:
            self.add_space(end)
        self.join()
        for end, address in zip(self.ends, (self.client, self.server)):
            run(["ip", "-n", end, "addr", "add", f"{address}/24", "dev", "wp0"])
            run(["ip", "-n", end, "link", "set", "lo", "up"])
            self.start_device(end, "wp0")
            inside = ["ip", "netns", "exec", end]
            # TCP would start with what it learned in an earlier round. Its buffers must hold a long link.
            for name, value in (("no_metrics_save", "1"), ("rmem", "4096 131072 67108864"), ("wmem", "4096 131072 67108864")):
                run([*inside, "sh", "-c", f"echo {value} >/proc/sys/net/ipv4/tcp_{name}"])
            if self.loss:
                run([*inside, "nft", "add table inet lossy; "
                     "add chain inet lossy in { type filter hook input priority 0 ; }; "
                     'add rule inet lossy in iifname "wp0" meta l4proto { tcp, udp } '
                     f"numgen random mod 100000 < {round(self.loss * 100000)} drop"])

    def add_space(self, name):
        run(["ip", "netns", "add", name])
        self.spaces.append(name)

    def join(self):
        a, b = self.ends
        run(["ip", "-n", a, "link", "add", "wp0", "mtu", "1500", "type", "veth", "peer", "name", "wp0", "mtu", "1500", "netns", b])

    def start_device(self, space, device):
        off = [word for offload in self.offloads for word in (offload, "off")]
        run(["ip", "netns", "exec", space, "ethtool", "-K", device, *off])
        run(["ip", "-n", space, "link", "set", device, "up"])

    def unmake(self):
        for space in self.spaces:
            subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL, check=False)
        self.spaces = []


class ShapedHosts(Hosts):
    """Between the hosts, bench/shaped_link limits the rate, delays, and has a queue that drops at its tail."""
    tools = ("ip", "ethtool")
    offloads = ("tx", *Hosts.offloads)  # the link carries packets as they are, so it needs their checksums

    def __init__(self, program, megabits, round_trip, queue):
        super().__init__()
        self.program = program
        self.megabits = megabits
        self.round_trip = round_trip  # milliseconds, without a queue
        self.queue = queue  # round trips
        self.link = None

    @property
    def bytes_per_s(self):
        return self.megabits * 125_000

    def join(self):
        middle = self.ends[0][:-1] + "link"
        self.add_space(middle)
        for end, device in zip(self.ends, ("wp1", "wp2")):
            run(["ip", "-n", end, "link", "add", "wp0", "mtu", "1500", "type", "veth", "peer", "name", device, "mtu", "1500",
                 "netns", middle])
            self.start_device(middle, device)
        product = self.bytes_per_s * self.round_trip / 1000
        self.link = subprocess.Popen(
            ["ip", "netns", "exec", middle, self.program, "wp1", "wp2", str(self.megabits), str(self.round_trip * 500),
             str(round(product * self.queue))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, bufsize=1)
        self.read()

    def read(self):
        ready, _, _ = select.select([self.link.stdout], [], [], PATIENCE)
        line = self.link.stdout.readline() if ready else ""
        if not line:
            self.link.kill()
            raise RuntimeError(self.link.stderr.read().strip() or "shaped_link does not answer")
        return json.loads(line)

    def counters(self):
        """What the link has carried so far: seconds, byte seconds waited, packets dropped, bytes by destination port."""
        self.link.stdin.write("\n")
        return self.read()

    def unmake(self):
        if self.link:
            self.link.kill()
            self.link.communicate()
            self.link = None
        super().unmake()
