"""The results file of a sweep: sweeps that were interrupted, that have parts, or that have stopped points."""
import os
import re
import signal
import time
import unittest
import zlib

from command import PATIENCE, Case, one_object

GRID = """
seed = 7
relative_error = 0.1
[grid]
protocol = ["pcie", "hippi6400", "ideal"]
ber = { from = 1e-9, to = 1e-5, points = 5 }
payload = [256, 4096]
"""


class APointHasItsTime(Case):
    """A point that takes too long is stopped. The sweep fails, and the next run simulates the point."""
    # Each packet of the second point may be bad, so no machine simulates it in LIMIT.
    GRID = "packets = 2e6\n[grid]\nber = [0, 1e-5]\n"
    LIMIT = "0.01"

    def grid(self, begin=""):
        """Writes the grid, and the result of its first point."""
        with open(self.path("grid.toml"), "w", encoding="utf-8") as file:
            file.write(begin + self.GRID)
        ended = self.sweep_part(1, 2, "grid.toml", "--point-seconds", "1e6")
        self.assertEqual((ended.code, ended.err), (0, ""))
        os.rename(self.path("grid.1-of-2.results"), self.path("grid.results"))

    def lines(self):
        with open(self.path("grid.results"), encoding="utf-8") as file:
            return file.read().splitlines()

    def test_a_stopped_point_is_marked_and_the_next_run_takes_it_up(self):
        self.grid()
        ended = self.run_command("sweep", "grid.toml", "--point-seconds", self.LIMIT, "--json", "--csv", "grid.csv",
                                 "--html", "page.html")
        self.expect_failure(ended, 1, "1 of 2 points stopped after 0.01 s")
        out = one_object(ended)
        self.assertIn("1 of 2 points", out["error"])
        finished, stopped = out["points"]
        self.assertNotIn("stopped", finished)
        self.assertEqual(stopped["stopped"], True)
        self.assertLess(stopped["packets"], 2 * 10**6)
        with open(self.path("grid.csv"), encoding="utf-8") as file:
            head, *rows = [line.rstrip("\n").split(",") for line in file]
        self.assertEqual([row[head.index("stopped")] for row in rows], ["", "true"])
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("1 more points were stopped", page)
        self.assertEqual(page[page.index("<tbody>"):page.index("</tbody>")].count("<tr>"), 1)
        (line,) = self.lines()
        self.assertNotIn("stopped", line)
        text = self.run_command("sweep", "grid.toml", "--point-seconds", self.LIMIT).out
        self.assertRegex(text, r"\nstopped: pcie, ber 1e-05, payload 4096, after [\d.e+]+ packets\n")
        # A run without limit simulates the rest. The result is the same as without a stop.
        ended = self.run_command("sweep", "grid.toml", "--json")
        self.assertEqual((ended.code, ended.err), (0, ""))
        resumed = one_object(ended)
        os.remove(self.path("grid.results"))
        self.assertEqual(one_object(self.run_command("sweep", "grid.toml", "--json")), resumed)
        self.assertEqual(len(self.lines()), 2)

    def test_a_file_may_say_how_long_and_the_option_replaces_it(self):
        self.grid(f"point_seconds = {self.LIMIT}\n")
        ended = self.run_command("sweep", "grid.toml", "--json")
        self.expect_failure(ended, 1, "1 of 2 points stopped after 0.01 s (point_seconds)")
        self.assertEqual(one_object(ended)["points"][1]["stopped"], True)
        # The limit is not a setting of a point, so the line of a point does not have it.
        (line,) = self.lines()
        self.assertNotIn("seconds", line)
        self.expect_failure(self.run_command("sweep", "grid.toml", "--point-seconds", "0.02"), 1,
                            "1 of 2 points stopped after 0.02 s (--point-seconds)")
        ended = self.run_command("sweep", "grid.toml", "--point-seconds", "1e6", "--json")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(len(self.lines()), 2)

    def test_where_all_are_stopped_no_file_is_written(self):
        with open(self.path("dead.trace"), "w", encoding="utf-8") as file:
            file.write("bad 900000000000000\nok\n")
        ended = self.run_command("sweep", "--loss-trace", "dead.trace", "--point-seconds", "0.2", "--json",
                                 "--csv", "points.csv", "--html", "page.html")
        self.expect_failure(ended, 1, "1 of 1 points stopped after 0.2 s")
        (point,) = one_object(ended)["points"]
        self.assertEqual((point["packets"], point["etr"], point["resend_ratio"], point["stopped"]),
                         (0, None, None, True))
        self.expect_no_part_left("dead.trace")

    def test_a_limit_that_is_not_met_changes_nothing(self):
        self.grid()
        ended = self.run_command("sweep", "--ber", "1e-9", "--point-seconds", "1e6", "--no-timing")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(ended.out, self.run_command("sweep", "--ber", "1e-9", "--no-timing").out)
        for limit in ("0", "-1", "inf", "x"):
            self.expect_failure(self.run_command("sweep", "--point-seconds", limit, "--ber", "0"), 2)


