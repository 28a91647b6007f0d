"""The ruler: that it measures every operation on every wire, checks contents, and says what it
found as promised. Never how fast anything was."""
import os
import re
import signal
import unittest

from command import Case, child_of, free_port

BRIEF = ("--rounds", "2", "--seconds", "0.01")
OPS = {"request-reply": "8,64", "stream": "8,64", "store": "1,65536", "store-async": "1,65536", "get": "1,65536"}


class EveryOperationIsMeasuredOnEveryWire(Case):
    def measure(self, *arguments):
        ended, report = self.run_json("perf", *BRIEF, *arguments)
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(report["schema"], "wireproof.perf/1")
        return report

    def check(self, report, wire, op, sizes):
        self.assertEqual([run["size"] for run in report["runs"]], sizes)
        for run in report["runs"]:
            self.assertEqual((run["protocol"], run["wire"], run["op"]), ("sp-am", wire, op))
            self.assertGreater(run["messages_per_s"], 0)
            self.assertAlmostEqual(run["bytes_per_s"] / (run["messages_per_s"] * run["size"]), 1, places=2)
            self.assertGreater(run["cpu_seconds"], 0)
            half = run["half_rtt_ns"]
            if op != "request-reply":
                self.assertIsNone(half)
            else:
                self.assertEqual(list(half), ["mean", "p50", "p99", "p999"])
                self.assertLessEqual(half["p50"], half["p99"])
                self.assertLessEqual(half["p99"], half["p999"])
            self.assertGreater(run["limit"], 0)
            ours = half["p50"] if half else run["messages_per_s" if op == "stream" else "bytes_per_s"]
            self.assertAlmostEqual(run["ratio"] / (ours / run["limit"]), 1, places=1)

    def test_in_json(self):
        for wire in ("memory", "shm", "udp"):
            for op, sizes in OPS.items():
                with self.subTest(wire=wire, op=op):
                    report = self.measure("--wire", wire, "--op", op, "--size", sizes)
                    self.check(report, wire, op, [int(size) for size in sizes.split(",")])
                    self.assertEqual([run["resent"] for run in report["runs"]] if wire != "udp" else [0, 0], [0, 0])

    def test_bytes_reach_shared_memory_and_private_memory_with_one_copy(self):
        for memory in ("shared", "private"):
            for op in ("store", "get"):
                with self.subTest(memory=memory, op=op):
                    report = self.measure("--op", op, "--size", "65536", "--memory", memory)
                    self.assertEqual(report["runs"][0]["travelled"], "one copy")

    def test_under_loss_it_resends_and_nothing_is_wrong(self):
        for wire in ("memory", "shm", "udp"):
            with self.subTest(wire):
                report = self.measure("--wire", wire, "--op", "stream", "--size", "64", "--loss", "0.05")
                self.assertGreater(report["runs"][0]["resent"], 0)
                report = self.measure("--wire", wire, "--op", "store", "--size", "200000", "--loss", "0.05")
                self.assertEqual(report["runs"][0]["travelled"], "in packets")

    def test_a_stream_is_also_measured_with_a_poll_for_each_request(self):
        also = self.measure("--op", "stream", "--size", "8")["also"]
        self.assertGreater(also[0]["messages_per_s"], 0)
        self.assertEqual(also[0]["what"], "one request a poll")

    def test_the_table_fits_80_columns(self):
        for op in OPS:
            ended = self.run_command("perf", *BRIEF, "--op", op, "--size", "8,64" if "re" in op[:3] else "64,4096")
            self.assertEqual((ended.code, ended.err), (0, ""))
            rows = [line for line in ended.out.splitlines() if re.match(r"\s*(size|\d)", line)]
            self.assertEqual(len(rows), 3, ended.out)
            self.assertLessEqual(max(map(len, ended.out.splitlines())), 80, ended.out)

    def test_a_page_opens_without_a_network(self):
        ended = self.run_command("perf", *BRIEF, "--size", "8,64,512", "--html", "page.html")
        self.assertEqual((ended.code, ended.err), (0, ""))
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("Dygraph", page)
        # Not the whole page, should it fail.
        self.assertEqual(re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[^>]*>", page), [])
        self.assertEqual(page.count('class="plot"'), 2)
        for name, value in (("host", os.uname().nodename), ("processor", "threads"),
                            ("date", "UTC"), ("version", "wireproof "),
                            ("command", "perf --rounds 2 --seconds 0.01 --size 8,64,512 --html")):
            self.assertRegex(page, f"<dt>{name}</dt><dd>[^<]*{re.escape(value)}")

    def test_the_other_end_may_be_elsewhere(self):
        at = f"127.0.0.1:{free_port()}"
        listener = self.start("perf", "--listen", at)
        for op in ("request-reply", "store"):
            report = self.measure("--wire", "udp", "--op", op, "--size", "64", "--to", at)
            self.check(report, "udp", op, [64])
        listener.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(listener).code, -signal.SIGTERM)

    def test_the_other_end_is_reached_over_either_ip(self):
        for host, to in (("[::1]", "[::1]"), ("[::]", "127.0.0.1")):
            with self.subTest(to):
                port = free_port()
                listener = self.start("perf", "--listen", f"{host}:{port}")
                for op in ("request-reply", "store"):
                    report = self.measure("--op", op, "--size", "64", "--to", f"{to}:{port}")
                    self.check(report, "udp", op, [64])
                    self.assertGreater(report["runs"][0]["limit"], 0)
                listener.send_signal(signal.SIGTERM)
                self.assertEqual(self.finish(listener).code, -signal.SIGTERM)


