#!/usr/bin/env python3
"""Deliberate defects of the Wireshark plugin (tests/mutants/listed.json). The test that each names must fail.

usage: wireshark_mutants_test.py [CLASS] [unittest options]

tests/mutants/run.py builds defects of C++; the plugin needs no build.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from wireshark_kit import PATIENCE, PLUGIN, ROOT, Case

HERE = pathlib.Path(__file__).parent
FOLDER = "tools/wireshark/wireproof/"
MUTANTS = [mutant for mutant in json.loads((ROOT / "tests/mutants/listed.json").read_text())
           if mutant["file"].startswith(FOLDER)]


class Mutants(Case):
    def passes(self, test, plugin):
        """Whether the test passes with this plugin: "wireshark_test.Packets.test_numbers_wrap"."""
        program, name = test.split(".", 1)
        done = subprocess.run([sys.executable, HERE / (program + ".py"), name], capture_output=True, text=True,
                              timeout=PATIENCE, check=False, env={**os.environ, "WIREPROOF_WIRESHARK": str(plugin)})
        self.assertIn("Ran 1 test", done.stderr)
        self.assertNotIn("skipped", done.stderr)
        return done.returncode == 0

    def test_each_is_killed_by_the_test_that_it_names(self):
        for test in sorted({mutant["killed_by"] for mutant in MUTANTS}):
            with self.subTest(test):
                self.assertTrue(self.passes(test, PLUGIN))
        for place, mutant in enumerate(MUTANTS):
            with self.subTest(mutant["name"]):
                spoilt = pathlib.Path(self.path(f"mutant{place}"))
                shutil.copytree(PLUGIN, spoilt)
                file = spoilt / mutant["file"].removeprefix(FOLDER)
                file.write_text(file.read_text().replace(mutant["find"], mutant["replace"]))
                self.assertFalse(self.passes(mutant["killed_by"], spoilt), "it survives")


if __name__ == "__main__":
    unittest.main()
