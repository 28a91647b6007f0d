"""`sweep --advise`: the buffer and the timer of a line."""
import unittest

from command import Case


class ALineIsAdvised(Case):
    LINE = ("sweep", "--advise", "--rate", "400g", "--length", "5m", "--ber", "1e-9")

    def test_as_one_object(self):
        _, out = self.run_json(*self.LINE)
        self.assertEqual((out["schema"], out["bits_per_second"], out["metres"]), ("wireproof.advice/1", 400e9, 5))
        self.assertEqual([row["protocol"] for row in out["protocols"]], ["flit", "flit-selective", "ue-llr"])
        for row in out["protocols"]:
            self.assertTrue(row["reached"])
            self.assertGreaterEqual(row["throughput"], 0.99 * row["throughput_endless"])
            self.assertAlmostEqual(row["timer_ns"], row["timer_bytes"] / 50)
            self.assertGreater(row["timer_bytes"], row["loop_bytes"])

    def test_as_a_table_that_fits(self):
        ended = self.run_command(*self.LINE, "--payload", "1500")
        self.assertEqual((ended.code, ended.err), (0, ""))
        lines = ended.out.splitlines()
        self.assertEqual(lines[0], "400 Gbit/s, 5 m, bit error rate 1e-09, seed 1")
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual([line for line in lines if line != line.rstrip()], [])
        self.assertIn("ue-llr, 1500 B of payload a unit, loop 54 ns", lines)

    def test_with_the_delay_of_its_ends(self):
        ended = self.run_command(*self.LINE, "--delay", "300")
        self.assertEqual(ended.out.splitlines()[0], "400 Gbit/s, 5 m, 300 ns of delay, bit error rate 1e-09, seed 1")
        self.assertIn("ue-llr, 4096 B of payload a unit, loop 354 ns", ended.out)

    def test_or_it_says_what_is_missing_or_wrong(self):
        for arguments, why in (
                (("--advise", "--rate", "1g"), "--length"),
                (("--advise", "--rate", "fast", "--length", "1m"), "fast is no rate"),
                (("--advise", "--rate", "0", "--length", "1m"), "0 is no rate"),
                (("--advise", "--rate", "1g", "--length", "1"), "1 is no length"),
                (("--advise", "--rate", "1g", "--length", "1m", "--loop", "7"), "--loop"),
                (("--advise", "--rate", "1g", "--length", "1m", "--paper"), "--paper"),
                (("--rate", "1g", "--ber", "0"), "--advise")):
            ended = self.run_command("sweep", *arguments)
            with self.subTest(arguments):
                self.assertEqual((ended.code, ended.out), (2, ""))
                self.assertIn(why, ended.err)


if __name__ == "__main__":
    unittest.main()
