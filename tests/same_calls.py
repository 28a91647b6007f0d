#!/usr/bin/env python3
"""Does each function call the same functions whether its file is compiled alone or in a unit?

  same_calls.py ALONE UNITS      two build trees of one compiler, without optimisation, each function in a section
  same_calls.py --self-test

In a unit, a call may choose a function in the unnamed namespace of another file, and no compiler warns. ./test --alone
runs this. It compares what the code of each function refers to, library by library.
"""
import collections
import concurrent.futures
import os
import re
import subprocess
import sys

SECTION = re.compile(r"^RELOCATION RECORDS FOR \[(?:\.text\.)?(.+)\]:$")
REFERENCE = re.compile(r" R_\w+ +(?:\.text\.)?([^\s+-]+)")


def without_numbers(symbol):
    """The compiler counts lambdas and clones within a unit, so their numbers say nothing."""
    symbol = re.sub(r"\d+\$_\d*", "LAMBDA", symbol)
    symbol = re.sub(r"Ul(.*?)E\d*_", "UlE_", symbol)
    return re.sub(r"\.\d+$", "", symbol)


def references(listing):
    """{function: symbols} of what objdump -r printed."""
    found, function = collections.defaultdict(set), None
    for line in listing.splitlines():
        if head := SECTION.match(line):
            function = without_numbers(head[1])
        elif reference := REFERENCE.search(line):
            symbol = without_numbers(reference[1])
            if symbol.startswith("_Z"):
                found[function].add(symbol)
    return found


def library_of(path):
    return re.search(r"/(\w+)\.dir/", path)[1]


def read_tree(tree):
    listed = subprocess.run(["find", f"{tree}/wireproof", "-name", "*.o"], capture_output=True, text=True, check=True)
    objects = [path for path in listed.stdout.split() if "_test" not in library_of(path)]

    def one(path):
        return library_of(path), references(subprocess.run(
            ["objdump", "-r", path], capture_output=True, text=True, check=True).stdout)

    whole = collections.defaultdict(set)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for library, functions in pool.map(one, objects):
            for function, symbols in functions.items():
                whole[library, function] |= symbols
    return whole


def differences(alone, units):
    """A function that loses one symbol and gains another. Those that the compiler merely leaves out do neither."""
    for key in sorted(alone.keys() & units.keys()):
        lost, gained = alone[key] - units[key], units[key] - alone[key]
        if "9wireproof" in key[1] and lost and gained:
            yield key, sorted(lost), sorted(gained)


def self_test():
    listing = """
RELOCATION RECORDS FOR [.text._ZN9wireproof1fEv]:
OFFSET           TYPE              VALUE
000000000000000e R_X86_64_PLT32    .text._ZN9wireproof12_GLOBAL__N_11gEi-0x0000000000000004
0000000000000013 R_X86_64_PLT32    _ZN9wireproof1hEv-0x0000000000000004
0000000000000018 R_X86_64_PC32     .rodata+0x0000000000000004
"""
    alone = {("lib", name): symbols for name, symbols in references(listing).items()}
    assert alone == {("lib", "_ZN9wireproof1fEv"): {"_ZN9wireproof12_GLOBAL__N_11gEi", "_ZN9wireproof1hEv"}}, alone
    assert list(differences(alone, alone)) == []
    other = {("lib", "_ZN9wireproof1fEv"): {"_ZN9wireproof12_GLOBAL__N_11gEl", "_ZN9wireproof1hEv"}}
    assert list(differences(alone, other)) == [
        (("lib", "_ZN9wireproof1fEv"), ["_ZN9wireproof12_GLOBAL__N_11gEi"], ["_ZN9wireproof12_GLOBAL__N_11gEl"])]
    assert without_numbers("_ZZN1aEvENK3$_4clEi") == without_numbers("_ZZN1aEvENK3$_1clEi")
    return 0


def readable(symbol):
    return subprocess.run(["c++filt", symbol], capture_output=True, text=True, check=True).stdout.strip()


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    alone, units = map(read_tree, sys.argv[1:3])
    wrong = list(differences(alone, units))
    for (library, function), lost, gained in wrong:
        print(f"{library}: {readable(function)}")
        print("".join(f"  alone:     {readable(symbol)}\n" for symbol in lost) +
              "".join(f"  in a unit: {readable(symbol)}\n" for symbol in gained), end="")
    print(f"{len(alone.keys() & units.keys())} functions compared, {len(wrong)} differ")
    return 1 if wrong or not alone.keys() & units.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
