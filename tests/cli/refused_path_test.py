"""Paths on which the kernel refuses to send, or refuses long packets, and the messages of the command. Also: the
kernel does not fragment packets without need. The paths are in a network namespace that ends with the test."""
import subprocess
import unittest

from command import PATIENCE, WIREPROOF, Case, Ended, one_object

NAMESPACE = ["unshare", "--map-root-user", "--net", "sh", "-ec"]
LOOPBACK = "ip link set lo mtu 1500 up\n"
PERMITTED = LOOPBACK + """nft add table inet wall
nft add chain inet wall leaves '{ type filter hook output priority 0; }'
"""
CLOSED = PERMITTED + "nft add rule inet wall leaves meta l4proto udp drop\n"
SHORT = "ip link set lo mtu %d up\n"
WALL = PERMITTED + "nft add rule inet wall leaves udp dport 7000 drop\n"
NO_WAY = LOOPBACK + "ip route add unreachable 192.0.2.0/24\n"
# Prints the counters of fragments at the end of a script.
FRAGMENTS = r"""
awk '$1 == "Ip6FragCreates" { print "fragments", $2 }' /proc/net/snmp6
awk '$1 == "Ip:" && !at { for (i = 1; i <= NF; i++) if ($i == "FragCreates") at = i; next }
     $1 == "Ip:" { print "fragments", $at }' /proc/net/snmp
"""
WHY_SKIPPED = "no network namespace with nftables for this user (Debian: apt-get install nftables)"


def permitted():
    try:
        probe = subprocess.run([*NAMESPACE, PERMITTED], capture_output=True, timeout=PATIENCE, check=False)
    except OSError:
        return False
    return probe.returncode == 0


class InANamespace(Case):
    def setUp(self):
        super().setUp()
        if not permitted():
            print(WHY_SKIPPED)
            self.skipTest(WHY_SKIPPED)

    def run_there(self, script, *arguments):
        done = subprocess.run([*NAMESPACE, script, "sh", *arguments], cwd=self.folder,
                              capture_output=True, timeout=PATIENCE, check=False)
        return Ended(done.returncode, done.stdout, done.stderr)


class TheKernelsReasonIsTold(InANamespace):
    REASONS = ((WALL, "127.0.0.1:7000", "Operation not permitted"),
               (WALL, "[::1]:7000", "Operation not permitted"),
               (NO_WAY, "192.0.2.1:7000", "No route to host"))

    def test_by_send_beside_where_nobody_answered(self):
        for path, to, reason in self.REASONS:
            with self.subTest(to):
                ended = self.run_there(path + 'exec "$@"', WIREPROOF, "send", self.file(1000), "--to", to,
                                       "--peer-timeout", "0.5")
                self.expect_failure(ended, 1, reason, to)

    def test_by_perf_beside_where_nobody_answered(self):
        for path, to, reason in self.REASONS:
            with self.subTest(to):
                ended = self.run_there(path + 'exec "$@"', WIREPROOF, "perf", "--to", to)
                self.expect_failure(ended, 1, reason, to)


    def test_by_carry_with_every_protocol(self):
        for protocol in ("sp-am", "rc", "uc", "pcie", "hippi6400", "flit", "ue-llr", "cxl-llr"):
            with self.subTest(protocol):
                ended = self.run_there(CLOSED + 'exec "$@"', WIREPROOF, "carry", self.file(1000),
                                       "--protocol", protocol, "--peer-timeout", "0.5")
                self.expect_failure(ended, 1, "has been silent for 0.5 s: Operation not permitted (sendmsg)")


class APathTakesShorterPacketsThanWeSend(InANamespace):
    def carried(self, protocol, seconds=120):
        ended = self.run_there(SHORT % 1000 + 'exec "$@"', WIREPROOF, "carry", "--json", self.file(300_000),
                               "--protocol", protocol, "--peer-timeout", str(seconds))
        return ended, one_object(ended)

    def test_where_they_may_be_cut_up_all_arrives(self):
        for protocol in ("sp-am", "pcie", "hippi6400", "flit", "ue-llr", "cxl-llr"):
            with self.subTest(protocol):
                ended, report = self.carried(protocol)
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertTrue(report["runs"][0]["complete"], report)

    def test_where_they_may_not_the_size_and_the_kernels_reason_are_told(self):
        ended, report = self.carried("rc", seconds=3)
        self.expect_failure(ended, 1, "a packet of 1068 bytes", "Message too long (sendmsg)", "--mtu 1500")
        self.assertIn("Message too long (sendmsg)", report["error"])
        self.assertGreaterEqual(report["runs"][0]["frames"]["lost"], 32)

    def test_where_nothing_recovers_they_are_counted_as_lost(self):
        ended, report = self.carried("uc")
        self.assertEqual((ended.code, ended.err), (0, ""))
        run = report["runs"][0]
        self.assertFalse(run["complete"])
        self.assertGreaterEqual(run["frames"]["lost"], 300_000 // 1024)


class NoPacketIsCutUp(InANamespace):
    def fragments(self, path, at):
        """Returns the number of fragments that the kernel made during a measurement, for IPv4 and IPv6."""
        ended = self.run_there(
            path + ': >listens; "$1" perf --listen $2 2>listens & there=$!\n'
            "for i in $(seq 2000); do grep -q answering listens && break; sleep 0.1; done\n"
            'code=0; "$1" perf --to $2 --op store --size 200000 --rounds 1 --seconds 0.05 || code=$?\n'
            "kill $there\nwait $there 2>/dev/null || true\n" + FRAGMENTS + "exit $code", WIREPROOF, at)
        self.assertEqual((ended.code, ended.err), (0, ""))
        counts = [int(line.split()[1]) for line in ended.out.splitlines() if line.startswith("fragments")]
        self.assertEqual(len(counts), 2, ended.out)
        return counts

    def test_of_a_measurement_over_either_ip(self):
        for at in ("127.0.0.1:7000", "[::1]:7000"):
            with self.subTest(at):
                self.assertEqual(self.fragments(LOOPBACK, at), [0, 0])

    def test_unless_the_path_takes_shorter_packets_than_mtu_says(self):
        for at in ("127.0.0.1:7000", "[::1]:7000"):
            with self.subTest(at):
                self.assertGreater(max(self.fragments(SHORT % 1300, at)), 0)


if __name__ == "__main__":
    unittest.main()
