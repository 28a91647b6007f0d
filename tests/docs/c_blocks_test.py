#!/usr/bin/env python3
"""Fails unless the blocks of C in docs/guide/messages/c-api.md are one program that compiles as C99 without a warning, and runs.

  c_blocks_test.py SOURCE_DIR LIBRARY_DIR     where libwireproof.so is
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```c\n(.*?)^```$", re.M | re.S)
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def main():
    root, library = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    blocks = BLOCK.findall((root / "docs/guide/messages/c-api.md").read_text())
    assert len(blocks) > 3, blocks
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")
        pathlib.Path(program + ".c").write_text("\n".join(blocks))
        subprocess.run([shutil.which("cc"), *FLAGS, f"-I{root}/include", program + ".c", "-o", program,
                        f"-L{library}", "-lwireproof", f"-Wl,-rpath,{library}"], check=True)
        said = subprocess.run([program], check=True, capture_output=True, text=True, timeout=300).stdout
    assert re.fullmatch(r"hello\n(ETR 0\.9\d\n)?", said), said
    return 0


if __name__ == "__main__":
    sys.exit(main())
