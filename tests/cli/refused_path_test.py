"""Paths that the kernel will not send on, and what the command says of them; and that no packet of
ours is cut up on the way. The paths are in a network namespace that is gone with the test."""
import subprocess
import unittest

from command import WIREPROOF, Case, Ended

NAMESPACE = ["unshare", "--map-root-user", "--net", "sh", "-ec"]
LOOPBACK = "ip link set lo mtu 1500 up\n"
PERMITTED = LOOPBACK + """nft add table inet wall
nft add chain inet wall leaves '{ type filter hook output priority 0; }'
"""
WALL = PERMITTED + "nft add rule inet wall leaves udp dport 7000 drop\n"
NO_WAY = LOOPBACK + "ip route add unreachable 192.0.2.0/24\n"
# The rest of the script has `exec "$@"`. The counters of packets that were cut up, before it ends:
FRAGMENTS = r"""
awk '$1 == "Ip6FragCreates" { print "fragments", $2 }' /proc/net/snmp6
awk '$1 == "Ip:" && !at { for (i = 1; i <= NF; i++) if ($i == "FragCreates") at = i; next }
     $1 == "Ip:" { print "fragments", $at }' /proc/net/snmp
"""
WHY_SKIPPED = "no network namespace with nftables for this user (Debian: apt-get install nftables)"


def permitted():
    try:
        probe = subprocess.run([*NAMESPACE, PERMITTED], capture_output=True, timeout=150, check=False)
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
                              capture_output=True, timeout=200, check=False)
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


class NoPacketIsCutUp(InANamespace):
    def test_of_a_measurement_over_either_ip(self):
        for at in ("127.0.0.1:7000", "[::1]:7000"):
            with self.subTest(at):
                ended = self.run_there(
                    LOOPBACK + '"$1" perf --listen $2 2>listens & there=$!\n'
                    "for i in $(seq 200); do grep -q answering listens && break; sleep 0.1; done\n"
                    'code=0; "$1" perf --to $2 --op store --size 200000 --rounds 1 --seconds 0.05 || code=$?\n'
                    "kill $there\nwait $there 2>/dev/null || true\n" + FRAGMENTS + "exit $code", WIREPROOF, at)
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertEqual([line for line in ended.out.splitlines() if line.startswith("fragments")],
                                 ["fragments 0", "fragments 0"], ended.out)


if __name__ == "__main__":
    unittest.main()
