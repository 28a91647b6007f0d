#!/usr/bin/env python3
"""Processes of one host share memory. Two hosts are two network namespaces in this test.

usage: verbs_hosts_test.py FOLDER_OF_THE_LIBRARY [unittest options]
"""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import verbs_programs
from published import counters_of
from verbs_programs import LIMIT, SELDOM, converse, counted_until, counted_when, end, environment, listens, start, start_server

PROGRAMS = "ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ib_send_bw ib_write_bw".split()
BOTH = ({}, {"WIREPROOF_VERBS_NO_SHM": "1"})
FOR_EVER = ["-D", "3600"]  # seconds
PERFTEST_PORT = 18515


def setUpModule():
    verbs_programs.set_up(FOLDER, PROGRAMS, "ibverbs-utils or perftest")


def tearDownModule():
    verbs_programs.tear_down()


def sends(*sides):
    """The last of these sides, the client, has begun to send."""
    return sides[-1].get("counters.port_xmit_packets", 0) > 1000


class OneHost(unittest.TestCase):
    def check(self, ends):
        for code, output in ends:
            self.assertEqual(code, 0, output)

    def start_pair(self, command, env):
        server, port = start_server(command, env)
        self.addCleanup(end, server)
        client = start([*command, "-p", str(port), "127.0.0.1"], env)
        self.addCleanup(end, client)
        return server, client

    def test_pingpongs_run_with_and_without_shared_memory(self):
        for kind in ("rc", "uc", "ud"):
            for more in BOTH:
                with self.subTest(kind, **more):
                    self.check(converse([f"ibv_{kind}_pingpong", "-g", "1"], environment(**more)))

    def test_unreliable_connections_lose_nothing_through_memory(self):
        """The server waits for each message, so it would not end if one were lost."""
        # There are 512 receives from the beginning, so each message finds one however late the server runs.
        self.check(converse(["ib_send_bw", "-x", "1", "-F", "-c", "UC", "-n", "500"]))

    def test_packets_go_through_memory_unless_it_is_switched_off(self):
        for more in BOTH:
            with self.subTest(**more):
                _, client = counted_until(["ib_send_bw", "-x", "1", "-F", *FOR_EVER], environment(**more), sends)
                self.assertEqual(client["shared.frames_sent"], 0 if more else client["counters.port_xmit_packets"])

    def test_a_killed_peer_ends_the_connection_and_leaves_nothing(self):
        for more in BOTH:
            with self.subTest(**more):
                server, client = self.start_pair(["ib_send_bw", "-x", "1", "-F", *FOR_EVER], environment(**more))
                counted_when([client], sends)
                server.kill()
                server.communicate()
                output, _ = client.communicate(timeout=LIMIT)
                self.assertNotEqual(client.returncode, 0, output)
                self.assertIn("status 12", output)  # IBV_WC_RETRY_EXC_ERR
        self.assertEqual([name for name in os.listdir("/dev/shm") if "wireproof" in name], [])

    def test_a_stopped_peer_goes_on_when_it_is_continued(self):
        """It is stopped for much longer than all retries last, 0.1 s with this timeout."""
        for more in BOTH:
            with self.subTest(**more):
                server, client = self.start_pair(["ib_send_bw", "-x", "1", "-F", "-u", "10", *FOR_EVER], environment(**more))
                counted_when([client], sends)
                server.send_signal(signal.SIGSTOP)
                time.sleep(1)
                [before] = counted_when([client], sends)
                server.send_signal(signal.SIGCONT)
                name = "counters.port_xmit_packets"
                counted_when([client], lambda now: now[name] > before[name] + 10_000)


class TwoUsers(unittest.TestCase):
    def test_they_share_no_memory(self):
        """Root does not share memory with other users, either."""
        if os.geteuid() != 0:
            raise unittest.SkipTest("programs of two users are run by root")
        command = ["ib_send_bw", "-x", "1", "-F", *FOR_EVER]
        for user in ("65533", "0"):
            with self.subTest(user):
                server, port = start_server(command)
                self.addCleanup(end, server)
                client = subprocess.Popen(
                    ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command,
                     "-p", str(port), "127.0.0.1"],
                    env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.addCleanup(end, client)
                [counters] = counted_when([client], sends)
                self.assertEqual(counters["shared.frames_sent"], 0)


