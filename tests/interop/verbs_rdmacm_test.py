#!/usr/bin/env python3
"""Unmodified programs that connect by rdma_cm, on the libraries that are built here: Debian's rdmacm-utils and perftest
over Debian's own librdmacm.

usage: verbs_rdmacm_test.py FOLDER_OF_THE_LIBRARY [unittest options]
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import verbs_programs
from verbs_programs import LIMIT, counted_when, end, free_port, run, services, start, wait_for_service
from verbs_programs import hooked as with_hooks

RDMACM = "rping ucmatose udaddy rstream rdma_server rdma_client".split()
PERFTEST = "ib_send_bw ib_write_lat".split()


def setUpModule():
    verbs_programs.set_up(FOLDER, RDMACM + PERFTEST, "rdmacm-utils or perftest")


def tearDownModule():
    verbs_programs.tear_down()


class Sides(unittest.TestCase):
    def setUp(self):
        """A third program takes the first address, so that neither side has 127.0.0.1."""
        port = free_port()
        self.third = start(["rping", "-s", "-P", "-p", str(port)], with_hooks())
        self.addCleanup(end, self.third)
        wait_for_service(port, self.third)

    def server(self, command, port, space="0106"):
        process = start(command, with_hooks())
        self.addCleanup(end, process)
        wait_for_service(port, process, space)
        return process

    def finish(self, process):
        output, _ = process.communicate(timeout=LIMIT)
        return process.returncode, output

    def converse(self, server, client, port, space="0106"):
        """Both sides must succeed. Returns their outputs, the server's first."""
        process = self.server(server, port, space)
        code, output = run(client, with_hooks())
        heard = self.finish(process)
        self.assertEqual(code, 0, f"client: {output}\nserver: {heard}")
        self.assertEqual(heard[0], 0, f"server: {heard[1]}")
        self.assertEqual([name for name in services() if name.endswith(f"-{port}")], [])
        return heard[1], output


class Programs(Sides):
    def test_rping_hears_on_both_sides_what_was_sent(self):
        port = free_port()
        options = ["-p", str(port), "-C", "10", "-v", "-V"]
        server, client = self.converse(["rping", "-s", *options], ["rping", "-c", "-a", "127.0.0.1", *options], port)
        data = re.findall(r"ping data: (.*)", server)
        self.assertEqual(len(data), 10, server)
        self.assertEqual(re.findall(r"ping data: (.*)", client), data)

    def test_rping_with_a_server_at_the_name_of_the_host(self):
        port = free_port()
        options = ["-p", str(port), "-C", "2"]
        self.converse(["rping", "-s", "-a", "127.0.0.1", *options], ["rping", "-c", "-a", "127.0.0.1", *options], port)

    def test_a_server_that_nobody_runs_is_refused(self):
        """The client asks at an address where a program listens to another port, and at one that no program has."""
        port = free_port()
        listening = start(["rping", "-s", "-P", "-p", str(port)], with_hooks(WIREPROOF_VERBS_ADDRESS="127.88.1.2"))
        self.addCleanup(end, listening)
        wait_for_service(port, listening)
        for address in ("127.88.1.2", "127.88.1.3"):
            code, output = run(["rping", "-c", "-a", address, "-p", str(free_port()), "-C", "1"], with_hooks())
            self.assertNotEqual(code, 0)
            self.assertIn("RDMA_CM_EVENT_REJECTED, error 8", output)

    def test_two_servers_of_one_port_are_refused(self):
        port = free_port()
        self.server(["rping", "-s", "-P", "-p", str(port)], port)
        code, output = run(["rping", "-s", "-p", str(port)], with_hooks())
        self.assertNotEqual(code, 0)
        self.assertIn("Address already in use", output)

    def test_ucmatose(self):
        port = free_port()
        options = ["-p", str(port), "-c", "4", "-C", "20"]
        for output in self.converse(["ucmatose", *options], ["ucmatose", *options, "-s", "127.0.0.1"], port):
            self.assertIn("return status 0", output)

    def test_udaddy(self):
        port = 7174  # udaddy has no option for another
        options = ["-c", "2", "-C", "10"]
        for output in self.converse(["udaddy", *options], ["udaddy", *options, "-s", "127.0.0.1"], port, "0111"):
            self.assertIn("return status 0", output)

    def test_rstream(self):
        port = free_port()
        options = ["-p", str(port), "-C", "50", "-S", "4096"]
        _, output = self.converse(["rstream", *options], ["rstream", *options, "-s", "127.0.0.1"], port)
        self.assertRegex(output, r"custom\s+4k\s+50\s+")

    def test_rdma_server(self):
        port = free_port()
        options = ["-p", str(port)]
        server, client = self.converse(["rdma_server", *options], ["rdma_client", *options, "-s", "127.0.0.1"], port)
        self.assertIn("rdma_server: end 0", server)
        self.assertIn("rdma_client: end 0", client)

    def bandwidth(self, *command):
        port = free_port()
        server, client = self.converse([*command, "-R", "-p", str(port)], [*command, "-R", "-p", str(port), "127.0.0.1"],
                                       port)
        self.assertIn("rdma_cm QPs\t : ON", client)
        return client

    def test_ib_send_bw(self):
        """The client may ask for its second connection before the server listens. A refusal would end it."""
        self.assertRegex(self.bandwidth("ib_send_bw", "-n", "200", "-s", "4096"), r"\n 4096\s+200\s")

    def test_ib_send_bw_of_several_queue_pairs(self):
        self.assertRegex(self.bandwidth("ib_send_bw", "-n", "200", "-s", "4096", "-q", "4"), r"\n 4096\s+800\s")

    def test_ib_write_lat(self):
        self.assertRegex(self.bandwidth("ib_write_lat", "-n", "100"), r"\n 2\s+100\s")

    def test_fi_pingpong(self):
        if shutil.which("fi_pingpong") is None:
            self.skipTest("libfabric-bin is not installed")
        port = free_port()
        command = ["fi_pingpong", "-p", "verbs", "-e", "msg", "-I", "10", "-c"]
        server = start([*command, "-B", str(port)], with_hooks())
        self.addCleanup(end, server)
        verbs_programs.wait_for(server, port)
        code, output = run([*command, "-P", str(port), "127.0.0.1"], with_hooks())
        heard = self.finish(server)
        self.assertEqual((code, heard[0]), (0, 0), f"client: {output}\nserver: {heard[1]}")
        self.assertRegex(output, r"(?m)^1m +10 +=10 ")


