#!/usr/bin/env python3
"""Prints a page for Doxygen, whose pages are all in one folder.

  links.py FILE

Doxygen 1.9.4 has no anchors for the headings of a page, so it gets links without them, and without code in their text.
The text of a link to a page must be on one line: Doxygen would show the rest of the section as plain text. It finds other
pages itself. Links to other files begin at the root of the repository, as tools/site.sh copies them; a file that
is not on the site gets none.
"""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ON_THE_SITE = re.compile(r"docs/(pictures|sweeps)\b|docs/.*\.ipynb$|examples/|include/")


def rewritten(text, folder):
    def link(match):
        label, target = match.groups()
        label = " ".join(label.split())
        plain = label.replace("`", "")
        path, _, _ = target.partition("#")
        if re.match(r"[a-z]+:", target):
            return f"{label}({target})"
        if not path:
            return label[1:-1]
        if path.endswith(".md"):
            return f"{plain}({path})"
        from_root = os.path.relpath(os.path.normpath(folder / path), ROOT)
        return f"{plain}({from_root})" if ON_THE_SITE.match(from_root) else label[1:-1]

    return re.sub(r"(\[[^\[\]]*\])\(([^()\s]+)\)", link, text)


if __name__ == "__main__":
    page = pathlib.Path(sys.argv[1]).resolve()
    sys.stdout.write(rewritten(page.read_text(encoding="utf-8"), page.parent))
