"""Single points and sweeps: their numbers, lines and seeds."""
import os
import signal
import unittest

from command import Case, one_object


class APointIsSimulated(Case):
    def point(self, *arguments):
        _, out = self.run_json("sweep", *arguments)
        self.assertEqual(out["schema"], "wireproof.sweep/1")
        (point,) = out["points"]
        return point

    def test_rare_errors_are_jumped_to(self):
        point = self.point("--protocol", "pcie", "--ber", "1e-15", "--packets", "1e15")
        self.assertEqual(point["packets"], 10**15)
        self.assertLess(point["relative_error"], 0.01)
        self.assertGreater(point["jumped"], 0.999999 * 10**15)
        self.assertLess(abs(point["deviation"]), 4)
        self.assertAlmostEqual(point["etr"], 4096 / 4124, 9)

    def test_jumping_changes_no_number(self):
        arguments = ("--ber", "3e-9", "--packets", "300000", "--seed", "5")
        jumped, lived = self.point(*arguments), self.point(*arguments, "--no-jump")
        self.assertGreater(jumped.pop("jumped"), 200000)
        self.assertEqual(lived.pop("jumped"), 0)
        for point in (jumped, lived):
            del point["wall_seconds"], point["frames_per_second"]
        self.assertEqual(jumped, lived)

    def test_without_errors_there_is_no_relative_error(self):
        point = self.point("--ber", "0", "--packets", "1000")
        self.assertIsNone(point["relative_error"])
        self.assertEqual(point["etr"], 4096 / 4124)

    def test_a_count_may_have_an_exponent(self):
        for text in ("1200", "1.2e3", "1.2E+3", "12e+2"):
            self.assertEqual(self.point("--ber", "0", "--packets", text)["packets"], 1200)

    def test_its_row_keeps_its_columns_where_the_line_is_very_bad(self):
        ended = self.run_command("sweep", "--protocol", "flit", "--fec", "off", "--ber", "1e-4", "--loop", "12800",
                                 "--packets", "3000")
        (row,) = [line for line in ended.out.splitlines() if line.startswith("flit ")]
        self.assertEqual(len(row.split()), 10, row)

    def rows(self, grid):
        """The lines of the table of a grid, without its head."""
        with open(self.path("rows.toml"), "w", encoding="utf-8") as file:
            file.write("packets = 2000\n" + grid)
        ended = self.run_command("sweep", "rows.toml")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)
        os.remove(self.path("rows.results"))
        return ended.out.splitlines()[1:]

    def test_a_row_says_what_distinguishes_its_point(self):
        rows = self.rows("[grid]\npreset = [\"cxl2-x8\", \"pcie-gen6-x16-selective\"]\nber = 1e-7\n"
                         "buffer = [50, 100]\n")
        rows = [row for row in rows if not row.startswith(" ")][:4]
        self.assertEqual([row.split()[0] for row in rows],
                         ["cxl2-x8"] * 2 + ["pcie-gen6-x16-selective"] * 2)
        self.assertEqual([row.split()[4] for row in rows], ["50", "100"] * 2)
        rows = self.rows("[grid]\nprotocol = \"ue-llr\"\nber = 1e-7\nloop = [500, 2000]\n")[:2]
        self.assertEqual([row.split()[3] for row in rows], ["500", "2000"])
        rows = self.rows("[grid]\nber = 1e-7\nack_every = [1, 4]\nloaded_back = [true, false]\n")
        self.assertEqual(rows[1::2], ["  units an ack 1, loaded back", "  units an ack 1",
                                      "  units an ack 4, loaded back", "  units an ack 4"])

    def test_a_row_does_not_repeat_what_its_preset_says(self):
        presets = "[grid]\npreset = [\"pcie-gen5-x16\", \"cxl3-x16\"]\nber = 1e-7\n"
        self.assertEqual([row.split()[0] for row in self.rows(presets)[:2]], ["pcie-gen5-x16", "cxl3-x16"])
        rows = self.rows(presets + "timer = [20000, 440000]\n")
        self.assertEqual(rows[1:8:2], ["  timer 20000", "  timer 440000"] * 2)

    def test_equal_settings_are_equal_in_all_that_changes_a_result(self):
        points = [self.point("--ber", "1e-6", "--packets", "1000", *more)
                  for more in ((), ("--overhead", "20"), ("--overhead", "24"))]
        asked = [point["asked"] for point in points]
        self.assertNotIn("overhead", asked[0])
        self.assertEqual([one["overhead"] for one in asked[1:]], [20, 24])
        with open(self.path("few.toml"), "w", encoding="utf-8") as file:
            file.write("packets_max = 1e5\n[grid]\nber = 1e-9\n")
        self.assertEqual(self.point("few.toml")["asked"]["packets_max"], 100000)

    def test_it_ends_at_the_relative_error_wanted(self):
        point = self.point("--protocol", "hippi6400", "--ber", "1e-6", "--relative-error", "0.05")
        self.assertLessEqual(point["relative_error"], 0.05)

    def test_what_makes_no_sense_is_refused(self):
        for arguments in (("--ber", "1e-18"), ("--payload", "5000"), ("--packets", "1.5"),
                          ("--packets", "0"), ("--packets", "1e19"), ("--packets", "1e+3abc"),
                          ("--packets", "1.55e+1"), ("--packets", "+5"), ("--packets", "0x10"),
                          ("--packets", "inf"), ("--packets", ""), ("--protocol", "tcp"),
                          ("--buffer", "3", "--ack-every", "9"), (), ("--json",), ("--csv", "points.csv")):
            with self.subTest(arguments):
                ended = self.run_command("sweep", *arguments)
                self.assertEqual(ended.code, 2)
                self.assertEqual(len(ended.lines_of_error()), 1, ended.err)
                if "--json" not in arguments:
                    self.assertEqual(ended.out, "")


