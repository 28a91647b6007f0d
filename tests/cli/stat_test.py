"""The counters of running programs: as text, as an object, for Prometheus and as the files of an exporter."""
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from command import PATIENCE, WIREPROOF, Case, one_object

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's packages, whichever Python this is
try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None

LIBRARY = os.environ.get("WIREPROOF_LIBIBVERBS", "")
COUNTED = os.environ.get("WIREPROOF_COUNTED", "")
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"

# Opens the device, prints a line, and runs until its standard input ends.
VERBS_PROGRAM = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
library.ibv_open_device.restype = ctypes.c_void_p
assert library.ibv_open_device(ctypes.c_void_p(library.ibv_get_device_list(None)[0]))
print("open", flush=True)
sys.stdin.read()
"""

# Publishes these bytes as a file of counters until its standard input ends.
FAKE_PROGRAM = """
import os, sys
file = os.memfd_create("wireproof-counters")
made = bytes.fromhex(sys.argv[1])
os.write(file, made.replace(b"PROCESS!", os.getpid().to_bytes(8, sys.byteorder)))
print("open", flush=True)
sys.stdin.read()
"""


class StatCase(Case):
    def begin(self, *command, **options):
        """Starts a program that prints "open", and returns it."""
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        self.addCleanup(self.put_away, program)
        self.assertEqual(program.stdout.readline(), "open\n")
        return program

    @staticmethod
    def send(program, count):
        program.stdin.write(f"send {count}\n")
        program.stdin.flush()
        assert program.stdout.readline() == "sent\n"

    def stat(self, *arguments):
        """Returns what the command prints; it must succeed without a word of error."""
        ended = self.run_command("stat", *map(str, arguments))
        self.assertEqual((ended.code, ended.err), (0, ""))
        return ended

    def endpoints(self, program):
        """Returns the object of each node of the program by its number."""
        stat = one_object(self.stat(program.pid, "--json"))
        return {one["endpoint"]["node"]: one for one in stat["endpoints"]}


class ADeviceIsLookedAt(StatCase):
    def setUp(self):
        super().setUp()
        self.program = self.begin(sys.executable, "-c", VERBS_PROGRAM, LIBRARY)
        self.pid = str(self.program.pid)

    def folder_of(self, tree):
        return os.path.join(self.path(tree), "class", "infiniband", "wireproof0_" + self.pid, "ports", "1")

    def test_as_text(self):
        out = self.stat(self.pid).out
        self.assertRegex(out, rf"^process {self.pid}  \S+  wireproof0 at 127\.0\.0\.\d+  0 queue pairs\n"
                              r"values of \d+\.\d\d s ago\n")
        self.assertLessEqual(max(map(len, out.splitlines())), 80)
        self.assertIn(f"process {self.pid} ", self.run_command("stat").out)

    def test_as_an_object(self):
        stat = one_object(self.stat(self.pid, "--json"))
        self.assertEqual(stat["schema"], "wireproof.stat/2")
        self.assertEqual(stat["endpoints"], [])
        [device] = stat["devices"]
        self.assertEqual(device["device"]["kind"], "verbs")
        self.assertEqual(device["device"]["name"], "wireproof0")
        self.assertEqual(device["device"]["process"], int(self.pid))
        self.assertEqual(device["device"]["queue_pairs"], 0)
        self.assertIsInstance(device["device"]["path_mtu"], int)
        self.assertEqual(device["counters"]["port_rcv_errors"], 0)
        self.assertEqual(device["hw_counters"]["duplicate_request"], 0)
        self.assertEqual(device["queue_pairs"]["1"]["transport"], "UD")

    def test_while_the_program_is_stopped(self):
        self.program.send_signal(signal.SIGSTOP)
        self.stat(self.pid)
        self.program.send_signal(signal.SIGCONT)

    def test_for_prometheus(self):
        out = self.stat(self.pid, "--prometheus").out
        self.assertRegex(out, rf'wireproof_verbs_hw_counters_duplicate_request_total{{pid="{self.pid}",'
                              r'program="[^"]+",device="wireproof0"} 0\n')

    def test_as_a_tree_of_files(self):
        ended = self.run_command("stat", "--tree", "sys")
        self.assertEqual((ended.code, ended.out), (0, ""))
        port = self.folder_of("sys")
        for name, text in (("state", "4: ACTIVE"), ("hw_counters/duplicate_request", "0"),
                           ("counters/port_xmit_packets", "0")):
            with open(os.path.join(port, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), text + "\n")
        self.program.communicate("")
        self.assertEqual(self.run_command("stat", "--tree", "sys").code, 0)
        self.assertFalse(os.path.exists(port), "of a program that has ended")

    def test_a_tree_is_kept_until_it_is_interrupted(self):
        keeper = self.start("stat", self.pid, "--tree", "sys", "--every", "0.1")
        file = os.path.join(self.folder_of("sys"), "state")
        self.until(lambda: os.path.exists(file), keeper)
        os.remove(file)
        self.until(lambda: os.path.exists(file), keeper)
        keeper.send_signal(signal.SIGINT)
        self.assertEqual(keeper.wait(), -signal.SIGINT)

    def test_who_shows_nothing_is_told_in_one_line(self):
        self.program.communicate("")
        ended = self.run_command("stat", self.pid)
        self.assertEqual((ended.code, ended.out), (1, ""))
        self.assertEqual(ended.err, f"wireproof: process {self.pid} shows no counters: there is no such process\n")

    def test_a_tree_that_cannot_be_written_is_told_in_one_line(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        ended = self.run_command("stat", self.pid, "--tree", "file")
        self.assertEqual((ended.code, len(ended.lines_of_error())), (1, 1))


class EndpointsAreLookedAt(StatCase):
    def test_their_counters_are_those_of_their_traffic(self):
        program = self.begin(COUNTED, "pair")
        self.send(program, 100)
        first = self.endpoints(program)
        self.assertEqual(first[0]["endpoint"]["nodes"], 2)
        self.assertTrue(first[0]["endpoint"]["consistent"])
        self.assertLess(first[0]["endpoint"]["age_s"], PATIENCE)
        self.assertLess(abs(first[0]["endpoint"]["started_s"] - time.time()), 300)
        peer = first[0]["peers"]["1"]
        self.assertEqual(peer["path"], "udp")
        self.assertEqual(peer["address"], first[1]["endpoint"]["address"])
        self.assertEqual(peer["sessions"], 1)
        self.assertEqual(first[0]["wire"]["frames_received"], sum(peer["received"].values()))
        self.assertEqual(first[0]["wire"]["frames_sent"], first[1]["wire"]["frames_received"])
        self.assertNotIn("shared", first[0])
        self.send(program, 5000)
        second = self.endpoints(program)
        self.assertGreater(second[0]["peers"]["1"]["sent"], peer["sent"] + 20)
        self.assertEqual(second[0]["wire"]["frames_sent"], second[1]["wire"]["frames_received"])

    def test_as_text(self):
        program = self.begin(COUNTED, "pair")
        self.send(program, 10)
        out = self.stat(program.pid).out
        self.assertRegex(out, rf"(?m)^process {program.pid}  \S+  node 0 of 2 at 127\.0\.0\.1:\d+\nvalues of ")
        self.assertRegex(out, r"(?m)^peer 1  udp  at 127\.0\.0\.1:\d+\n")
        self.assertRegex(out, r"(?m)\bsessions +1\b")
        self.assertLessEqual(max(map(len, out.splitlines())), 80)

    def test_a_table_has_the_growth_in_a_second(self):
        program = self.begin(COUNTED, "pair")
        table = self.start("stat", str(program.pid), "--every", "0.2", text=True)
        lines = iter(table.stdout.readline, "")
        for line in lines:
            if line.startswith("peer"):
                self.fail("no message has been sent yet")
            if line == "\n":
                break
        self.send(program, 2000)
        rates = (float(found[1]) for line in lines
                 if (found := re.match(r"wire\.frames_sent +\d+ +([0-9.]+) /s$", line)))
        next(rate for rate in rates if rate > 0)
        self.assertEqual(next(rate for rate in rates if rate == 0), 0, "nothing is sent any more")
        table.send_signal(signal.SIGINT)
        self.assertEqual(table.wait(), -signal.SIGINT)

    def test_an_object_in_each_line(self):
        program = self.begin(COUNTED, "pair")
        every = self.start("stat", str(program.pid), "--json", "--every", "0.1", text=True)
        for _ in range(3):
            self.assertTrue(every.stdout.readline().startswith('{"schema":"wireproof.stat/2"'))
        every.send_signal(signal.SIGINT)
        self.assertEqual(every.wait(), -signal.SIGINT)

    def test_of_a_stopped_program_the_age_grows(self):
        program = self.begin(COUNTED, "pair")
        self.send(program, 10)
        before = self.endpoints(program)[0]["endpoint"]["age_s"]
        program.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        self.assertGreaterEqual(self.endpoints(program)[0]["endpoint"]["age_s"], before + 0.5)
        program.send_signal(signal.SIGCONT)

    def test_a_killed_program_leaves_nothing(self):
        program = self.begin(COUNTED, "pair")
        self.stat(program.pid)
        program.kill()
        program.wait()
        ended = self.run_command("stat", str(program.pid))
        self.assertEqual((ended.code, ended.out), (1, ""))
        self.assertNotIn(f"process {program.pid} ", self.run_command("stat").out)

    def test_a_thousand_peers_have_rows(self):
        program = self.begin(COUNTED, "peers", "1000")
        [endpoint] = self.endpoints(program).values()
        self.assertEqual(endpoint["endpoint"]["nodes"], 1001)
        self.assertEqual(endpoint["endpoint"]["rows_missing"], 0)
        self.assertEqual(len(endpoint["peers"]), 1000)
        self.assertEqual(endpoint["peers"]["1000"]["address"], "127.1.3.250:9")
        for peer in endpoint["peers"].values():
            self.assertGreaterEqual(peer["hellos"], 1)
        self.assertEqual(endpoint["wire"]["frames_sent"] + endpoint["wire"]["send_dropped"]
                         + endpoint["wire"]["send_failed"],
                         sum(peer["sent"] for peer in endpoint["peers"].values()))

    def test_peers_without_a_row_are_counted(self):
        program = self.begin(COUNTED, "peers", "1100")
        [endpoint] = self.endpoints(program).values()
        self.assertEqual((len(endpoint["peers"]), endpoint["endpoint"]["rows_missing"]), (1024, 76))
        self.assertIn("; 76 more peers are not shown\n", self.stat(program.pid).out)

    def test_a_device_has_its_queue_pairs(self):
        program = self.begin(COUNTED, "device", "127.0.7.7")
        [device] = one_object(self.stat(program.pid, "--json"))["devices"]
        self.assertEqual((device["device"]["kind"], device["device"]["address"]), ("ib", "127.0.7.7"))
        self.assertEqual(device["device"]["queue_pairs"], 1)
        self.assertEqual(sorted(pair["transport"] for pair in device["queue_pairs"].values()), ["RC", "UD"])
        self.assertRegex(self.stat(program.pid).out, r"Device at 127\.0\.7\.7  1 queue pairs\n")

    def test_who_wants_publishes_nothing(self):
        nothing = ": it has opened no Endpoint and no device, or it publishes none\n"
        program = self.begin(COUNTED, "quiet")
        self.assertTrue(self.run_command("stat", str(program.pid)).err.endswith(nothing))
        program = self.begin(COUNTED, "pair", env={**os.environ, "WIREPROOF_NO_COUNTERS": "1"})
        self.assertTrue(self.run_command("stat", str(program.pid)).err.endswith(nothing))

    def test_a_program_with_short_files_runs(self):
        short = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        program = self.begin(COUNTED, "pair", preexec_fn=short)
        self.send(program, 10)
        self.assertEqual(self.run_command("stat", str(program.pid)).code, 1)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only root can become another user")
    def test_another_user_sees_nothing(self):
        program = self.begin(COUNTED, "pair")
        command = self.path("wireproof")  # the other user may not reach the original
        shutil.copy(WIREPROOF, command)
        os.chmod(self.folder, 0o755)
        as_other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", command, "stat"]
        ended = subprocess.run([*as_other, str(program.pid)], capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertEqual(ended.stderr, f"wireproof: process {program.pid} shows no counters: it is another user's\n")
        ended = subprocess.run(as_other, capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0)
        self.assertNotIn(str(program.pid), ended.stdout)

    def test_the_program_of_the_documents_reads_the_same(self):
        program = self.begin(COUNTED, "pair")
        self.send(program, 100)
        out = run_program_of_the_documents(program)
        for node, endpoint in self.endpoints(program).items():
            address = endpoint["endpoint"]["address"]
            self.assertIn(f"address={address} node={node} nodes=2 \n", out)
            sent = endpoint["peers"][str(1 - node)]["sent"]
            self.assertRegex(out, rf"(?m)^{1 - node} {{.*'sent': {sent}[,}}]")
            self.assertIn(f"'wire.frames_sent': {endpoint['wire']['frames_sent']}", out)


def run_program_of_the_documents(program):
    """Returns what the program that docs/reference/counters.md shows prints for this one."""
    page = (DOCS / "reference" / "counters.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, re.S)
    assert code.count("\n") < 60
    return subprocess.run([sys.executable, "-c", code, str(program.pid)], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def fake_file(total="wire.sent", kind=1, details="address=a\nnode=0\nnodes=2\n", magic=b"wrpfcnt1"):
    """Returns a file with a section that has one total and no rows."""
    section = b"wrpfsec1" + struct.pack("=II4QIIIIQQ48x", 1, 0, 1, 1, 1, 2, 1, 0, 0, 224, 0, 0)
    section += details.encode("latin-1").ljust(384, b"\0")
    section += total.encode().ljust(44, b"\0") + struct.pack("=I16s", kind, b"frames") + struct.pack("=Q", 5)
    size = 64 + 16 + len(section)
    header = magic + struct.pack("=IIQ", 1, 1, size) + b"PROCESS!" + struct.pack("=Q24x", 0)
    return (header + struct.pack("=QQ", 80, len(section)) + section).hex()


class WhatOtherProcessesPublishIsNotTrusted(StatCase):
    def begin_fake(self, made):
        return self.begin(sys.executable, "-c", FAKE_PROGRAM, made)

    def test_a_file_that_is_well_formed_is_read(self):
        program = self.begin_fake(fake_file())
        [endpoint] = one_object(self.stat(program.pid, "--json"))["endpoints"]
        self.assertEqual(endpoint["wire"]["sent"], 5)

    def test_a_malformed_file_is_skipped_with_one_line(self):
        good = self.begin(COUNTED, "pair")
        for made, why in ((fake_file(magic=b"wrpfcnt2"), "not a file of counters"), ("ff" * 63, "not a file of counters"),
                          (fake_file(total="Sent"), "section 0: the name of a counter has other characters"),
                          (fake_file(kind=9), "section 0: wire.sent is neither a counter nor a gauge")):
            program = self.begin_fake(made)
            line = rf"wireproof: process {program.pid}, descriptor \d+: {why}[^\n]*; skipped\n"
            ended = self.run_command("stat")
            self.assertEqual(ended.code, 0)
            self.assertRegex(ended.err, line)
            self.assertIn(f"process {good.pid} ", ended.out)
            ended = self.run_command("stat", str(program.pid))
            self.assertEqual((ended.code, ended.out), (1, ""))
            self.assertRegex(ended.err, line + rf"wireproof: process {program.pid} shows no counters: what it "
                                               r"shows is malformed\n")
            self.put_away(program)

    def test_a_file_that_is_being_made_is_left_out_in_silence(self):
        for made in ("", "00" * 7, fake_file(magic=bytes(8)), fake_file()[:2 * 70]):
            with self.subTest(made=made):
                program = self.begin_fake(made)
                self.assertEqual(run_program_of_the_documents(program), "")
                if not made.startswith(b"wrpf".hex()):  # a whole header that promises more is malformed
                    self.assertEqual(self.run_command("stat").err, "")
                self.put_away(program)

    def test_details_cannot_control_a_terminal_or_spoil_the_text(self):
        program = self.begin_fake(fake_file(details="address=\x1b[2J\"\\\xff\nnode=0\nnodes=2\n"))
        self.assertNotIn("\x1b", self.stat(program.pid).out)
        one_object(self.stat(program.pid, "--json"))
        out = self.stat(program.pid, "--prometheus").out
        self.assertIn(r'endpoint=" [2J\"\\",node="0"} 5', out)


class PrometheusReadsIt(StatCase):
    def families(self, text):
        """Parses the text, and expects what a scrape needs: each family and each sample is there once."""
        names = re.findall(r"(?m)^# TYPE (\S+) ", text)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(re.findall(r"(?m)^# HELP (\S+) ", text), names)
        samples = re.findall(r"(?m)^([^#].*) \S+$", text)
        self.assertEqual(len(samples), len(set(samples)))
        order = [name for name in re.findall(r"(?m)^(\w+){", text)]
        self.assertEqual(sorted(set(order), key=order.index), [name for name in names if name in order])
        if text_string_to_metric_families is None:
            self.skipTest("there is no python3-prometheus-client")
        return {family.name: family for family in text_string_to_metric_families(text)}

    def test_the_text_is_valid(self):
        program = self.begin(COUNTED, "pair")
        self.send(program, 50)
        families = self.families(self.stat("--prometheus", program.pid).out)
        sent = families["wireproof_am_peer_sent"]
        self.assertEqual(sent.type, "counter")
        peers = self.endpoints(program)
        for sample in sent.samples:
            labels = dict(sample.labels)
            node = int(labels.pop("node"))
            self.assertEqual(sample.value, peers[node]["peers"][labels.pop("peer")]["sent"])
            self.assertEqual(labels, {"pid": str(program.pid), "program": "wireproof_count",
                                      "endpoint": peers[node]["endpoint"]["address"]})
        self.assertEqual(len(sent.samples), 2)
        self.assertEqual(families["wireproof_am_age_seconds"].type, "gauge")

    # The collector drops the whole file if a sample is there twice or a name has two types.
    def test_a_process_that_lies_does_not_spoil_it(self):
        honest = self.begin(COUNTED, "pair")
        for made in (fake_file(total="start_time_seconds", kind=2), fake_file(total="wire.frames_sent.total", kind=2)):
            self.begin(sys.executable, "-c", FAKE_PROGRAM, made)
        families = self.families(self.run_command("stat", "--prometheus").out)
        samples = families["wireproof_am_wire_frames_sent"].samples
        self.assertIn(str(honest.pid), {sample.labels["pid"] for sample in samples})

    def test_a_file_is_replaced_as_a_whole(self):
        program = self.begin(COUNTED, "peers", "400")
        file = self.path("all.prom")
        keeper = self.start("stat", str(program.pid), "--prometheus", "--out", file, "--every", "0.1")
        self.until(lambda: os.path.exists(file), keeper)
        files, end = set(), time.monotonic() + PATIENCE
        while len(files) < 8:
            self.assertLess(time.monotonic(), end, "it is not replaced")
            with open(file, encoding="utf-8") as opened:
                status = os.fstat(opened.fileno())
                files.add((status.st_ino, status.st_mtime_ns))
                text = opened.read()
            self.assertEqual(text.count("wireproof_am_peer_sent_total{"), 400)
            self.assertTrue(text.endswith("\n"))
        keeper.send_signal(signal.SIGINT)
        self.assertEqual(keeper.wait(), -signal.SIGINT)
        self.expect_no_part_left("all.prom")

    def test_a_file_that_cannot_be_written_is_told_in_one_line(self):
        program = self.begin(COUNTED, "pair")
        ended = self.run_command("stat", str(program.pid), "--prometheus", "--out", "none/all.prom")
        self.expect_failure(ended, 1, "none/all.prom")

    def test_options_that_have_no_effect_are_refused(self):
        for arguments in (["--out", "a"], ["--prometheus", "--json"], ["--prometheus", "--tree", "a"],
                          ["--prometheus", "--every", "1"], ["--prometheus", "--out", "-", "--every", "1"],
                          ["--prometheus", "--out", ""], ["--json", "--tree", "a"]):
            self.assertEqual(self.run_command("stat", *arguments).code, 2, arguments)


if __name__ == "__main__":
    unittest.main()
