#!/usr/bin/env python3
"""Fails unless README.md shows its programs exactly as they are in their files, and the page of examples of the site
includes each example that uses the public headers.

  examples_test.py SOURCE_DIR
  examples_test.py --write SOURCE_DIR     puts the files into README.md
  examples_test.py --self-test

A block belongs to the file that the line before it names: `examples/NAME.cpp`, `examples/NAME.c` or `examples/NAME.py`.
"""
import pathlib
import re
import sys

README, PAGE = "README.md", "docs/site/examples.dox"
LANGUAGES = {"cpp": "cpp", "c": "c", "py": "python"}  # of a block, by the ending of its file
BLOCK = re.compile(
    r"(^[^\n]*`examples/(\w+\.(?:cpp|c|py))`[^\n]*\n(?:[^`\n][^\n]*\n)*\n```(\w+)\n)(.*?)(^```$)", re.M | re.S)
INCLUDED = re.compile(r"^@include (\S+)$", re.M)


def shown(text, files):
    """Returns the page as it should be. `files`: text by name of the file."""
    def put(match):
        head, name, language, _, end = match.groups()
        head = head[:-len(language) - 1] + LANGUAGES[name.rpartition(".")[2]] + "\n"
        return head + files.get(name, f"there is no examples/{name}\n") + end

    return BLOCK.sub(put, text)


def check(readme, page, files):
    complaints = []
    if shown(readme, files) != readme:
        complaints.append(f"{README}: a program is not the file: examples_test.py --write .")
    return complaints + [f"{PAGE} does not include examples/{name}"
                         for name in sorted(set(files) - set(INCLUDED.findall(page)))]


def self_test():
    text = "# One\n\n`examples/one.cpp` is one.\nTwo lines.\n\n```cpp\nint one;\n```\n\n    $ one\n"
    page = "/** @page examples\n@include one.cpp\n*/\n"
    assert check(text, page, {"one.cpp": "int one;\n"}) == []
    wrong = "README.md: a program is not the file: examples_test.py --write ."
    assert check(text, page, {"one.cpp": "int two;\n"}) == [wrong]
    assert check(text, page, {}) == [wrong]
    assert check(text, page, {"one.cpp": "int one;\n", "two.cpp": ""}) == [
        "docs/site/examples.dox does not include examples/two.cpp"]
    assert shown(text, {"one.cpp": "int two;\n"}) == text.replace("int one", "int two")
    in_c = text.replace(".cpp", ".c")
    assert shown(in_c, {"one.c": "int one;\n"}) == in_c.replace("```cpp", "```c")
    python = text.replace(".cpp", ".py")
    assert shown(python, {"one.py": "int one\n"}) == python.replace("```cpp", "```python").replace("int one;", "int one")


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    root = pathlib.Path(sys.argv[-1])
    files = {file.name: file.read_text()
             for ending in LANGUAGES for file in (root / "examples").glob("*." + ending)}
    readme = (root / README).read_text()
    if sys.argv[1] == "--write":
        (root / README).write_text(shown(readme, files))
        return 0
    complaints = check(readme, (root / PAGE).read_text(), files)
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
