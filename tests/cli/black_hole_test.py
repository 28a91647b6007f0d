"""Carry on a path that loses every long packet without a word, as one with a smaller MTU behind a
filter does. The path is the loopback interface of a network namespace that is gone with the test."""
import json
import subprocess
import unittest

from command import WIREPROOF, Case, Ended, one_object

PEER_TIMEOUT = 3
LONGEST = 1000  # bytes of a UDP datagram with its header that arrives
NAMESPACE = ["unshare", "--map-root-user", "--net", "sh", "-ec"]
LOSE = """ip link set lo up
nft add table ip hole
nft add chain ip hole arrives '{ type filter hook input priority 0; }'
nft add rule ip hole arrives udp length '>' %d drop
""" % LONGEST
WHY_SKIPPED = "no network namespace with nftables for this user (Debian: apt-get install nftables)"


def can_lose():
    try:
        probe = subprocess.run([*NAMESPACE, LOSE], capture_output=True, timeout=150, check=False)
    except OSError:
        return False
    return probe.returncode == 0


class ACarryOnAPathThatLosesLongPackets(Case):
    def setUp(self):
        super().setUp()
        if not can_lose():
            print(WHY_SKIPPED)
            self.skipTest(WHY_SKIPPED)

    def carried(self, protocol, *arguments):
        done = subprocess.run(
            [*NAMESPACE, LOSE + 'exec "$@"', "sh", WIREPROOF, "carry", "--json",
             self.file(300_000), "--protocol", protocol, "--peer-timeout", str(PEER_TIMEOUT),
             *arguments],
            cwd=self.folder, capture_output=True, timeout=200, check=False)
        ended = Ended(done.returncode, done.stdout, done.stderr)
        return ended, one_object(ended)

    def test_ends_with_the_size_of_the_packet_that_is_never_answered(self):
        # SP AM's window holds the whole file: all of it leaves twice, and then one packet again.
        twice = 2 * (300_000 // 1400 + 1)
        for protocol, size, frames in (("sp-am", 1500, twice + 200), ("rc", 1068, 200),
                                       ("pcie", 1498, 200)):
            with self.subTest(protocol):
                ended, report = self.carried(protocol)
                self.expect_failure(ended, 1, "was not carried", f"a packet of {size} bytes",
                                    "--mtu 1500", report["error"])
                run = report["runs"][0]
                self.assertFalse(run["verified"] or run["complete"])
                self.assertLess(run["seconds"], 3 * PEER_TIMEOUT)
                self.assertLess(run["frames"]["sent"], frames)
                self.assertIn(run["timeouts"], range(16, 60))

    def test_arrives_where_packets_can_be_made_shorter(self):
        ended, report = self.carried("hippi6400")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertTrue(report["runs"][0]["complete"], json.dumps(report))

    def test_arrives_in_packets_that_are_short_enough(self):
        for protocol in ("rc", "pcie", "hippi6400"):
            with self.subTest(protocol):
                ended, report = self.carried(protocol, "--mtu", "900")
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertTrue(report["runs"][0]["complete"], json.dumps(report))


if __name__ == "__main__":
    unittest.main()