def checked(line):
    """The line of a result with the check that fits it."""
    body = re.sub(rb',"check":"[^"]*"}\n$', b"", line)
    return body + b',"check":"%08x"}\n' % zlib.crc32(body)


class SweepCase(Case):
    def grid(self, text=GRID, name="grid.toml"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def results(self, name="grid.results"):
        with open(self.path(name), "rb") as file:
            return file.read()

    def sweep(self, *arguments, error=""):
        ended = self.run_command("sweep", *arguments)
        self.assertEqual((ended.code, ended.err), (0, error))
        return ended


class ASweepGoesOnWhereItEnded(SweepCase):
    def test_every_point_has_a_line_and_lines_are_sorted(self):
        out = one_object(self.sweep(self.grid(), "--json", "--csv", "grid.csv"))
        lines = self.results().decode().splitlines()
        self.assertEqual(len(lines), 30)
        self.assertEqual(lines, sorted(lines))
        self.assertNotIn("wall", lines[0])
        self.assertEqual(len(out["points"]), 30)
        compared = [point["deviation"] for point in out["points"] if point["deviation"] is not None]
        self.assertGreater(len(compared), 15)
        self.assertLess(max(map(abs, compared)), 4.5)
        with open(self.path("grid.csv"), encoding="utf-8") as file:
            rows = [line.split(",") for line in file]
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        self.assertEqual(len(rows), 31)
        self.expect_no_part_left("grid.toml", "grid.results", "grid.csv")

    def test_a_torn_line_is_dropped_and_what_is_there_is_not_simulated_again(self):
        self.sweep(self.grid())
        whole = self.results()
        lines = whole.splitlines(keepends=True)
        # A value that no simulation gives shows whether the sweep used the file or simulated again.
        kept = checked(lines[0].replace(b'"timeouts":', b'"timeouts":99'))
        with open(self.path("grid.results"), "wb") as file:
            file.write(kept + b"".join(lines[5:20]) + lines[20][:40])
        self.sweep("grid.toml",
                   error="wireproof: grid.results: the last line is incomplete and was dropped\n")
        self.assertEqual(sorted(self.results().splitlines(keepends=True)),
                         sorted([kept] + lines[1:]))

    def test_killed_and_started_again_it_has_the_same_results(self):
        self.sweep(self.grid())
        whole = self.results()
        os.remove(self.path("grid.results"))
        process = self.start("sweep", "grid.toml")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and process.poll() is None:
            if os.path.exists(self.path("grid.results")) and self.results().count(b"\n") > 2:
                break
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        ended = self.run_command("sweep", "grid.toml")
        self.assertEqual(ended.code, 0, ended.err)
        self.assertEqual(self.results(), whole)

    def test_results_of_another_sweep_are_left_alone(self):
        self.sweep(self.grid())
        self.grid(GRID.replace("seed = 7", "seed = 8"))
        before = self.results()
        self.expect_failure(self.run_command("sweep", "grid.toml"), 1, "grid.results:1: ")
        self.assertEqual(self.results(), before)

    def test_a_line_of_another_version_is_told_and_left_alone(self):
        self.sweep(self.grid())
        whole = self.results()
        lines = whole.splitlines(keepends=True)
        for field, other in ((b'"lost":0,', b""), (b'"p50":', b'"p49":'), (b'"etr":', b'"etr":[],"x":')):
            with self.subTest(field):
                older = lines[0] + checked(lines[1].replace(field, other)) + b"".join(lines[2:])
                with open(self.path("grid.results"), "wb") as file:
                    file.write(older)
                name = field.split(b'"')[1].decode()
                self.expect_failure(self.run_command("sweep", "grid.toml", "--csv", "grid.csv"), 1,
                                    "grid.results:2: ", f'"{name}"')
                self.assertEqual(self.results(), older)


    def test_a_line_in_which_anything_was_changed_is_refused(self):
        self.sweep(self.grid())
        lines = self.results().splitlines(keepends=True)
        self.assertEqual(lines[1], checked(lines[1]))
        digits = [place for place, byte in enumerate(lines[1]) if chr(byte).isdigit()]
        for place in digits[::7] + digits[-1:]:
            with self.subTest(place):
                changed = bytearray(lines[1])
                changed[place] = ord("7") if changed[place] != ord("7") else ord("1")
                with open(self.path("grid.results"), "wb") as file:
                    file.write(lines[0] + bytes(changed) + b"".join(lines[2:]))
                self.expect_failure(self.run_command("sweep", "grid.toml"), 1,
                                    "grid.results:2: the line was changed: its check is wrong")
        with open(self.path("grid.results"), "wb") as file:
            file.write(re.sub(rb',"check":"[^"]*"', b"", lines[0]))
        self.expect_failure(self.run_command("sweep", "grid.toml"), 1, "grid.results:1: ", '"check"')


class TheTasksOfASlurmArrayAreOneSweep(SweepCase):
    """Each task simulates its part. The same command outside the array takes the parts that are there."""
    PARTS = [f"grid.{part}-of-3.results" for part in (1, 2, 3)]

    def setUp(self):
        super().setUp()
        self.sweep(self.grid())
        self.whole = self.results()
        os.remove(self.path("grid.results"))

    def run_parts(self, *parts):
        for part in parts:
            ended = self.sweep_part(part, 3, "grid.toml")
            self.assertEqual((ended.code, ended.err), (0, ""))
            self.assertEqual(self.results(self.PARTS[part - 1]).count(b"\n"), 10)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def test_a_complete_set_of_parts_is_read(self):
        self.run_parts(1, 2, 3)
        # A changed result with a right check is printed as it is: nothing was simulated again.
        first, *rest = self.results(self.PARTS[1]).splitlines(keepends=True)
        other = checked(first.replace(b'"lost":0,', b'"lost":123456789,'))
        self.assertNotEqual(first, other)
        self.write(self.PARTS[1], other + b"".join(rest))
        self.assertEqual(self.sweep("grid.toml", "--json").out.count('"lost":123456789,'), 1)
        self.expect_no_part_left("grid.toml", "grid.results", *self.PARTS)
        self.assertEqual(self.results().replace(other, first), self.whole)

    def test_the_points_of_a_missing_part_are_simulated(self):
        self.run_parts(1, 3)
        self.sweep("grid.toml")
        self.assertEqual(self.results(), self.whole)
        self.expect_no_part_left("grid.toml", "grid.results", self.PARTS[0], self.PARTS[2])

    def test_a_task_that_is_run_again_alone_is_no_part(self):
        """An array of one task: Slurm gives it the whole sweep."""
        self.run_parts(1, 2)
        slurm = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "1", "SLURM_ARRAY_TASK_MIN": "3"}
        ended = self.run_command("sweep", "grid.toml", env={**self.environment(), **slurm})
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(self.results(), self.whole)

    def test_a_part_of_another_sweep_is_refused(self):
        self.grid(GRID.replace("seed = 7", "seed = 8"))
        self.run_parts(2)
        self.grid()
        self.run_parts(1, 3)
        self.expect_failure(self.run_command("sweep", "grid.toml"), 1, self.PARTS[1] + ":1: no point of this sweep")
        self.expect_no_part_left("grid.toml", *self.PARTS)

    def test_a_damaged_part_is_refused(self):
        self.run_parts(1, 2, 3)
        part = self.results(self.PARTS[2])
        self.write(self.PARTS[2], part.replace(b'"etr":0', b'"etr":1', 1))
        self.expect_failure(self.run_command("sweep", "grid.toml"), 1, self.PARTS[2] + ":1: the line was changed")
        self.expect_no_part_left("grid.toml", *self.PARTS)

    def test_of_a_part_that_ends_in_a_line_the_rest_is_simulated(self):
        self.run_parts(1, 2, 3)
        self.write(self.PARTS[2], self.results(self.PARTS[2])[:-20])
        self.sweep("grid.toml", error=f"wireproof: {self.PARTS[2]}: the last line is incomplete and was dropped\n")
        self.assertEqual(self.results(), self.whole)

    def test_other_files_are_no_parts(self):
        for name in ("grid.1-of-2.results.bak", "grid.x-of-2.results", "grid.of.results", "other.1-of-2.results"):
            self.write(name, b"no results\n")
        self.sweep("grid.toml")
        self.assertEqual(self.results(), self.whole)

    def test_an_array_counts_from_its_first_index_in_its_steps(self):
        slurm = {"ID": "14", "MIN": "10", "COUNT": "3", "MAX": "14", "STEP": "2"}
        ended = self.run_command("sweep", "grid.toml", env={
            **self.environment(), **{"SLURM_ARRAY_TASK_" + name: value for name, value in slurm.items()}})
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.expect_no_part_left("grid.toml", "grid.3-of-3.results")

    def test_an_array_with_gaps_is_refused(self):
        for wrong in ({"ID": "1", "MIN": "1", "MAX": "7"}, {"ID": "7", "MIN": "1"}, {"ID": "1", "MIN": "2"},
                      {"ID": "3", "STEP": "2"}, {"ID": "3", "STEP": "0"}, {"ID": "many"}, {"ID": "1", "COUNT": "-3"}):
            with self.subTest(wrong):
                slurm = {"COUNT": "3", **wrong}
                ended = self.run_command("sweep", "grid.toml", env={
                    **self.environment(), **{"SLURM_ARRAY_TASK_" + name: value for name, value in slurm.items()}})
                self.expect_failure(ended, 1, "SLURM_ARRAY_TASK_", slurm["ID"] if "-3" not in slurm.values() else "-3")
                self.expect_no_part_left("grid.toml")


if __name__ == "__main__":
    unittest.main()
