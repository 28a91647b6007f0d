"""perf measures each operation on each wire, checks the contents, and reports the results in the
documented form. The tests do not check how fast anything is."""
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
                self.assertEqual(list(half), ["min", "mean", "p50", "p99", "p999"])
                self.assertLessEqual(half["p50"], half["p99"])
                self.assertLessEqual(half["min"], half["p50"])
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

    def test_bytes_reach_shared_memory_and_private_memory_with_one_copy(self):
        for memory in ("shared", "private"):
            for op in ("store", "get"):
                with self.subTest(memory=memory, op=op):
                    report = self.measure("--op", op, "--size", "65536", "--memory", memory)
                    self.assertEqual(report["runs"][0]["travelled"], "one copy")

    def test_under_loss_it_resends_and_nothing_is_wrong(self):
        for wire in ("memory", "shm", "udp"):
            with self.subTest(wire):
                # However short a round is, a window of packets leaves, one for each message of this size.
                report = self.measure("--wire", wire, "--op", "stream", "--size", "1024", "--loss", "0.05", "--seed", "1")
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
        # Compares only the tags, so that a failure does not print the whole page.
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
        for host, to in (("[::1]", "[::1]"), ("[::]", "127.0.0.1"), ("[::]", "127.0.0.2"), ("0.0.0.0", "127.0.0.2"),
                         ("127.0.0.2", "127.0.0.2")):
            with self.subTest(to):
                port = free_port()
                listener = self.start("perf", "--listen", f"{host}:{port}")
                for op in ("request-reply", "store"):
                    report = self.measure("--op", op, "--size", "64", "--to", f"{to}:{port}")
                    self.check(report, "udp", op, [64])
                    self.assertGreater(report["runs"][0]["limit"], 0)
                listener.send_signal(signal.SIGTERM)
                self.assertEqual(self.finish(listener).code, -signal.SIGTERM)


