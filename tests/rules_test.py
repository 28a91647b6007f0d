#!/usr/bin/env python3
"""Fails if a rule of a protocol has no test that cites it, or no row in the protocol's README; of some protocols,
too, if no source names it where it stands.

A test cites a rule in the comment above it (`// UC-12`). A row of the README's table begins with one or more rules
(`| UC-15, 16 | function | test |`); each test that it names in full must exist.
"""
import pathlib
import re
import sys

# How many rules each protocol has, by the letters of their ids.
RULES = {
    "am": {"AM": 53},
    "pcie": {"PCIE": 39},
    "hippi": {"HIPPI": 37},
    "ib": {"UC": 29, "RC": 32},
}
TESTS = ("wireproof", "tests")
# Protocols whose sources name each rule at the code that follows it, and rules that are figures of the whole.
NAMED_IN_SOURCES = {"AM": {35}}
TEST = re.compile(r"^TEST(?:_P|_F)?\((\w+),\s*(\w+)\)|^TYPED_TEST\((\w+),\s*(\w+)\)", re.M)


def ids_in(text, letters):
    """All rules of these letters: "UC-15, 16" are two, "AM-3 to 5" and "AM-3 … 5" three."""
    found = set()
    for match in re.finditer(rf"\b{letters}-(\d+)((?:(?:, | and | to | … |–)\d+)*)", text):
        last = int(match[1])
        found.add(last)
        for how, number in re.findall(r"(, | and | to | … |–)(\d+)", match[2]):
            ranged = how in (" to ", " … ", "–")
            found.update(range(last + 1, int(number) + 1) if ranged else [int(number)])
            last = int(number)
    return found


def source_text(root):
    """Comments of all sources but tests."""
    files = [file for suffix in ("hpp", "cpp") for file in (root / "wireproof").rglob(f"*.{suffix}")]
    return "\n".join(line for file in files if not file.stem.endswith(("_test", "_test_kit"))
                     for line in re.findall(r"//.*$", file.read_text(), re.M))


def check(root):
    complaints = []
    comments, tests = [], set()
    for top in TESTS:
        for file in (root / top).rglob("*_test.cpp"):
            text = file.read_text()
            comments += re.findall(r"^ *//.*$", text, re.M)
            tests |= {f"{m[0] or m[2]}.{m[1] or m[3]}" for m in TEST.findall(text)}
    cited_text = "\n".join(comments)
    for protocol, sets in RULES.items():
        rows = [line for line in (root / "wireproof/proto" / protocol / "README.md").read_text().splitlines()
                if line.startswith("| ")]
        first_cells = "\n".join(line.split("|")[1] for line in rows)
        for letters, count in sets.items():
            every = set(range(1, count + 1))
            for rule in sorted(every - ids_in(cited_text, letters)):
                complaints.append(f"{letters}-{rule}: no test cites it")
            for rule in sorted(every - ids_in(first_cells, letters)):
                complaints.append(f"{letters}-{rule}: no row in the README of {protocol}")
        for letters in sets.keys() & NAMED_IN_SOURCES.keys():
            named = ids_in(source_text(root), letters) | NAMED_IN_SOURCES[letters]
            for rule in sorted(set(range(1, sets[letters] + 1)) - named):
                complaints.append(f"{letters}-{rule}: no source names it")
        for name in re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", "\n".join(rows)):
            if name not in tests and "/" not in name:
                complaints.append(f"{protocol}: the README names {name}, and there is no such test")
    return complaints


def self_test(root):
    """One more rule than there is: neither cited nor in the table, nor named in a source."""
    for protocol, letters in (("am", "AM"), ("ib", "UC")):
        RULES[protocol] = {letters: RULES[protocol][letters] + 1}
    am, uc = f"AM-{RULES['am']['AM']}", f"UC-{RULES['ib']['UC']}"
    expected = [f"{am}: no test cites it", f"{am}: no row in the README of am", f"{am}: no source names it",
                f"{uc}: no test cites it", f"{uc}: no row in the README of ib"]
    return 0 if check(root) == expected else 1


def main():
    if sys.argv[1] == "--self-test":
        return self_test(pathlib.Path(sys.argv[2]))
    complaints = check(pathlib.Path(sys.argv[1]))
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
