"""Pages and pictures of each kind of line: with bursts, without retransmission, loaded in both
directions, and with names."""
import os
import re
import unittest

from page_test import LOOK, BrowserCase, PageCase

PRESETS = 20  # of PCIe: the key of a picture has no room for so many lines
KINDS = {
    "bursts": "packets = 20000\n[grid]\nber = [0, 1e-7]\n[line]\nbursts = { begin = 1e-3 }\n",
    "uc": "packets = 20000\n[grid]\nprotocol = [\"uc\", \"pcie\"]\nber = 1e-6\nbuffer = [2, 4, 8]\n",
    "loaded": "packets = 20000\n[grid]\nber = [1e-7, 1e-6]\nloaded_back = [false, true]\n",
    "presets": "packets = 1000\n[grid]\nber = [1e-9, 1e-8, 1e-7]\npreset = [{}]\n".format(", ".join(
        f'"pcie-gen{generation}-x{width}"' for generation in range(1, 6) for width in (1, 4, 8, 16))),
}


class EveryKindOfLineIsDrawn(PageCase):
    def drawn(self, kind):
        """Checks what must be true for each kind, and returns the picture."""
        self.grid(KINDS[kind])
        page = self.page("grid.toml", "--svg", "curves.svg")
        os.remove(self.path("grid.results"))
        picture = self.text("curves.svg")
        for text in (page[:page.index("<script>")], picture):
            for word in ("nan", "inf", ">-0<", ">-0 %<", "></text>"):
                self.assertNotIn(word, text)
        for x, y in re.findall(r'<circle cx="([^"]*)" cy="([^"]*)" r="2.4"', picture):
            self.assertGreater(float(x), 0)
            self.assertGreater(float(y), 0)
        return page, picture

    @staticmethod
    def names(svg):
        return re.findall(r'fill="#1f2328">([^<]+)</text>', svg)

    def test_with_bursts(self):
        page, picture = self.drawn("bursts")
        self.assertIn("Simulated frame by frame because of bursts.", page)
        self.assertIn("The first failure of point 2, frame by frame", page)
        self.assertEqual(self.names(picture), 3 * ["pcie"])

    def test_of_one_that_resends_nothing(self):
        page, picture = self.drawn("uc")
        self.assertIn("1 of 4 points have no place on the axis", page)
        self.assertEqual(self.names(picture), ["pcie", "closed form", "pcie", "closed form", "pcie"])
        self.assertEqual(picture.count(">replay buffer, units<"), 3)

    def test_saturated_both_ways(self):
        _, picture = self.drawn("loaded")
        both = ["pcie", "loaded back"]
        self.assertEqual(self.names(picture), both + ["closed form"] + both + ["closed form"] + both)

    def test_of_every_name(self):
        _, picture = self.drawn("presets")
        self.assertEqual(len(set(self.names(picture)) - {"closed form"}), PRESETS)
        etr, resends, throughput = picture.split("<g transform")[1:]
        self.assertEqual([plot.count("<circle") for plot in (etr, throughput)], 2 * [3 * PRESETS])
        for plot in (etr, resends, throughput):
            # All points are below the key and above the axis.
            lowest_name = max(map(float, re.findall(r'y="([^"]*)"[^>]*fill="#1f2328">', plot)))
            heights = [float(y) for y in re.findall(r'<circle cx="[^"]*" cy="([^"]*)"', plot)]
            self.assertGreater(min(heights), lowest_name)
            whole = float(re.search(r'viewBox="0 0 [^ ]* ([^"]*)"', plot)[1])
            self.assertLess(max(heights), whole - 40)
            self.assertGreater(whole - lowest_name, 240)


class EveryKindOfLineWorksInABrowser(BrowserCase):
    def test_curves_of_every_kind_of_line_are_drawn(self):
        for kind, curves in (("bursts", 1), ("uc", 1), ("loaded", 2), ("presets", PRESETS)):
            with self.subTest(kind):
                self.grid(KINDS[kind])
                self.page("grid.toml")
                os.remove(self.path("grid.results"))
                seen, console = self.ask(LOOK, "--window-size=1280,800")
                self.assertEqual(console, [])
                self.assertEqual(len(seen["drawn"]), 3)
                for plot, key in zip(seen["drawn"], seen["keys"]):
                    self.assertEqual(len([name for name in plot["labels"] if "closed" not in name]), curves)
                    self.assertGreater(plot["inked"], 500)
                    self.assertEqual(plot["cut"], 0)
                    self.assertIn(plot["labels"][0], key)


if __name__ == "__main__":
    unittest.main()
