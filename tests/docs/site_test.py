#!/usr/bin/env python3
"""Makes the site of the documentation without a warning, and follows each link between its pages."""
import html.parser
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Doxygen 1.9.4 lists this section in a table of contents, also if it makes no anchor for it.
WITHOUT_ANCHOR = "nested-classes"
# What a page shows if Doxygen did not understand a part of it.
NOT_UNDERSTOOD = re.compile(r"@(?:ref|section|verbatim|code)\b|&lt;/?(?:tt|strong)&gt;")


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name"):
                self.anchors.add(value)
            elif name in ("href", "src", "data") and value and not re.match(r"[a-z]+:|//", value):
                self.links.append(value)


def dead_links(folder):
    pages = {file.name: Page(file) for file in folder.glob("*.html")}
    for name, page in sorted(pages.items()):
        for link in page.links:
            target, _, anchor = link.partition("#")
            target = target or name
            if not (folder / target).exists():
                yield f"{name}: {link}"
            elif anchor not in ("", WITHOUT_ANCHOR) and target in pages and anchor not in pages[target].anchors:
                yield f"{name}: {link}"


class TheSiteIsMade(unittest.TestCase):
    def test_without_a_warning_or_a_dead_link(self):
        with tempfile.TemporaryDirectory() as name:
            made = subprocess.run([SOURCE / "tools/site.sh", "--out", name], capture_output=True, text=True, timeout=600,
                                  check=False)
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            site = pathlib.Path(name)
            self.assertEqual(list(dead_links(site)), [])
            self.assertEqual([file.name for file in site.glob("*.html")
                              if NOT_UNDERSTOOD.search(file.read_text(encoding="utf-8"))], [])
            for page, words in (("index.html", "Why you may believe it"), ("am_8hpp.html", "Endpoint"),
                                ("lab_8hpp.html", "one more message"), ("md_docs_guide_links_link_retry.html", "1e-15"),
                                ("md_docs_guide_links_sweeps.html", "grid.results"),
                                ("example_programs.html", "carries more on a noisy line")):
                self.assertRegex((site / page).read_text(encoding="utf-8"), words)

    def test_a_dead_link_is_found(self):
        with tempfile.TemporaryDirectory() as name:
            pathlib.Path(name, "a.html").write_text('<a href="a.html#x">x</a><a href="b.html">b</a><a name="y" href="#y">y</a>')
            self.assertEqual(list(dead_links(pathlib.Path(name))), ["a.html: a.html#x", "a.html: b.html"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
