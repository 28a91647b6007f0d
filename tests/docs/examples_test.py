#!/usr/bin/env python3
"""Fails unless README.md shows programs as they are in their files: each block is a part of the file that the line before
it names, such as `examples/NAME.cpp`.

  examples_test.py SOURCE_DIR
  examples_test.py --self-test
"""
import pathlib
import re
import sys

LANGUAGES = {"cpp": "cpp", "c": "c", "py": "python"}  # of a block, by the ending of its file
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"`examples/(\w+\.(\w+))`[^`]*$")


def complaints(page, files):
    """`files`: text by name of the file."""
    said = []
    for block in BLOCK.finditer(page):
        language, text = block.groups()
        named = FILE.search(page[:block.start()].rstrip("\n").rpartition("\n\n")[2])
        if not named:
            said.append(f"a block {language} has no file before it")
        elif LANGUAGES.get(named[2]) != language:
            said.append(f"examples/{named[1]} is not {language}")
        elif f"\n{text}" not in f"\n{files.get(named[1], '')}":
            said.append(f"these lines are not in examples/{named[1]}:\n{text}")
    return said if BLOCK.search(page) else ["no program is shown"]


def self_test():
    page = "# Page\n\nThis is\n`examples/one.cpp` in part:\n\n```cpp\n    one();\n    two();\n```\n"
    assert complaints(page, {"one.cpp": "int main() {\n    one();\n    two();\n}\n"}) == []
    for other in ("    one();\n    three();\n    two();\n", "one();\ntwo();\n", "    none();\n"):
        assert len(complaints(page, {"one.cpp": other})) == 1, other
    assert complaints(page, {"two.cpp": "    one();\n    two();\n"}) != []
    assert complaints(page.replace("```cpp", "```c"), {"one.cpp": "    one();\n    two();\n"}) != []
    assert complaints(page.replace("`examples/one.cpp`", "a file"), {}) == ["a block cpp has no file before it"]
    assert complaints("# Page\n", {}) == ["no program is shown"]


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    root = pathlib.Path(sys.argv[1])
    files = {file.name: file.read_text()
             for ending in LANGUAGES for file in (root / "examples").glob("*." + ending)}
    found = complaints((root / "README.md").read_text(), files)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