class APointOrASweepIsGivenUp(Case):
    def give_up(self, *arguments):
        process = self.start("sweep", *arguments)
        self.until_it_catches(process, signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        self.expect_failure(self.finish(process), -signal.SIGTERM, "interrupted")

    def test_where_no_unit_is_taken(self):
        with open(self.path("dead.trace"), "w", encoding="utf-8") as file:
            file.write("ok\nbad 900000000000000\n")
        with open(self.path("grid.toml"), "w", encoding="utf-8") as file:
            file.write("[grid]\nprotocol = [\"pcie\", \"hippi6400\", \"sp-am\", \"rc\"]\n"
                       "[line]\nloss_trace = \"dead.trace\"\n")
        self.give_up("--loss-trace", "dead.trace")
        self.give_up("--ber", "0.05")
        self.give_up("grid.toml")
        self.expect_no_part_left("dead.trace", "grid.toml", "grid.results")


class TheSameSeedGivesTheSameBytes(Case):
    def same(self, *arguments, code=0):
        for form in ((), ("--json",)):
            with self.subTest((*arguments, *form)):
                ended = [self.run_command(*arguments, *form, "--no-timing") for _ in range(2)]
                self.assertEqual({(one.code, one.err) for one in ended}, {(code, "")})
                self.assertEqual(ended[0].out, ended[1].out)
                self.assertNotRegex(ended[0].out, r"[0-9] s\b|\"seconds\":[0-9]")

    def test_of_what_is_simulated(self):
        self.same("sweep", "--ber", "1e-6", "--packets", "1e5", "--seed", "4711")
        self.same("soak", "--worlds", "20", "--seed", "4711")
        self.same("soak", "--protocol", "ib", "--worlds", "20", "--seed", "4711")
        self.same("soak", "--protocol", "hippi6400", "--worlds", "20", "--seed", "4711")
        self.same("search", "pcie", "--faults", "1")
        self.same("search", "hippi6400", "--rule", "literal", "--no-damage", "--no-early-timers", code=1)


class PacketsOfHostsAreRows(Case):
    def point(self, *arguments):
        _, out = self.run_json("sweep", *arguments)
        (point,) = out["points"]
        return point

    def test_each_agrees_with_its_closed_form(self):
        for protocol in ("sp-am", "sp-am-selective", "rc", "uc"):
            with self.subTest(protocol):
                point = self.point("--protocol", protocol, "--ber", "1e-6", "--payload", "1024",
                                   "--packets", "100000")
                self.assertLess(abs(point["deviation"]), 4)
                self.assertEqual(point["lost"] > 0, protocol == "uc")
                self.assertEqual(point["resent"] > 0, protocol != "uc")

    def test_rare_errors_are_jumped_to(self):
        for protocol in ("sp-am", "rc", "uc"):
            with self.subTest(protocol):
                point = self.point("--protocol", protocol, "--ber", "1e-15", "--packets", "1e13")
                self.assertGreater(point["jumped"], 0.999 * 10**13)
                self.assertNotIn("cannot_jump", point)

    def test_what_one_has_not_is_refused_in_a_line(self):
        for arguments in (("rc", "--ack-every", "8"), ("sp-am", "--ack-every", "8"),
                          ("uc", "--timer", "50000"), ("uc", "--buffer", "9"),
                          ("rc", "--payload", "5000"), ("uc", "--notice-loss", "0.1"),
                          ("ideal", "--notice-loss", "0.5"), ("go-back-n", "--timer", "50000")):
            with self.subTest(arguments):
                ended = self.run_command("sweep", "--protocol", *arguments)
                self.assertEqual((ended.code, ended.out), (2, ""))
                self.assertEqual(len(ended.lines_of_error()), 1, ended.err)


class LinesHaveNamesBurstsAndRecords(Case):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def test_a_recorded_trace_decides_which_frames_are_bad(self):
        trace = self.write("cable.trace", "ok 99\nbad\n")
        _, out = self.run_json("sweep", "--loss-trace", trace, "--packets", "9700")
        (point,) = out["points"]
        self.assertEqual(point["cannot_jump"], "a recorded trace")
        self.assertEqual(point["resend_ratio"], 2 * 98 / 9700)
        self.write("other.trace", "# the same\nok 50\nok 49\nbad 1\n")
        _, same = self.run_json("sweep", "--loss-trace", "other.trace", "--packets", "9700")
        self.assertEqual(same["points"][0]["asked"], point["asked"])

    def test_a_sweep_file_names_a_trace_beside_it(self):
        os.mkdir(self.path("grids"))
        self.write("grids/cable.trace", "ok 9\nbad\n")
        self.write("grids/grid.toml", "packets = 1000\n[grid]\nber = 0\nprotocol = [\"ideal\", "
                   "\"uc\"]\n[line]\nloss_trace = \"cable.trace\"\n")
        _, out = self.run_json("sweep", "grids/grid.toml")
        for point in out["points"]:
            self.assertAlmostEqual(point["resend_ratio"], 1 / 9, 2)

    def test_what_is_wrong_with_a_trace_has_its_place(self):
        self.write("bad.trace", "ok 5\n  lost 2\n")
        ended = self.run_command("sweep", "--loss-trace", "bad.trace", "--csv", "bad.csv")
        self.expect_failure(ended, 1, "bad.trace:2:3: ")
        self.expect_failure(self.run_command("sweep", "--loss-trace", "none.trace"), 1, "none.trace")
        self.expect_no_part_left("bad.trace")

    def test_bursts_are_of_a_point_and_say_that_they_cannot_jump(self):
        _, out = self.run_json("sweep", "--burst-begin", "1e-3", "--burst-end", "0.5",
                               "--packets", "100000")
        (point,) = out["points"]
        self.assertEqual((point["cannot_jump"], point["closed_form"]), ("bursts", None))
        self.assertGreater(point["resend_ratio"], 1e-3)
        for arguments in (("--burst-end", "0.5"), ("--burst-begin", "2"),
                          ("--burst-begin", "0.1", "--burst-end", "0")):
            with self.subTest(arguments):
                ended = self.run_command("sweep", *arguments)
                self.assertEqual((ended.code, ended.out), (2, ""))
                self.assertEqual(len(ended.lines_of_error()), 1, ended.err)

    def test_presets_are_listed_and_simulated_in_seconds(self):
        listed = self.run_command("sweep", "--presets")
        self.assertEqual((listed.code, listed.err), (0, ""))
        self.assertIn("pcie-gen5-x16", listed.out)
        self.assertLessEqual(max(map(len, listed.out.splitlines())), 80)
        presets = one_object(self.run_command("sweep", "--presets", "--json"))["presets"]
        self.assertEqual(len({preset["preset"] for preset in presets}), len(presets))
        # In each line, spaces separate the columns.
        rows = [line.split() for line in listed.out.splitlines()]
        for preset in presets:
            row = [str(preset[key]) for key in ("preset", "protocol", "payload", "loop", "timer", "buffer")]
            self.assertIn(row, [columns[:6] for columns in rows])
        _, out = self.run_json("sweep", "--preset", "pcie-gen5-x16", "--ber", "1e-12",
                               "--packets", "1e9", "--payload", "128")
        (point,) = out["points"]
        self.assertEqual((point["protocol"], point["payload"], point["loop"]), ("pcie", 128, 3680))
        self.assertAlmostEqual(point["line"]["goodput"] / 64e9, 128 / 156, 3)
        self.assertAlmostEqual(point["line"]["latency_ns"]["p50"], point["latency"]["p50"] / 64, 6)

    def test_link_layer_retry_is_counted_under_its_own_names(self):
        _, out = self.run_json("sweep", "--preset", "ethernet-llr-400g-5m", "--ber", "1e-8",
                               "--packets", "100000")
        (point,) = out["points"]
        line = point["line"]
        self.assertEqual(line["receiver"]["LLR_RX_EXPECTED_SEQ_GOOD"], 100000)
        self.assertEqual(line["receiver"]["LLR_TX_NACK_CTL_OS"], point["naks"])
        self.assertEqual(line["sender"]["LLR_TX_OK"], 100000 + point["resent"])

    def test_a_grid_may_be_of_presets(self):
        self.write("grid.toml", "packets = 1000\n[grid]\nber = [0, 1e-7]\npayload = 512\n"
                   "preset = [\"sp2\", \"pcie-gen3-x4\"]\n")
        _, out = self.run_json("sweep", "grid.toml", "--csv", "grid.csv")
        self.assertEqual([(p["protocol"], p["payload"], p["loop"]) for p in out["points"]],
                         2 * [("sp-am", 512, 1880)] + 2 * [("pcie", 512, 920)])
        with open(self.path("grid.csv"), encoding="utf-8") as file:
            self.assertIn(",sp2,", file.read())

    def test_a_preset_has_its_protocol_and_is_no_flag_of_a_file(self):
        self.write("grid.toml", "[grid]\nprotocol = \"rc\"\npreset = \"sp2\"\n")
        self.expect_failure(self.run_command("sweep", "grid.toml"), 1, "grid.toml:3:10: ")
        for arguments in (("--preset", "sp3"), ("--preset", "sp2", "--protocol", "rc"),
                          ("grid.toml", "--preset", "sp2"),
                          ("grid.toml", "--loss-trace", "cable.trace")):
            with self.subTest(arguments):
                ended = self.run_command("sweep", *arguments)
                self.assertEqual((ended.code, ended.out), (2, ""))
                self.assertEqual(len(ended.lines_of_error()), 1, ended.err)


class ThePaperIsPutRight(Case):
    def test_the_crossovers_stand_where_they_belong(self):
        ended = self.run_command("sweep", "--paper", "--json")
        self.assertEqual((ended.code, ended.err), (0, ""))
        crossovers = one_object(ended)["crossovers"]
        self.assertEqual(crossovers["printed"], 1.56e-5)
        self.assertAlmostEqual(crossovers["recomputed"], 1.4494e-5, 9)
        for name, expected in (("costs_corrected", 2.8768e-6), ("equal_loop_2000", 4.7238e-6)):
            self.assertAlmostEqual(crossovers[name]["closed_form"] / expected, 1, 4)
        self.assertAlmostEqual(crossovers["equal_loop_as_specified"]["closed_form"] / 3.7935e-6, 1, 4)
        for name in ("costs_corrected", "equal_loop_2000", "equal_loop_as_specified"):
            found = crossovers[name]
            self.assertLess(found["standard_error"] / found["closed_form"], 0.01)
            self.assertLess(abs(found["simulated"] - found["closed_form"]), 4 * found["standard_error"])


class ASweepFileThatMakesNoSenseIsToldWithItsPlace(Case):
    def test_line_and_column_are_named(self):
        for text, place in (("[grid\n", "1:"), ("seed = 1\n", "1:1: "),
                            ("[grid]\nber = [1e-9, 2]\n", "2:14: "),
                            ("[grid]\nprotocol = \"tcp\"\n", "2:12: "),
                            ("[grid]\nspeed = 3\n", "2:1: "),
                            ("[grid]\npayload = []\n", "2:11: "),
                            ("\n[grid]\npayload = 5000\n", "3:11: "),
                            ("name = \"a/b\"\n[grid]\n", "1:8: "),
                            ("relative_error = 2\n[grid]\n", "1:18: ")):
            with self.subTest(text):
                with open(self.path("bad.toml"), "w", encoding="utf-8") as file:
                    file.write(text)
                ended = self.run_command("sweep", "bad.toml", "--csv", "bad.csv")
                self.expect_failure(ended, 1, "bad.toml:" + place)
                self.expect_no_part_left("bad.toml")


if __name__ == "__main__":
    unittest.main()