class AMeasurementThatCannotBeIsToldInOneLine(Case):
    def test_a_command_line_that_makes_no_sense(self):
        for arguments, word in ((["--size", "6"], "words"), (["--size", "0"], "--size"), (["--size", "8,"], "--size"),
                                (["--op", "fly"], "--op"), (["--wire", "pigeon"], "--wire"),
                                (["--protocol", "pcie"], "pcie"), (["--memory", "borrowed"], "borrowed"),
                                (["--memory", "private", "--wire", "udp"], "--memory"),
                                (["--congestion", "some"], "some"), (["--congestion", "on"], "--congestion"),
                                (["--to", "127.0.0.1:1", "--wire", "shm"], "udp"), (["--loss", "1.5"], "1.5"),
                                (["--op", "request-reply", "--size", "1000000"], "--size")):
            with self.subTest(arguments):
                self.expect_failure(self.run_command("perf", *arguments), 2, word)

    def test_a_page_that_cannot_be_written(self):
        ended = self.run_command("perf", *BRIEF, "--html", "no/such/folder/page.html")
        self.expect_failure(ended, 1, "page.html")

    def test_another_mtu_at_both_ends_is_told_by_both(self):
        for other in (["--mtu", "1400"], ["--trust-payload", "--op", "store"]):
            with self.subTest(other):
                at = f"127.0.0.1:{free_port()}"
                listener = self.start("perf", "--listen", at)
                self.assertIn("answering at", listener.stderr.readline().decode())
                ended = self.run_command("perf", *BRIEF, "--to", at, *other)
                self.expect_failure(ended, 1, "no perf answered", at, *other[:1], "version")
                listener.send_signal(signal.SIGTERM)
                lines = self.finish(listener).err.splitlines()
                self.assertEqual(len(lines), 2, lines)  # the second is that it was interrupted
                self.assertRegex(lines[0], "a perf called that has another --mtu, .* or version")

    def test_an_interrupt_ends_both_processes(self):
        process = self.start("perf", "--seconds", "60")
        child = child_of(process)
        self.until_busy(process, child)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, -signal.SIGTERM)
        self.assertFalse(os.path.exists(f"/proc/{child}"))

    def test_an_answering_process_that_dies_is_reported(self):
        process = self.start("perf", "--seconds", "60")
        os.kill(child_of(process), signal.SIGKILL)
        self.expect_failure(self.finish(process), 1, "end")


if __name__ == "__main__":
    unittest.main()