class TwoHosts(unittest.TestCase):
    """1 % of the packets is lost in each direction."""

    def setUp(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("network namespaces are made by root")
        for tool in ("ip", "nft"):
            if shutil.which(tool) is None:
                raise unittest.SkipTest(f"{tool} is not installed")
        self.hosts = [f"wp{os.getpid()}{side}" for side in "ab"]
        for host in self.hosts:
            made = subprocess.run(["ip", "netns", "add", host], capture_output=True, text=True)
            if made.returncode != 0:
                raise unittest.SkipTest(f"no network namespace can be made: {made.stderr}")
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", host], check=True)
        self.ip("link", "add", "va", "netns", self.hosts[0], "type", "veth", "peer", "name", "vb",
                "netns", self.hosts[1])
        for host, link, address in zip(self.hosts, ("va", "vb"), ("10.91.0.1", "10.91.0.2")):
            self.ip("-n", host, "address", "add", f"{address}/24", "dev", link)
            self.ip("-n", host, "link", "set", link, "up")
            self.ip("-n", host, "link", "set", "lo", "up")
            self.lose(host)

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True)

    def lose(self, host):
        rules = "table ip loss { chain come { type filter hook input priority 0; " \
                "udp dport 4791 numgen random mod 100 0 drop; }\n}\n"
        subprocess.run(["ip", "netns", "exec", host, "nft", "-f", "-"], input=rules, text=True, check=True)

    def start(self, host, command):
        address = f"10.91.0.{host + 1}"
        return subprocess.Popen(["ip", "netns", "exec", self.hosts[host],
                                 *verbs_programs.as_user(command)], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env=environment(WIREPROOF_VERBS_ADDRESS=address))

    def start_both(self, command):
        """Starts a program of perftest at both hosts. Returns the server and the client."""
        server = self.start(0, command)
        self.addCleanup(end, server)
        limit = time.monotonic() + LIMIT
        while not listens(PERFTEST_PORT, server.pid):  # perftest's client would end
            self.assertTrue(server.poll() is None and time.monotonic() < limit, "no server")
            time.sleep(0.01)
        client = self.start(1, [*command, "10.91.0.1"])
        self.addCleanup(end, client)
        return server, client

    def test_reliable_connections_end_right(self):
        for program in ("ib_send_bw", "ib_write_bw"):
            with self.subTest(program):
                # A timeout of a second: all retries last longer than a process waits for a processor.
                for side in reversed(self.start_both([program, "-x", "1", "-F", "-n", "500", "-s", "16384", "-u", "18"])):
                    output, _ = side.communicate(timeout=LIMIT)
                    self.assertEqual(side.returncode, 0, output)

    def counted(self, reached):
        """The counters of the client of a stream as soon as `reached` is true for them."""
        sides = self.start_both(["ib_write_bw", "-x", "1", "-F", "-s", "65536", "-u", SELDOM, *FOR_EVER])
        [counters] = counted_when(sides[1:], reached)
        for side in sides:
            end(side)
        return counters

    def filter(self, rules):
        """These rules instead of the loss, for what arrives at either host."""
        for host in self.hosts:
            subprocess.run(["ip", "netns", "exec", host, "nft", "-f", "-"], text=True, check=True,
                           input=f"flush ruleset\n{rules}")

    def test_the_sender_learns_of_the_marks_of_a_router(self):
        """RC-36: the rule marks only packets whose sender answers marks."""
        self.filter("table ip marks { chain come { type filter hook prerouting priority -150; "
                    "udp dport 4791 ip ecn ect0 numgen random mod 50 0 ip ecn set ce; }\n}\n")
        self.counted(lambda client: client["hw_counters.rp_cnp_handled"] > 0)

    def test_lost_packets_are_repaired_before_the_answer_timeout(self):
        """RC-34: without congestion control, every 7th to 13th repair waits for the answer timeout. Here that is 34 s."""
        counters = self.counted(lambda client: client.sum_of("went_back") + client.sum_of("silences") > 300)
        self.assertIn("path", [value for name, value in counters.items() if name.endswith(".congestion_control")])
        self.assertEqual(counters.sum_of("timeouts"), 0)


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
