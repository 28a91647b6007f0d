#!/usr/bin/env python3
"""Processes of one host share memory. Two hosts are two network namespaces in this test.

usage: verbs_hosts_test.py FOLDER_OF_THE_LIBRARY [unittest options]
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import verbs_programs
from published import counters_of
from verbs_programs import LIMIT, converse, end, environment, free_port, run, start, start_server

PROGRAMS = "ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ib_send_bw ib_write_bw".split()
BOTH = ({}, {"WIREPROOF_VERBS_NO_SHM": "1"})


def setUpModule():
    verbs_programs.set_up(FOLDER, PROGRAMS, "ibverbs-utils or perftest")


def tearDownModule():
    verbs_programs.tear_down()


def wait_until(holds, what):
    limit = time.monotonic() + LIMIT
    while not holds():
        if time.monotonic() > limit:
            raise AssertionError(f"never: {what}")
        time.sleep(0.05)


def number(process, name):
    return counters_of(process.pid).get(name, 0)


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
        self.check(converse(["ib_send_bw", "-x", "1", "-F", "-c", "UC"]))

    def test_packets_go_through_memory_unless_it_is_switched_off(self):
        for more in BOTH:
            with self.subTest(**more):
                server, client = self.start_pair(["ib_send_bw", "-x", "1", "-F", "-D", "3"], environment(**more))
                wait_until(lambda: number(client, "counters.port_xmit_packets") > 1000, "packets")
                counters = counters_of(client.pid)
                all_packets = counters["counters.port_xmit_packets"]
                self.assertEqual(counters["shared.frames_sent"], 0 if more else all_packets)
                for process in (client, server):
                    output, _ = process.communicate(timeout=LIMIT)
                    self.assertEqual(process.returncode, 0, output)

    def test_a_killed_peer_ends_the_connection_and_leaves_nothing(self):
        for more in BOTH:
            with self.subTest(**more):
                server, client = self.start_pair(["ib_send_bw", "-x", "1", "-F", "-D", "60"], environment(**more))
                wait_until(lambda: number(client, "counters.port_xmit_packets") > 1000, "packets")
                server.kill()
                server.communicate()
                output, _ = client.communicate(timeout=LIMIT)
                self.assertNotEqual(client.returncode, 0, output)
                self.assertIn("status 12", output)  # IBV_WC_RETRY_EXC_ERR
        self.assertEqual([name for name in os.listdir("/dev/shm") if "wireproof" in name], [])

    def test_a_stopped_peer_goes_on_when_it_is_continued(self):
        for more in BOTH:
            with self.subTest(**more):
                server, client = self.start_pair(["ib_send_bw", "-x", "1", "-F", "-D", "6"], environment(**more))
                wait_until(lambda: number(client, "counters.port_xmit_packets") > 1000, "packets")
                server.send_signal(signal.SIGSTOP)
                time.sleep(3)
                server.send_signal(signal.SIGCONT)
                for process in (client, server):
                    output, _ = process.communicate(timeout=LIMIT)
                    self.assertEqual(process.returncode, 0, output)


class TwoUsers(unittest.TestCase):
    def test_they_share_no_memory(self):
        """Root does not share memory with other users, either."""
        if os.geteuid() != 0:
            raise unittest.SkipTest("programs of two users are run by root")
        command = ["ib_send_bw", "-x", "1", "-F", "-D", "2"]
        for user in ("65533", "0"):
            with self.subTest(user):
                server, port = start_server(command)
                self.addCleanup(end, server)
                client = subprocess.Popen(
                    ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command,
                     "-p", str(port), "127.0.0.1"],
                    env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.addCleanup(end, client)
                wait_until(lambda: number(client, "counters.port_xmit_packets") > 1000, "packets")
                self.assertEqual(number(client, "shared.frames_sent"), 0)
                for process in (client, server):
                    output, _ = process.communicate(timeout=LIMIT)
                    self.assertEqual(process.returncode, 0, output)


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

    def run_both(self, command):
        """Runs a program of perftest at both hosts. Returns the output of the client, and its counters while it ran."""
        server = self.start(0, command)
        self.addCleanup(end, server)
        # perftest's client ends if the server does not listen yet.
        limit = time.monotonic() + LIMIT
        while True:
            client = self.start(1, [*command, "10.91.0.1"])
            self.addCleanup(end, client)
            counters = {}
            while client.poll() is None and time.monotonic() < limit:
                counters = counters_of(client.pid) or counters
                time.sleep(0.1)
            output, _ = client.communicate(timeout=LIMIT)
            if "Couldn't connect" not in output or time.monotonic() > limit:
                break
        self.assertEqual(client.returncode, 0, output)
        output_of_server, _ = server.communicate(timeout=LIMIT)
        self.assertEqual(server.returncode, 0, output_of_server)
        return output, counters

    def test_reliable_connections_end_right(self):
        for program in ("ib_send_bw", "ib_write_bw"):
            with self.subTest(program):
                self.run_both([program, "-x", "1", "-F", "-n", "500", "-s", "16384"])

    def rate(self):
        """MB/s of ib_write_bw, and the counters of the client while it runs."""
        output, counters = self.run_both(["ib_write_bw", "-x", "1", "-F", "-D", "2", "-s", "65536"])
        return float(re.search(r"^ *65536 +\d+ +[\d.]+ +([\d.]+)", output, re.M)[1]), counters

    def filter(self, rules):
        """These rules instead of the loss, for what arrives at either host."""
        for host in self.hosts:
            subprocess.run(["ip", "netns", "exec", host, "nft", "-f", "-"], text=True, check=True,
                           input=f"flush ruleset\n{rules}")

    def test_the_sender_learns_of_the_marks_of_a_router(self):
        """RC-36: the rule marks only packets whose sender answers marks."""
        self.filter("table ip marks { chain come { type filter hook prerouting priority -150; "
                    "udp dport 4791 ip ecn ect0 numgen random mod 50 0 ip ecn set ce; }\n}\n")
        _, counters = self.rate()
        handled = [int(value) for name, value in counters.items() if name.endswith("rp_cnp_handled")]
        self.assertTrue(handled and max(handled) > 0, counters)

    def test_lost_packets_are_repaired_before_the_answer_timeout(self):
        """RC-34: without congestion control, every 7th to 13th repair waits for the answer timeout of 268 ms."""
        rate, counters = self.rate()
        pair = {name.split(".")[2]: value for name, value in counters.items() if name.startswith("queue_pairs.")}
        print(f"ib_write_bw at 1 % of loss in each direction: {rate} MB/s, {pair}")
        self.assertEqual(pair["congestion_control"], "path")
        sent, resent, timeouts = (int(pair[name]) for name in ("sent", "resent", "timeouts"))
        repairs = int(pair["went_back"]) + int(pair["silences"])
        self.assertGreater(repairs, 0)
        self.assertLessEqual(50 * timeouts, repairs)
        # One packet of 100 is lost. The sender then sends a window again, fewer than 100 packets.
        self.assertLess(resent, sent)


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
