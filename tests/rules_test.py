#!/usr/bin/env python3
"""Fails unless docs/rules, the sources, the tests and the tables of the READMEs agree about the rules.

  rules_test.py SOURCE_DIR
  rules_test.py --self-test SOURCE_DIR

docs/rules/PROTOCOL.md states each rule in its own line: `* **AM-7**: one sentence.` A rule that is not implemented ends
with `Not built: why.` A comment of a source and a comment of a test must cite each other rule, and the rule must have a
row in the table of wireproof/proto/PROTOCOL/README.md: `| UC-15, 16 | function | test |`. In each row

  - a source file that cites the rule has one of the functions that the row names, or is in the folder that it names;
  - each test that the row names exists, and the test or the comment above it cites a rule of the row. `.Name` is a test
    of the suite named before it, `Name` a test of any suite. A name with `…` or `*` is not checked.
"""
import pathlib
import re
import sys
import typing

# The letters at the begin of the rule ids of each protocol.
LETTERS = {"am": ["AM"], "pcie": ["PCIE"], "hippi": ["HIPPI"], "flit": ["FLIT", "UCIE"], "ue": ["LLR"],
           "cxl": ["CXL"], "ib": ["UC", "RC"]}
RULE = re.compile(r"^\* \*\*([A-Z]+)-(\d+)\*\*: (.+(?:\n  .+)*)", re.M)
TEST = re.compile(r"^TEST(?:_P|_F)?\((\w+),\s*(\w+)\)|^TYPED_TEST\((\w+),\s*(\w+)\)", re.M)
COMMENT = re.compile(r"//.*$", re.M)


class Tree(typing.NamedTuple):
    sources: dict  # path -> text
    tests: dict  # Suite.Name -> comments above it and in it
    cited_by_tests: str  # comments of all tests
    rules: dict  # protocol -> text of docs/rules/PROTOCOL.md
    readmes: dict  # protocol -> text of its README


def ids_in(text, letters):
    """Returns all rules with these letters. "UC-15, 16" are two rules, "AM-3 to 5" and "AM-3 … 5" are three."""
    found = set()
    for match in re.finditer(rf"\b{letters}-(\d{{1,3}})\b((?:(?:, | and | to | … |–)\d+)*)", text):
        last = int(match[1])
        found.add(last)
        for how, number in re.findall(r"(, | and | to | … |–)(\d+)", match[2]):
            ranged = how in (" to ", " … ", "–")
            found.update(range(last + 1, int(number) + 1) if ranged else [int(number)])
            last = int(number)
    return found


def comments_of(text):
    """Returns one line for each comment, because a list of rules may continue in the next line of the comment."""
    found, follows = [], False
    for line in text.splitlines():
        comment = COMMENT.search(line)
        if comment and follows and line.lstrip().startswith("//"):
            found[-1] += comment[0].lstrip("/")
        elif comment:
            found.append(comment[0])
        follows = comment is not None
    return "\n".join(found)


def tests_in(text):
    """Returns each test with the comments above it and in it."""
    lines = text.splitlines()
    starts = []
    for number, line in enumerate(lines):
        match = TEST.match(line)
        if match:
            above = number
            while above > 0 and lines[above - 1].startswith("//"):
                above -= 1
            starts.append((above, f"{match[1] or match[3]}.{match[2] or match[4]}"))
    ends = [start for start, _ in starts[1:]] + [len(lines)]
    return {name: comments_of("\n".join(lines[start:end])) for (start, name), end in zip(starts, ends)}


def read_tree(root):
    sources, tests, cited = {}, {}, []
    for file in [file for suffix in ("hpp", "cpp") for file in (root / "wireproof").rglob(f"*.{suffix}")]:
        if not file.stem.endswith(("_test", "_test_kit")):
            sources[str(file.relative_to(root))] = file.read_text()
    for top in ("wireproof", "tests"):
        for file in (root / top).rglob("*_test.cpp"):
            text = file.read_text()
            cited.append(comments_of(text))
            tests |= tests_in(text)
    return Tree(sources, tests, "\n".join(cited),
                {protocol: (root / "docs/rules" / f"{protocol}.md").read_text() for protocol in LETTERS},
                {protocol: (root / "wireproof/proto" / protocol / "README.md").read_text() for protocol in LETTERS})


def stated(protocol, tree, complaints):
    """Returns the implemented rules of the protocol, by their letters."""
    found = {letters: {} for letters in LETTERS[protocol]}
    for letters, number, sentence in RULE.findall(tree.rules[protocol]):
        if letters not in found:
            complaints.append(f"docs/rules/{protocol}.md: {letters}-{number} is of another protocol")
            continue
        if int(number) in found[letters]:
            complaints.append(f"{letters}-{number}: stated twice")
        found[letters][int(number)] = sentence
    for letters, rules in found.items():
        for missing in sorted(set(range(1, max(rules, default=1) + 1)) - set(rules)):
            complaints.append(f"{letters}-{missing}: docs/rules/{protocol}.md does not state it")
    return {letters: {rule for rule, sentence in rules.items() if "Not built: " not in sentence}
            for letters, rules in found.items()}