class Ends(Sides):
    """One side is killed. The other side must learn of it, and no file may remain."""

    def killed(self, kills_server):
        port = free_port()
        options = ["-p", str(port), "-S", "4096"]
        server = self.server(["rping", "-s", *options], port)
        client = start(["rping", "-c", "-a", "127.0.0.1", *options], with_hooks())
        self.addCleanup(end, client)
        counted_when((server, client), lambda *sides: min(side["counters.port_xmit_packets"] for side in sides) > 1000)
        first, other = (server, client) if kills_server else (client, server)
        first.kill()
        first.communicate()
        _, output = self.finish(other)
        # Its work ends with status 12 (the peer no longer answers), or it receives the event before.
        self.assertRegex(output, r"DISCONNECT EVENT|status 12")
        return port

    def test_a_client_whose_server_is_killed_ends(self):
        port = self.killed(kills_server=True)
        # What the killed server left must not prevent another server.
        server = start(["rping", "-s", "-p", str(port), "-C", "1"], with_hooks())
        self.addCleanup(end, server)
        wait_for_service(port, server)
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            code, _ = run(["rping", "-c", "-a", "127.0.0.1", "-p", str(port), "-C", "1"], with_hooks())
            if code == 0:
                break
        self.assertEqual(code, 0)
        self.assertEqual(self.finish(server)[0], 0)

    def test_a_server_whose_client_is_killed_ends(self):
        self.killed(kills_server=False)


