"""The page of a sweep as its readers see it: the files, and the page in a real browser if there is one."""
import os
import re
import shutil
import subprocess
import unittest

from browser import CHROMIUM, WHY_SKIPPED, Browser
from command import PATIENCE, Case, one_object

GRID = """
seed = 7
relative_error = 0.1
[grid]
protocol = ["pcie", "hippi6400", "ideal"]
ber = { from = 1e-12, to = 1e-5, points = 8 }
payload = [256, 1024, 4096]
"""
POINTS = 3 * 8 * 3


class PageCase(Case):
    simulated = {}  # the results of the grid and the page of the paper, which take seconds

    def once(self, name, simulate):
        """Writes the file as the first test made it."""
        if name not in self.simulated:
            simulate()
            with open(self.path(name), "rb") as file:
                self.simulated[name] = file.read()
        with open(self.path(name), "wb") as file:
            file.write(self.simulated[name])

    def grid(self, text=GRID, simulated=False):
        """Writes the grid. If it is `simulated`, its results are there already, and a sweep only reads them."""
        with open(self.path("grid.toml"), "w", encoding="utf-8") as file:
            file.write(text)
        if simulated:
            self.once("grid.results", lambda: self.run_command("sweep", "grid.toml"))

    def paper(self):
        """Writes the page of the paper, and returns the object of the same run."""
        def simulate():
            self.simulated["paper"] = one_object(self.run_command("sweep", "--paper", "--json", "--html", "page.html"))

        self.once("page.html", simulate)
        return self.simulated["paper"]

    def page(self, *arguments):
        """Runs this sweep and returns the text of its page."""
        ended = self.run_command("sweep", *arguments, "--html", "page.html")
        self.assertEqual((ended.code, ended.err), (0, ""))
        return self.text()

    def text(self, name="page.html"):
        with open(self.path(name), encoding="utf-8") as file:  # path() does not change an absolute path
            return file.read()

    @staticmethod
    def rows(page):
        body = page[page.index("<tbody>"):page.index("</tbody>")]
        return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", body)]


