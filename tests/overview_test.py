#!/usr/bin/env python3
"""Fails if docs/developers/overview.md names a function that is not in the file named beside it.

  overview_test.py SOURCE_DIR
  overview_test.py --self-test

A row is `| step | functions | files |`. The path of a file begins at the root, at wireproof/, or at the folder of the
file before it. A folder stands for all its files.
"""
import pathlib
import re
import sys

NAME = re.compile(r"`([^`]+)`")


def files_named(root, cell):
    """Returns all sources that a cell names, and the names that have no source."""
    found, missing = [], []
    for name in NAME.findall(cell):
        known = [root, root / "wireproof", root / "wireproof/proto/am", *(file.parent for file in found[-1:])]
        path = next((folder / name for folder in known if (folder / name).exists()), None)
        if path is None:
            missing.append(name)
        elif path.is_dir():
            found += [file for file in sorted(path.iterdir()) if file.suffix in (".hpp", ".cpp")]
        else:
            found.append(path)
    return found, missing


def check(root, text):
    problems, rows = [], 0
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("| ") or len(cells) != 3 or not NAME.search(cells[2]):
            continue
        rows += 1
        files, missing = files_named(root, cells[2])
        problems += [f"{name}: no such file" for name in missing]
        code = "\n".join(file.read_text() for file in files)
        for function in NAME.findall(cells[1]):
            if not re.search(rf"\b{function.split('::')[-1]}\(", code):
                problems.append(f"{function} is not in {cells[2]}")
    return problems, rows


def self_test(root):
    row = "| the header is judged | `Connection::judge` | `proto/am/connection.cpp` |"
    wrong = [row.replace("judge`", "judges`"), row.replace("connection.cpp", "connected.cpp")]
    return all(check(root, line)[0] for line in wrong) and check(root, row) == ([], 1)


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    if sys.argv[1] == "--self-test":
        return 0 if self_test(root) else 1
    root = pathlib.Path(sys.argv[1])
    problems, rows = check(root, (root / "docs/developers/overview.md").read_text())
    print("\n".join([*problems, f"{rows} rows, {len(problems)} problems"]))
    return 1 if problems or rows < 15 else 0


if __name__ == "__main__":
    sys.exit(main())