class Hosts(unittest.TestCase):
    """Two network namespaces act as two hosts. The network between them loses each hundredth packet."""

    HOSTS = {"left": "198.18.7.1", "right": "198.18.7.2"}

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("takes root to make network namespaces")
        if shutil.which("ip") is None or shutil.which("nft") is None:
            self.skipTest("iproute2 or nftables is not installed")
        self.names = {host: f"wireproof-{host}-{os.getpid()}" for host in self.HOSTS}
        for name in self.names.values():
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
            if made.returncode != 0:
                self.skipTest(f"no network namespaces here: {made.stderr}")
            self.addCleanup(self.check, "ip", "netns", "del", name)
        self.check("ip", "-n", self.names["left"], "link", "add", "e0", "type", "veth", "peer", "name", "e0", "netns",
                   self.names["right"])
        for host, address in self.HOSTS.items():
            self.check("ip", "-n", self.names[host], "address", "add", f"{address}/24", "dev", "e0")
            for device in ("lo", "e0"):
                self.check("ip", "-n", self.names[host], "link", "set", device, "up")

    def check(self, *command):
        subprocess.run(command, check=True, capture_output=True)

    def lose_packets(self):
        rules = """add table inet lossy
add chain inet lossy arriving { type filter hook input priority 0; }
add rule inet lossy arriving udp dport 4791 numgen inc mod 100 == 7 counter drop
"""
        for name in self.names.values():
            lossy = subprocess.run(["ip", "netns", "exec", name, "nft", "-f", "-"], input=rules, text=True,
                                   capture_output=True)
            if lossy.returncode != 0:
                self.skipTest(f"no nftables here: {lossy.stderr}")

    def dropped(self):
        shown = "".join(subprocess.run(["ip", "netns", "exec", name, "nft", "list", "ruleset"], text=True,
                                       capture_output=True).stdout for name in self.names.values())
        return sum(int(packets) for packets in re.findall(r"counter packets (\d+)", shown))

    def start_on(self, host, command, address=None):
        command = ["ip", "netns", "exec", self.names[host], *verbs_programs.as_user(command)]
        process = subprocess.Popen(command, env=with_hooks(WIREPROOF_VERBS_ADDRESS=address or self.HOSTS[host]),
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(end, process)
        return process

    def converse(self, server, client, port):
        first = self.start_on("right", server)
        wait_for_service(port, first)
        for side in (self.start_on("left", client), first):
            output, _ = side.communicate(timeout=LIMIT)
            self.assertEqual(side.returncode, 0, output)

    def test_rping(self):
        self.lose_packets()
        port = free_port()
        options = ["-p", str(port), "-C", "50", "-S", "4096", "-V"]
        self.converse(["rping", "-s", *options], ["rping", "-c", "-a", self.HOSTS["right"], *options], port)
        self.assertGreater(self.dropped(), 0)

    def test_ib_send_bw(self):
        self.lose_packets()
        port = free_port()
        command = ["ib_send_bw", "-R", "-p", str(port), "-n", "200", "-s", "65536"]
        self.converse(command, [*command, self.HOSTS["right"]], port)
        self.assertGreater(self.dropped(), 0)

    def test_both_hosts_have_servers_of_the_same_port(self):
        port = free_port()
        options = ["-p", str(port), "-C", "1"]
        servers = [self.start_on(host, ["rping", "-s", *options]) for host in self.HOSTS]
        for server in servers:
            wait_for_service(port, server)
        for host in self.HOSTS:
            client = self.start_on(host, ["rping", "-c", "-a", "127.0.0.1", *options], "127.0.0.1")
            output, _ = client.communicate(timeout=LIMIT)
            self.assertEqual(client.returncode, 0, output)


class Users(Sides):
    """Each user has services of its own."""

    def test_two_users_have_the_same_port(self):
        if os.geteuid() != 0:
            self.skipTest("takes root to be two users")
        port = free_port()
        options = ["-p", str(port), "-C", "1", "-v"]
        self.server(["rping", "-s", *options], port)
        plain = {k: v for k, v in with_hooks().items() if k != "XDG_RUNTIME_DIR"}

        def as_other(command):
            return ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", *command]

        def launch(command):
            process = subprocess.Popen(as_other(command), env=plain, text=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT)
            self.addCleanup(end, process)
            return process

        folder = pathlib.Path("/tmp/wireproof-65533")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        other = launch(["rping", "-s", *options])
        limit = time.monotonic() + LIMIT
        while not (folder.exists() and any(f.name.endswith(f"-{port}") for f in folder.iterdir())):
            self.assertIsNone(other.poll(), "no server")
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)
        self.assertEqual((folder.stat().st_mode & 0o777, folder.stat().st_uid), (0o700, 65533))
        client = launch(["rping", "-c", "-a", "127.0.0.1", *options])
        for process in (client, other):
            code, output = self.finish(process)
            self.assertEqual(code, 0, output)
        # The first user still reaches the first user's server.
        code, output = run(["rping", "-c", "-a", "127.0.0.1", *options], with_hooks())
        self.assertEqual(code, 0, output)


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