class ASweepIsShownAsAPage(PageCase):
    def test_that_needs_nothing_from_elsewhere(self):
        self.grid(simulated=True)
        page = self.page("grid.toml")
        self.assertEqual(re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[^>]*>", page), [])
        self.assertEqual(re.findall(r"@import|url\(http", page), [])
        self.expect_no_part_left("grid.toml", "grid.results", "page.html")

    def test_with_every_point_in_its_table_as_json_has_it(self):
        self.grid(simulated=True)
        out = one_object(self.run_command("sweep", "grid.toml", "--json", "--html", "page.html"))
        rows = self.rows(self.text())
        self.assertEqual(len(rows), POINTS)
        for number, (row, point) in enumerate(zip(rows, out["points"]), 1):
            self.assertEqual(row[:2], [str(number), point["protocol"]])
            self.assertEqual(float(row[2]), point["ber"])
            self.assertEqual(row[3], str(point["payload"]))
            self.assertAlmostEqual(float(row[5]), 100 * point["etr"], 4)
            self.assertAlmostEqual(float(row[8]) / point["resend_ratio"], 1, 3)

    def test_of_parts_and_of_resumed_results_the_same(self):
        self.grid(simulated=True)
        page = self.page("grid.toml")
        self.assertEqual(self.page("grid.toml"), page)
        os.remove(self.path("grid.results"))
        for part in (1, 2):
            # The page of a part has only the points of this part.
            self.assertEqual(self.sweep_part(part, 2, "grid.toml", "--html", "part.html").code, 0)
            self.assertEqual(len(self.rows(self.text("part.html"))), POINTS // 2)
        self.assertEqual(self.page("grid.toml"), page)

    def test_with_parameters_and_seed(self):
        page = self.page("--ber", "1e-6", "--seed", "4711", "--payload", "512")
        for name, value in (("seed", "4711"), ("payload", "512 bytes"), ("bit error rate", "1e-6"),
                            ("loop", "2000 bytes"), ("to a relative error of", "0.02")):
            self.assertIn(f"<dt>{name}</dt><dd>{value}</dd>", page)
        page = self.page("--ber", "1e-6", "--packets", "1e5", "--clean-back")
        self.assertIn("<dt>each point has</dt><dd>100\u202f000 packets</dd>", page)
        self.assertIn("<dt>clean back</dt><dd>yes</dd>", page)

    def test_with_the_ladder_of_the_point_that_is_named(self):
        self.grid(simulated=True)
        page = self.page("grid.toml", "--ladder-point", "26")
        self.assertIn("<h2>The first failure of point 26, frame by frame</h2>", page)
        self.assertIn("<title>hippi6400-first-failure</title>", page)
        self.assertIn("at a bit error rate of 1e-11 with 256 bytes", page)

    def test_with_the_ladder_of_a_point_that_tells(self):
        self.grid(simulated=True)
        # Of the points with at most 5 % bad units, the page shows the one with the most errors.
        self.assertIn("at a bit error rate of 1e-06 with 4096 bytes", self.page("grid.toml"))
        self.assertIn("No point sent a frame in vain", self.page("--ber", "0", "--packets", "100"))
        self.assertIn("No point sent a frame in vain",
                      self.page("--protocol", "ideal", "--ber", "1e-6"))

    def test_of_a_line_without_bit_errors_too(self):
        with open(self.path("cable.trace"), "w", encoding="utf-8") as file:
            file.write("ok 99\nbad\n")
        page = self.page("--loss-trace", "cable.trace", "--packets", "9700", "--svg", "curves.svg")
        self.assertIn(">sent again</text>", page)
        for text in (page, self.text("curves.svg")):
            self.assertGreaterEqual(text.count("<circle"), 2)
        self.assertIn("<h2>Resend ratio</h2>", page)
        page = self.page("--ber", "0", "--packets", "100")
        self.assertIn("<h2>ETR</h2>", page)
        self.assertNotIn("<h2>Resend ratio</h2>", page)

    def test_without_errors_a_point_has_no_place_on_the_axis(self):
        self.grid("[grid]\nber = [0, 1e-9, 1e-8]\n")
        self.assertIn("1 of 3 points have no place on the axis", self.page("grid.toml"))


class PicturesOfTheDocumentsAreOfTheirSweeps(PageCase):
    """And ladder-NAME.svg is the picture of that ladder."""
    DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")

    @staticmethod
    def shape(svg):
        """Returns what does not depend on the seed: the number of each kind of shape, and the names of the curves."""
        names = [name for name in re.findall(r">([^<]+)</text>", svg) if re.match("[a-z]", name)]
        return {"curves": svg.count("<polyline"), "points": svg.count("<circle"),
                "bands": svg.count("<polygon"), "names": names}

    def test_all_of_them(self):
        # The page shows the closed forms as a table.
        sweeps = sorted(name for name in os.listdir(os.path.join(self.DOCS, "sweeps"))
                        if not name.startswith("closed-forms-"))
        pictures = sorted(name for name in os.listdir(os.path.join(self.DOCS, "pictures"))
                          if not name.startswith("ladder-"))
        self.assertEqual([name.replace(".toml", ".svg") for name in sweeps], pictures)
        self.assertGreater(len(sweeps), 2)
        for sweep, picture in zip(sweeps, pictures):
            with self.subTest(sweep):
                ended = self.run_command("sweep", os.path.join(self.DOCS, "sweeps", sweep), "--svg",
                                         picture, "--relative-error", "0.5")
                self.assertEqual((ended.code, ended.err), (0, ""))
                drawn = self.shape(self.text(picture))
                self.assertGreater(drawn["points"], 30)
                self.assertEqual(drawn, self.shape(self.text(os.path.join(self.DOCS, "pictures", picture))))

    def test_ladders(self):
        ladders = [name for name in os.listdir(os.path.join(self.DOCS, "pictures")) if name.startswith("ladder-")]
        self.assertGreater(len(ladders), 0)
        for picture in ladders:
            ended = self.run_command("ladder", picture[len("ladder-"):-len(".svg")], "--svg", picture)
            self.assertEqual((ended.code, ended.err), (0, ""))
            self.same_bytes(self.path(picture), os.path.join(self.DOCS, "pictures", picture))


class APageThatCannotBeIsToldInOneLine(PageCase):
    def test_on_the_command_line(self):
        for arguments in (("--ladder-point", "1"), ("--html", "x", "--csv", "x"),
                          ("--html", "x", "--svg", "x"), ("--svg", "x", "--csv", "x"),
                          ("--html", "x", "--ladder-point", "0"), ("--paper", "--csv", "x"), ("--paper", "--svg", "x"),
                          ("--paper", "--html", "x", "--ladder-point", "1")):
            with self.subTest(arguments):
                ended = self.run_command("sweep", *arguments)
                self.assertEqual((ended.code, ended.out), (2, ""))
                self.assertEqual(len(ended.lines_of_error()), 1, ended.err)
                self.expect_no_part_left()

    def test_before_anything_is_simulated(self):
        self.grid()
        for arguments, words in ((("--ladder-point", "73"), "there are 72 points"),
                                 (("--ladder-point", "49"), "ideal is a model")):
            ended = self.run_command("sweep", "grid.toml", "--html", "page.html", *arguments)
            self.expect_failure(ended, 1, arguments[-1], words)
        ended = self.sweep_part(1, 2, "grid.toml", "--html", "page.html", "--ladder-point", "37")
        self.expect_failure(ended, 1, "37", "there are 36 points")
        ended = self.run_command("sweep", "grid.toml", "--html", "no/page.html")
        self.expect_failure(ended, 1, "no/page.html")
        self.expect_no_part_left("grid.toml")

    def test_where_a_part_has_no_points(self):
        self.grid("packets = 100\n[grid]\n")
        for option in ("--html", "--svg"):
            ended = self.sweep_part(2, 2, "grid.toml", option, "page")
            self.expect_failure(ended, 1, "no points")
            self.expect_no_part_left("grid.toml", "grid.2-of-2.results")

    def test_where_the_ladder_that_is_named_has_no_failure(self):
        ended = self.run_command("sweep", "--ber", "1e-9", "--packets", "5", "--html", "page.html",
                                 "--csv", "points.csv", "--ladder-point", "1")
        self.expect_failure(ended, 1, "point 1", "nothing in vain")
        self.expect_no_part_left()


LOOK = """
const drawn = plots.map(({plot, graph, element}) => {
  const canvas = element.querySelector("canvas");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let inked = 0;
  for (let i = 3; i < pixels.length; i += 4) inked += pixels[i] > 0;
  const labels = graph.getLabels().slice(1);
  const [low, high] = graph.yAxisRange();
  const cut = plot.rows.flatMap((row) => row.slice(1).flat())
    .filter((value) => value > 0 && !(value > low && value < high)).length;
  return {labels, inked, cut, width: element.clientWidth, visible: element.clientHeight > 100,
          points: labels.map((_, i) => {
            let points = 0;
            for (let row = 0; row < graph.numRows(); row++) points += graph.getValue(row, i + 1)?.[1] > 0
              || graph.getValue(row, i + 1) > 0;
            return points;
          })};
});
return {drawn, keys: [...document.querySelectorAll(".key")].map((key) => key.innerText),
        wide: document.documentElement.scrollWidth, ladder: document.querySelectorAll(".picture svg .line").length,
        table: document.querySelector(".wide").scrollWidth - document.querySelector(".wide").clientWidth};
"""
SORT = """
const table = document.querySelector("table.sortable");
const heads = [...table.tHead.rows[0].cells];
const column = heads.findIndex((head) => head.textContent === NAME);
const button = heads[column].querySelector("[role=button]");
const read = () => [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
const sorted = () => heads.map((head) => head.getAttribute("aria-sort")).filter((sort) => sort !== "none");
const states = [[sorted(), read()]];
button.focus();
const focused = document.activeElement === button;
for (const act of [() => button.click(),
    () => button.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true})),
    () => button.dispatchEvent(new KeyboardEvent("keydown", {key: " ", bubbles: true}))]) {
  act();
  states.push([sorted(), read()]);
}
return {focused, states};
"""


FEW_MARKS = """
const few = [];
for (let from = -7; from < -6; from += 0.0137) {
  for (let width = 0.004; width < 3; width *= 1.13) {
    const ticks = decades(from, from + width, 100);
    const inside = ticks.every((tick) => tick.v > from - 1e-6 && tick.v < from + width + 1e-6);
    if (!inside || new Set(ticks.map((tick) => tick.label)).size < 2) few.push([from, width, ticks]);
  }
}
return few;
"""
MARKS = "return decades(Math.log10(2.1e-7), Math.log10(4.9e-7), 300).map((tick) => tick.label);"


# The browser's window is at least 500 pixels wide, so the script makes the body narrower.
NARROW = """
document.body.style.cssText = "width:WIDTHpx;margin:0";
for (const {graph} of plots) graph.resize();
const wide = [...document.querySelectorAll(".wide, .picture")];
return {width: document.body.clientWidth, content: document.body.scrollWidth,
        scrollers: wide.map((one) => [one.className, one.scrollWidth > one.clientWidth,
          one.getBoundingClientRect().right, one.tabIndex])};
"""


def each(*scripts):
    """One script that returns what each of these returns. A start of the browser takes seconds."""
    return "return [" + ", ".join("(() => {%s})()" % script for script in scripts) + "];"


def narrow(widths):
    return each(*(NARROW.replace("WIDTH", str(width)) for width in widths))


class BrowserCase(PageCase):
    def setUp(self):
        if CHROMIUM is None:
            print(WHY_SKIPPED)
            self.skipTest(WHY_SKIPPED)
        super().setUp()
        self.browser = Browser(self.path("."))

    def ask(self, script, *arguments):
        return self.browser.ask(self.path("page.html"), script, *arguments)


class APageWorksInABrowser(BrowserCase):
    def test_curves_are_drawn_at_the_width_of_a_laptop(self):
        self.grid(simulated=True)
        self.page("grid.toml")
        for colours in ((), ("--blink-settings=preferredColorScheme=0",)):
            seen, console = self.ask(LOOK, "--window-size=1280,800", *colours)
            self.assertEqual(console, [])
            self.assertEqual(len(seen["drawn"]), 9)
            for plot in seen["drawn"]:
                self.assertEqual(plot["labels"][:3], ["pcie", "hippi6400", "ideal"])
                self.assertEqual(plot["points"][:3], [8, 8, 8])
                for points in plot["points"][3:]:
                    self.assertGreater(points, 50)
                self.assertGreater(plot["inked"], 2000)
                self.assertEqual(plot["cut"], 0)
                self.assertTrue(plot["visible"])
                self.assertGreater(plot["width"], 340)
            for key in seen["keys"][:6]:
                self.assertRegex(key, r"pcie\s*hippi6400\s*ideal\s*closed form")
            self.assertLessEqual(seen["wide"], 1280)
            self.assertEqual(seen["table"], 0)
            self.assertGreater(seen["ladder"], 10)

    def test_on_a_narrow_page_the_ladder_and_the_tables_scroll_and_nothing_else(self):
        self.grid(simulated=True)
        for make, kinds in ((lambda: self.page("grid.toml"), ["picture", "wide"]), (self.paper, 3 * ["wide"])):
            make()
            widths = (500, 400, 340)
            answers, console = self.ask(narrow(widths), "--window-size=500,900")
            self.assertEqual(console, [])
            for width, seen in zip(widths, answers):
                with self.subTest((kinds, width)):
                    self.assertEqual((seen["width"], seen["content"]), (width, width))
                    self.assertEqual([kind for kind, *_ in seen["scrollers"]], kinds)
                    for _, scrolls, right, tab_index in seen["scrollers"]:
                        self.assertTrue(scrolls)
                        self.assertLess(right, width)
                        self.assertEqual(tab_index, 0)

    def test_a_page_of_measurements_is_as_narrow_whatever_its_command_line(self):
        name = "page.html"
        os.makedirs(self.path("a" * 80))
        self.assertEqual(self.run_command("perf", "--rounds", "1", "--seconds", "0.01", "--html",
                                          "a" * 80 + "/../" + name).code, 0)
        [seen], console = self.ask(narrow([400]), "--window-size=500,900")
        self.assertEqual((console, seen["width"], seen["content"]), ([], 400, 400))

    def test_a_single_point_stands_on_its_closed_form_and_every_logarithmic_axis_has_two_marks_or_more(self):
        self.page("--protocol", "hippi6400", "--ber", "1e-6", "--relative-error", "0.1")
        (seen, few, marks), console = self.ask(each(LOOK, FEW_MARKS, MARKS), "--window-size=1280,800")
        self.assertEqual(console, [])
        self.assertEqual(len(seen["drawn"]), 2)
        for plot in seen["drawn"]:
            self.assertEqual(plot["points"][0], 1)
            self.assertGreaterEqual(plot["points"][1], 20)
        self.assertEqual((few, marks), ([], ["3·10⁻⁷", "4·10⁻⁷"]))

    def test_the_paper_is_put_right_on_a_page_too(self):
        out = self.paper()
        page = self.text()
        for name in ("costs_corrected", "equal_loop_2000", "equal_loop_as_specified"):
            self.assertIn(f"<td>{out['crossovers'][name]['closed_form']:.5g}</td>", page)
            self.assertIn(f"<td>{out['crossovers'][name]['simulated']:.4g}</td>", page)
        for figure in out["figures"]:
            self.assertIn(f"<td>{figure['printed']:.4g}</td><td>{figure['recomputed']:.5g}</td>", page)
        seen, console = self.ask("return plots.map(({graph}) => [graph.numRows(), graph.getLabels().length]);")
        self.assertEqual(console, [])
        # 50 rows for five decades, one for their end, and two for rates between the marks.
        self.assertEqual(seen, [[53, 5], [53, 3]])

    def test_a_mistake_in_a_script_would_be_seen(self):
        self.page("--ber", "1e-6", "--relative-error", "0.1")
        _, console = self.ask("setTimeout(() => plots.missing.fails(), 0); return 1;")
        self.assertEqual(len(console), 1)
        self.assertIn("TypeError", console[0])

    def test_the_table_sorts_by_click_and_by_key(self):
        self.grid(simulated=True)
        self.page("grid.toml")
        columns = (("ETR %", float), ("bit error rate", float), ("protocol", str),
                   ("packets", lambda text: float(text.replace("\u202f", ""))))
        answers, console = self.ask(each(*(SORT.replace("NAME", f'"{name}"') for name, _ in columns)))
        self.assertEqual(console, [])
        before = []
        for (name, value), seen in zip(columns, answers):
            with self.subTest(name):
                self.assertTrue(seen["focused"])
                kinds, states = zip(*seen["states"])
                self.assertEqual(list(kinds), [before, ["ascending"], ["descending"], ["ascending"]])
                before = ["ascending"]
                up = sorted(states[0], key=value)
                self.assertNotEqual(states[0], up)
                self.assertEqual(list(map(value, states[1])), list(map(value, up)))
                self.assertEqual(list(map(value, states[2])), list(map(value, reversed(up))))
                self.assertEqual(states[3], states[1])

    def test_what_is_missing_is_last_either_way(self):
        self.grid("[grid]\nber = [1e-9, 0, 1e-8]\n")
        self.page("grid.toml")
        seen, _ = self.ask(SORT.replace("NAME", '"± %"'))
        for _, column in seen["states"][1:]:
            self.assertEqual(column.index(""), 2)


@unittest.skipUnless(shutil.which("pdftotext"), "no pdftotext on this machine (Debian: poppler-utils)")
class APageIsPrintedWhole(BrowserCase):
    def test_with_every_plot_and_every_row(self):
        self.grid(simulated=True)
        self.page("grid.toml")
        paper, console = self.browser.paper(self.path("page.html"))
        self.assertEqual(console, [])
        pages = subprocess.run(["pdftotext", "-layout", paper, "-"], capture_output=True, text=True,
                               timeout=PATIENCE, check=True).stdout.split("\f")
        text = "\n".join(pages)
        self.assertEqual(len(re.findall(r"payload (?:256|1024|4096) bytes", text)), 9)
        self.assertEqual(len(re.findall(r"closed form(?! %)", text)), 6 + 2, text)
        # The paper has the whole ladder, to its right edge and its last line.
        for words in ("pcie-first-failure", "out of sequence", "sent again", "a longer wait"):
            self.assertIn(words, text)
        rows = re.findall(r"^ *(\d+) +(?:pcie|hippi6400|ideal) ", text, re.M)
        self.assertEqual([int(row) for row in rows], list(range(1, POINTS + 1)))
        # Each page with rows has the heads of the columns.
        for page in pages:
            if re.search(r"^ *\d+ +(?:pcie|hippi6400|ideal) ", page, re.M):
                self.assertRegex(page, r"point +protocol")


if __name__ == "__main__":
    unittest.main()