class QueuePairsAreMeasuredOnBothWires(Case):
    OPS = {"rc": ["send", "write", "read", "fetch-add"], "uc": ["send", "write"]}

    def measure(self, *arguments):
        ended, report = self.run_json("perf", *BRIEF, *arguments)
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(report["schema"], "wireproof.perf/1")
        return report["runs"]

    def check(self, run, protocol, wire):
        self.assertEqual((run["protocol"], run["wire"]), (protocol, wire))
        self.assertGreater(run["messages"], 0)
        self.assertGreater(run["cpu_seconds"], 0)
        half = run["op"] in ("send", "write")
        if run["measured"] == "latency":
            self.assertIsNone(run["messages_per_s"])
            self.assertIsNone(run["operation_ns" if half else "half_rtt_ns"])
            ours = run["half_rtt_ns" if half else "operation_ns"]
            self.assertEqual(list(ours), ["min", "mean", "p50", "p99", "p999"])
            self.assertLessEqual(ours["p50"], ours["p99"])
            self.assertLessEqual(ours["min"], ours["p50"])
            self.assertLessEqual(ours["p99"], ours["p999"])
            ours = ours["p50"]
        else:
            self.assertIsNone(run["half_rtt_ns"])
            self.assertIsNone(run["operation_ns"])
            ours = run["messages_per_s"]
            self.assertAlmostEqual(run["bytes_per_s"] / (ours * run["size"]), 1, places=2)
        self.assertGreater(run["limit"], 0)
        self.assertAlmostEqual(run["ratio"] / (ours / run["limit"]), 1, places=1)

    def test_every_operation_of_a_protocol_on_each_wire(self):
        for protocol, ops in self.OPS.items():
            for wire in ("shm", "udp"):
                with self.subTest(protocol=protocol, wire=wire):
                    runs = self.measure("--protocol", protocol, "--wire", wire, "--size", "1,5000")
                    rows = [(op, size) for op in ops for size in ([8] if op == "fetch-add" else [1, 5000])]
                    self.assertEqual([(run["op"], run["size"], run["measured"]) for run in runs],
                                     [(*row, what) for row in rows for what in ("latency", "rate")])
                    for run in runs:
                        self.check(run, protocol, wire)
                        self.assertEqual(run["lost" if protocol == "rc" else "resent"], 0)

    def test_rc_sends_again_what_is_lost_and_all_of_it_arrives(self):
        for wire in ("shm", "udp"):
            with self.subTest(wire):
                runs = self.measure("--protocol", "rc", "--wire", wire, "--size", "20000", "--loss", "0.05")
                for run in runs:
                    self.assertEqual(run["lost"], 0)
                    self.assertEqual(run["loss"], 0.05)
                self.assertGreater(sum(run["resent"] for run in runs), 0)

    def test_uc_counts_what_is_lost_and_goes_on(self):
        for wire in ("shm", "udp"):
            with self.subTest(wire):
                runs = self.measure("--protocol", "uc", "--wire", wire, "--size", "64", "--loss", "0.2")
                for run in runs:
                    if run["measured"] == "rate":
                        self.assertGreater(run["lost"], 0)
                        self.assertGreater(run["messages_per_s"], 0)
                    self.assertLessEqual(run["lost"], run["messages"])
                    self.assertEqual(run["resent"], 0)

    def test_uc_of_which_nothing_arrives_is_no_result(self):
        ended, report = self.run_json("perf", "--rounds", "1", "--seconds", "0.01", "--protocol", "uc", "--wire", "udp",
                                      "--op", "send", "--size", "65536", "--loss", "0.9")
        self.assertEqual(ended.code, 1)
        self.assertIn("contents are not checked", report["error"])

    def test_several_packets_of_any_path_mtu(self):
        for mtu, path_mtu in (("320", 256), ("1500", 1024)):
            ended, report = self.run_json("perf", *BRIEF, "--protocol", "rc", "--wire", "udp", "--op", "read", "--size",
                                          "3000", "--mtu", mtu)
            self.assertEqual(ended.code, 0, ended.err)
            self.assertIn({"what": "path MTU", "bytes": path_mtu}, report["also"])

    def test_the_number_under_way_is_told(self):
        for arguments, number in (([], 64), (["--in-flight", "5"], 5), (["--size", "4194304"], 16)):
            size = [] if "--size" in arguments else ["--size", "8"]
            runs = self.measure("--protocol", "rc", "--op", "write", *size, *arguments)
            self.assertEqual(runs[-1]["in_flight"], number)

    def test_the_tables_fit_80_columns(self):
        for protocol, rows in (("rc", 2 * 8), ("uc", 2 * 5)):
            ended = self.run_command("perf", *BRIEF, "--protocol", protocol, "--wire", "udp", "--loss", "0.01")
            self.assertEqual((ended.code, ended.err), (0, ""))
            row = r"\s*(latency|rate|send|write|read|fetch-add) "
            lines = [line for line in ended.out.splitlines() if re.match(row, line)]
            self.assertEqual(len(lines), rows, ended.out)
            self.assertLessEqual(max(map(len, ended.out.splitlines())), 80, ended.out)

    def test_a_page_opens_without_a_network(self):
        ended = self.run_command("perf", *BRIEF, "--protocol", "rc", "--size", "8,512", "--html", "page.html")
        self.assertEqual((ended.code, ended.err), (0, ""))
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[^>]*>", page), [])
        self.assertEqual(page.count('class="plot"'), 2)
        self.assertIn("fetch-add", page)

    def test_an_interrupt_ends_both_processes(self):
        for wire in ("shm", "udp"):
            process = self.start("perf", "--protocol", "rc", "--wire", wire, "--seconds", "60")
            child = child_of(process)
            self.until_it_catches(process, signal.SIGTERM)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(self.finish(process).code, -signal.SIGTERM)
            self.assertFalse(os.path.exists(f"/proc/{child}"))

    def test_an_answering_process_that_dies_is_reported(self):
        for protocol in self.OPS:
            process = self.start("perf", "--protocol", protocol, "--wire", "udp", "--seconds", "60")
            os.kill(child_of(process), signal.SIGKILL)
            self.expect_failure(self.finish(process), 1, "end")

    def test_what_queue_pairs_cannot_do_is_refused(self):
        for arguments, word in ((["uc", "--op", "read"], "needs --protocol rc"),
                                (["uc", "--op", "fetch-add"], "needs --protocol rc"),
                                (["rc", "--op", "stream"], "--op"), (["sp-am", "--op", "send"], "--op"),
                                (["rc", "--op", "fetch-add", "--size", "16"], "8 bytes"),
                                (["rc", "--wire", "memory"], "--wire"),
                                (["rc", "--wire", "udp", "--mtu", "319"], "320"),
                                (["rc", "--mtu", "1500"], "--wire udp"), (["rc", "--in-flight", "4097"], "4096"),
                                (["rc", "--size", "0"], "--size"), (["rc", "--per-poll", "2"], "--per-poll"),
                                (["rc", "--memory", "private"], "sp-am"), (["uc", "--to", "127.0.0.1:1"], "sp-am"),
                                (["rc", "--listen", "127.0.0.1:1"], "sp-am"), (["uc", "--congestion", "on"], "rc"),
                                (["rc", "--wire", "udp", "--trust-payload"], "sp-am")):
            with self.subTest(arguments):
                self.expect_failure(self.run_command("perf", "--protocol", *arguments), 2, word)


class AMeasurementThatCannotBeIsToldInOneLine(Case):
    def test_a_command_line_that_makes_no_sense(self):
        for arguments, word in ((["--size", "6"], "multiple"), (["--size", "0"], "--size"), (["--size", "8,"], "--size"),
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
                self.assertEqual(len(lines), 2, lines)  # the second line says that it was interrupted
                self.assertRegex(lines[0], "a perf with another --mtu, .* or version asked for a measurement")

    def test_an_interrupt_ends_both_processes(self):
        process = self.start("perf", "--seconds", "60")
        child = child_of(process)
        self.until_it_catches(process, signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, -signal.SIGTERM)
        self.assertFalse(os.path.exists(f"/proc/{child}"))

    def test_an_answering_process_that_dies_is_reported(self):
        process = self.start("perf", "--seconds", "60")
        os.kill(child_of(process), signal.SIGKILL)
        self.expect_failure(self.finish(process), 1, "end")


if __name__ == "__main__":
    unittest.main()
