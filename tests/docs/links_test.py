#!/usr/bin/env python3
"""Fails if a link in a page of the repository leads nowhere, or if no other page links to a page of docs.

  links_test.py SOURCE_DIR
  links_test.py --self-test

A page is a .md file that git tracks; without git, each one outside of build. A link leads somewhere if its file exists
and has the heading of its anchor. Links in code are no links.
"""
import os
import pathlib
import re
import subprocess
import sys

CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|^(?: {4}|\t)[^\n]*$|`[^`\n]+`", re.M | re.S)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)", re.S)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.M)


def pages(root):
    """Returns the text of each page by its path from the root."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True,
                            text=True, check=False)
    names = listed.stdout.splitlines() if listed.returncode == 0 else [
        str(path.relative_to(root)) for path in root.rglob("*.md") if path.relative_to(root).parts[0] != "build"]
    return {name: (root / name).read_text(encoding="utf-8") for name in sorted(names) if (root / name).exists()}


def without_code(text):
    """Keeps the text of a link that is code: [`name`](file)."""
    return CODE.sub(lambda match: "code" if match[0].startswith("`") and "\n" not in match[0] else "", text)


def anchors(text):
    """Returns the anchors that GitHub makes of the headings, and those in HTML."""
    found = {}
    for heading in HEADING.findall(re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    repeated = {f"{anchor}-{n}" for anchor, more in found.items() for n in range(1, more + 1)}
    return set(found) | repeated | set(re.findall(r"(?:id|name)=\"([^\"]+)\"", text))


def check(texts, exists):
    """`texts`: text by path. `exists`: whether the repository has this path."""
    problems, found = [], set()
    for name, text in texts.items():
        for link in LINK.findall(without_code(text)):
            if ELSEWHERE.match(link):
                continue
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if target.startswith(".."):
                problems.append(f"{name}: {link} leads out of the repository")
            elif not exists(target):
                problems.append(f"{name}: {link} leads nowhere")
            elif anchor and target in texts and anchor not in anchors(texts[target]):
                problems.append(f"{name}: {link}: {target} has no such heading")
            if target != name:
                found.add(target)
    problems += [f"{name}: no page links to it" for name in texts if name.startswith("docs/") and name not in found]
    return problems


def self_test():
    good = {"README.md": "# A\n\n[b](docs/b.md#two-words) [`c`](docs/c.md) [web](https://example.org/x.md)\n\n"
                         "    [code](nowhere.md)\n\n```\n[code](nowhere.md)\n```\n\n`[code](nowhere.md)`\n",
            "docs/b.md": "# B\n\n## Two *words*!\n\nText over\n[two\nlines](../README.md#a) ![p](picture.svg)\n\n## Same\n\n## Same\n",
            "docs/c.md": "[same](b.md#same-1), [own](#c)\n\n# C\n"}
    files = {*good, "docs/picture.svg"}

    def problems(**planted):
        return check({**good, **{name.replace("_", "/") + ".md": text for name, text in planted.items()}}, files.__contains__)

    assert problems() == [], problems()
    planted = {
        "[x](b.md)": "README.md: b.md leads nowhere",
        "[x](docs/b.md#three)": "README.md: docs/b.md#three: docs/b.md has no such heading",
        "[x](docs/b.md#same-2)": "README.md: docs/b.md#same-2: docs/b.md has no such heading",
        "[x](#b)": "README.md: #b: README.md has no such heading",
        "[x](../b.md)": "README.md: ../b.md leads out of the repository",
        "![x](docs/gone.svg)": "README.md: docs/gone.svg leads nowhere",
        "[`x`](docs/gone.md)": "README.md: docs/gone.md leads nowhere",
        "[two\nlines](docs/gone.md)": "README.md: docs/gone.md leads nowhere",
    }
    for link, wanted in planted.items():
        assert problems(README=good["README.md"] + link) == [wanted], (link, problems(README=good["README.md"] + link))
    assert problems(README="# A\n\n[b](docs/b.md)\n") == ["docs/c.md: no page links to it"]
    assert problems(docs_c="# C\n\n[own](c.md)\n", README="# A\n\n[b](docs/b.md)\n") == ["docs/c.md: no page links to it"]


def main():
    if sys.argv[1] == "--self-test":
        self_test()
        return 0
    root = pathlib.Path(sys.argv[1]).resolve()
    texts = pages(root)
    problems = check(texts, lambda path: (root / path).exists())
    print("\n".join([*problems, f"{len(texts)} pages, {len(problems)} problems"]))
    return 1 if problems or len(texts) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
