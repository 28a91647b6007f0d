"""Carry on a path that silently loses each long packet, as a path with a smaller MTU behind a filter
does. The path is the loopback interface of a network namespace that ends with the test."""
import json
import subprocess
import unittest

from command import PATIENCE, WIREPROOF, Case, Ended, one_object

PEER_TIMEOUT = 3  # seconds, on a path on which nothing arrives; elsewhere it must not end a run
PATIENCE_OF_PEERS = ("--peer-timeout", "120")
LONGEST = 1000  # bytes of the longest UDP datagram that arrives, with its header
NAMESPACE = ["unshare", "--map-root-user", "--net", "sh", "-ec"]
LOSE = """ip link set lo up
nft add table ip hole
nft add chain ip hole arrives '{ type filter hook input priority 0; }'
nft add rule ip hole arrives udp length '>' %d drop
""" % LONGEST
WHY_SKIPPED = "no network namespace with nftables for this user (Debian: apt-get install nftables)"


def can_lose():
    try:
        probe = subprocess.run([*NAMESPACE, LOSE], capture_output=True, timeout=PATIENCE, check=False)
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
             self.file(300_000), "--protocol", protocol, *(arguments or ("--peer-timeout", str(PEER_TIMEOUT)))],
            cwd=self.folder, capture_output=True, timeout=PATIENCE, check=False)
        ended = Ended(done.returncode, done.stdout, done.stderr)
        return ended, one_object(ended)

    def test_ends_with_the_size_of_the_packet_that_is_never_answered(self):
        for protocol, size in (("sp-am", 1500), ("rc", 1068), ("pcie", 1498), ("ue-llr", 1500)):
            with self.subTest(protocol):
                ended, report = self.carried(protocol)
                self.expect_failure(ended, 1, "was not carried", f"a packet of {size} bytes",
                                    "--mtu 1500", report["error"])
                run = report["runs"][0]
                self.assertFalse(run["verified"] or run["complete"])
                # The count has the frames of both ends, so the test subtracts the receiver's answers.
                answers = run["control"]["acks"] + run["control"]["naks"]
                self.assertLess(run["frames"]["sent"] - answers, 200)

    def test_arrives_where_packets_can_be_made_shorter(self):
        for protocol in ("hippi6400", "flit", "cxl-llr"):
            with self.subTest(protocol):
                ended, report = self.carried(protocol, *PATIENCE_OF_PEERS)
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertTrue(report["runs"][0]["complete"], json.dumps(report))

    def test_arrives_in_packets_that_are_short_enough(self):
        for protocol in ("rc", "pcie", "hippi6400", "flit", "ue-llr", "cxl-llr"):
            with self.subTest(protocol):
                ended, report = self.carried(protocol, *PATIENCE_OF_PEERS, "--mtu", "900")
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertTrue(report["runs"][0]["complete"], json.dumps(report))


# Another host behind a router. The link behind the router has a smaller MTU. The router silently
# drops longer packets and fragments.
ROUTED = """trap 'kill $router $there 2>/dev/null || :' EXIT
unshare --net sleep 300 & router=$!
unshare --net sleep 300 & there=$!
own=$(readlink /proc/self/ns/net)
for process in $router $there; do
    while [ "$(readlink /proc/$process/ns/net)" = "$own" ]; do sleep 0.02; done
done
at_router() { nsenter -t $router -n "$@"; }
at_there() { nsenter -t $there -n "$@"; }
# As on a wire, no super-packet reaches the router: its filter would take that for a long packet.
one_by_one() { echo gso_max_size 1400 gso_max_segs 1; }
ip link add name near type veth peer name rnear netns $router
at_router ip link add name rfar type veth peer name far netns $there
ip addr add 10.90.1.1/24 dev near
ip link set near $(one_by_one) up
at_router ip addr add 10.90.1.254/24 dev rnear
at_router ip link set rnear up
at_router ip addr add 10.90.2.254/24 dev rfar
at_router ip link set rfar mtu 1400 up
at_there ip addr add 10.90.2.1/24 dev far
at_there ip link set far mtu 1400 $(one_by_one) up
ip route add default via 10.90.1.254
at_there ip route add default via 10.90.2.254
at_router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
at_router nft add table ip hole
at_router nft add chain ip hole passes '{ type filter hook forward priority 0; }'
at_router nft add rule ip hole passes 'ip frag-off & 0x3fff != 0 drop'
at_router nft add rule ip hole passes ip length '>' 1400 drop
"""
EXCHANGE = ROUTED + """wireproof=$1 file=$2
shift 2
at_there "$wireproof" recv --json --listen 10.90.2.1:7501 --out taken.bin --wait 100 "$@" \\
    >recv.json 2>recv.err & receiver=$!
code=0
"$wireproof" send --json "$file" --to 10.90.2.1:7501 "$@" || code=$?
wait $receiver || :
exit $code
"""
WHY_NO_ROUTER = "no network namespaces joined by a router for this user (Debian: apt-get install " \
    "nftables iproute2)"


def can_route():
    try:
        probe = subprocess.run([*NAMESPACE, ROUTED], capture_output=True, timeout=PATIENCE, check=False)
    except OSError:
        return False
    return probe.returncode == 0


class ASendThroughARouterThatLosesLongPackets(Case):
    def setUp(self):
        super().setUp()
        if not can_route():
            print(WHY_NO_ROUTER)
            self.skipTest(WHY_NO_ROUTER)

    def sent(self, *arguments):
        done = subprocess.run(
            [*NAMESPACE, EXCHANGE, "sh", WIREPROOF, self.file(300_000),
             *(arguments or ("--peer-timeout", str(PEER_TIMEOUT)))],
            cwd=self.folder, capture_output=True, timeout=PATIENCE, check=False)
        ended = Ended(done.returncode, done.stdout, done.stderr)
        with open(self.path("recv.json"), encoding="utf-8") as report:
            return ended, one_object(ended), json.load(report)

    def test_ends_at_both_ends_with_the_size_of_the_packet(self):
        ended, report, there = self.sent()
        self.expect_failure(ended, 1, "was not sent", "packet of 1496 bytes", report["error"])
        self.assertIn("packet of 1496 bytes", there["error"])
        self.assertIn("never arrived here", there["error"])
        run = report["runs"][0]
        self.assertLess(run["frames"]["sent"], 200)
        self.assertLess(there["runs"][0]["frames"]["sent"], 200)

    def test_arrives_in_packets_that_fit(self):
        ended, report, there = self.sent(*PATIENCE_OF_PEERS, "--mtu", "1400")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertTrue(report["runs"][0]["complete"] and there["runs"][0]["verified"])


if __name__ == "__main__":
    unittest.main()