def tests_named(cell, tree):
    """Yields each test that the cell names, with all tests of that name."""
    suite = ""
    for token in re.findall(r"`([^`]+)`", cell):
        match = re.fullmatch(r"(\w*)\.(\w+)", token)
        if match:
            suite = match[1] or suite
            named = f"{suite}.{match[2]}"
            yield named, [named] if named in tree.tests else []
        elif re.fullmatch(r"[A-Z]\w+", token):
            yield token, [test for test in tree.tests if test.endswith(f".{token}")]


def check_row(protocol, row, tree, cited_in, complaints):
    """Checks one row. `cited_in` has the rules that each source cites."""
    cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
    rules = {(letters, rule) for letters in LETTERS[protocol] for rule in ids_in(cells[0], letters)}
    if not rules or len(cells) < 3:
        return set()
    functions = [token.split("::")[-1].rstrip("()") for token in re.findall(r"`([^`]+)`", cells[1])]

    def has(path, name):
        return path.startswith(f"wireproof/{name}/") or re.search(rf"\b{re.escape(name)}\b", tree.sources[path])

    for letters, rule in sorted(rules):
        at = [path for path, cited in cited_in.items() if (letters, rule) in cited]
        if not any(has(path, name) for path in at for name in functions):
            complaints.append(f"{letters}-{rule}: no source that cites it has {' or '.join(functions) or 'a function'}")
    for name, tests in tests_named(cells[2], tree):
        if not tests:
            complaints.append(f"{protocol}: the README names {name}, and there is no such test")
        elif not any(rule in ids_in(tree.tests[test], letters) for test in tests for letters, rule in rules):
            complaints.append(f"{cells[0]}: {name} cites no rule of its row")
    return rules


def check(tree):
    complaints = []
    cited_in = {}
    for path, text in tree.sources.items():
        comments = comments_of(text)
        cited_in[path] = {(letters, rule) for sets in LETTERS.values() for letters in sets
                          for rule in ids_in(comments, letters)}
    for protocol in LETTERS:
        in_table = set()
        for row in tree.readmes[protocol].splitlines():
            if row.startswith("| "):
                in_table |= check_row(protocol, row, tree, cited_in, complaints)
        for letters, rules in stated(protocol, tree, complaints).items():
            for rule in sorted(rules):
                if rule not in ids_in(tree.cited_by_tests, letters):
                    complaints.append(f"{letters}-{rule}: no test cites it")
                if not any((letters, rule) in cited for cited in cited_in.values()):
                    complaints.append(f"{letters}-{rule}: no source cites it")
                if (letters, rule) not in in_table:
                    complaints.append(f"{letters}-{rule}: no row in the README of {protocol}")
            named = ids_in(tree.cited_by_tests, letters) | {
                rule for cited in cited_in.values() for of, rule in cited if of == letters}
            for rule in sorted(named - set(ids_in(tree.rules[protocol], letters))):
                complaints.append(f"{letters}-{rule}: cited, and docs/rules/{protocol}.md does not state it")
    return complaints


def self_test(tree):
    """Inserts one error of each kind and expects its message."""
    am, uc = (max(ids_in(tree.rules[protocol], letters)) for protocol, letters in (("am", "AM"), ("ib", "UC")))
    one_more = tree._replace(rules=tree.rules | {
        "am": f"{tree.rules['am']}\n* **AM-{am + 2}**: Planted.\n* **UC-1**: Planted.\n* **AM-1**: Planted.\n"})
    assert check(one_more) == [
        "docs/rules/am.md: UC-1 is of another protocol", "AM-1: stated twice",
        f"AM-{am + 1}: docs/rules/am.md does not state it", f"AM-{am + 2}: no test cites it",
        f"AM-{am + 2}: no source cites it", f"AM-{am + 2}: no row in the README of am"], check(one_more)
    not_built = tree._replace(rules=tree.rules | {
        "ib": f"{tree.rules['ib']}\n* **UC-{uc + 1}**: Planted. Not built: a plant.\n"})
    assert check(not_built) == [], check(not_built)
    rows = "| AM-1 | `planted_function` | `NoSuite.NoTest`, `NoTest` |\n| AM-2 | `encode` | `{}` |\n"
    other = next(name for name, comments in tree.tests.items() if not ids_in(comments, "AM"))
    misled = tree._replace(readmes=tree.readmes | {"am": tree.readmes["am"] + "\n" + rows.format(other)})
    wanted = ["AM-1: no source that cites it has planted_function",
              "am: the README names NoSuite.NoTest, and there is no such test",
              "am: the README names NoTest, and there is no such test", f"AM-2: {other} cites no rule of its row"]
    assert [complaint for complaint in check(misled) if "encode" not in complaint] == wanted, check(misled)
    unknown = tree._replace(sources=tree.sources | {"planted.cpp": f"// AM-{am + 1}\n"})
    assert check(unknown) == [f"AM-{am + 1}: cited, and docs/rules/am.md does not state it"], check(unknown)


def main():
    tree = read_tree(pathlib.Path(sys.argv[-1]))
    if sys.argv[1] == "--self-test":
        return self_test(tree)
    complaints = check(tree)
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
