#!/usr/bin/env python3
"""Fails if a library hides a function that its version script names: a program that calls it would not start.

  verbs_names_test.py VERSION_SCRIPT LIBRARY...
  verbs_names_test.py --self-test
"""
import pathlib
import re
import subprocess
import sys


def hidden(script, symbols):
    """`symbols` is the output of nm. A function of the library has a small t if it is not exported."""
    local = set(re.findall(r"^\w+ t (\w+)$", symbols, re.MULTILINE))
    return sorted(set(re.findall(r"^\s+(\w+);$", script, re.MULTILINE)) & local)


def main():
    if sys.argv[1:] == ["--self-test"]:
        symbols = "00001a t ibv_hidden\n00002b T ibv_shown\n         U ibv_other\n00003c t not_ours\n"
        return hidden("V {\n    global:\n        ibv_hidden;\n        ibv_shown;\n        ibv_other;\n};\n",
                      symbols) != ["ibv_hidden"]
    script = pathlib.Path(sys.argv[1]).read_text()
    problems = 0
    for library in sys.argv[2:]:
        symbols = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
        if " T ibv_open_device" not in symbols:
            print(f"{library}: has no ibv_open_device")
            problems += 1
        for name in hidden(script, symbols):
            print(f"{library}: {name} is not exported")
            problems += 1
    return problems != 0


if __name__ == "__main__":
    sys.exit(main())
