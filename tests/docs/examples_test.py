#!/usr/bin/env python3
"""Fails unless README.md and examples/README.md show each program exactly as it is in its file, and examples/README.md
shows each example that uses the public headers.

  examples_test.py SOURCE_DIR
  examples_test.py --write SOURCE_DIR     puts the files into both pages
  examples_test.py --self-test

A block belongs to the file that the line before it names: `examples/NAME.cpp`, `examples/NAME.c` or `examples/NAME.py`.
"""
import pathlib
import re
import sys

PAGES = ("README.md", "examples/README.md")
LANGUAGES = {"cpp": "cpp", "c": "c", "py": "python"}  # of a block, by the ending of its file
BLOCK = re.compile(
    r"(^[^\n]*`examples/(\w+\.(?:cpp|c|py))`[^\n]*\n(?:[^`\n][^\n]*\n)*\n```(\w+)\n)(.*?)(^```$)", re.M | re.S)


def shown(text, files):
    """Returns the page as it should be, and the names of the examples in it. `files`: text by name of the file."""
    names = []

    def put(match):
        head, name, language, _, end = match.groups()
        names.append(name)
        head = head[:-len(language) - 1] + LANGUAGES[name.rpartition(".")[2]] + "\n"
        return head + files.get(name, f"there is no examples/{name}\n") + end

    return BLOCK.sub(put, text), names


def check(pages, files):
    complaints = []
    for page, text in pages.items():
        wanted, names = shown(text, files)
        if wanted != text:
            complaints.append(f"{page}: a program is not the file: examples_test.py --write .")
        if page == PAGES[1]:
            complaints += [f"{page} does not show examples/{name}" for name in sorted(set(files) - set(names))]
    return complaints


def self_test():
    page = "# Examples\n\n`examples/one.cpp` is one.\nTwo lines.\n\n```cpp\nint one;\n```\n\n    $ one\n"
    assert check({PAGES[1]: page}, {"one.cpp": "int one;\n"}) == []
    assert check({PAGES[1]: page}, {"one.cpp": "int two;\n"}) == [
        "examples/README.md: a program is not the file: examples_test.py --write ."]
    assert check({PAGES[1]: page}, {"one.cpp": "int one;\n", "two.cpp": ""}) == [
        "examples/README.md does not show examples/two.cpp"]
    assert shown(page, {"one.cpp": "int two;\n"})[0] == page.replace("int one", "int two")
    assert check({PAGES[0]: page}, {}) != []
    in_c = page.replace(".cpp", ".c")
    assert shown(in_c, {"one.c": "int one;\n"})[0] == in_c.replace("```cpp", "```c")
    python = page.replace(".cpp", ".py")
    assert shown(python, {"one.py": "int one\n"})[0] == python.replace("```cpp", "```python").replace("int one;", "int one")


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    root = pathlib.Path(sys.argv[-1])
    files = {file.name: file.read_text()
             for ending in LANGUAGES for file in (root / "examples").glob("*." + ending)}
    pages = {page: (root / page).read_text() for page in PAGES}
    if sys.argv[1] == "--write":
        for page, text in pages.items():
            (root / page).write_text(shown(text, files)[0])
        return 0
    complaints = check(pages, files)
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
