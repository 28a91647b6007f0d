"""The installed package, away from the build tree."""

import os
import re
import shutil
import subprocess
import sys

import pytest

BUILD = os.environ["WIREPROOF_BUILD"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("usr")
    for component in ("python", "runtime"):
        subprocess.run(
            ["cmake", "--install", BUILD, "--prefix", str(prefix), "--component", component],
            check=True,
            capture_output=True,
        )
    return prefix


def package(prefix):
    (found,) = prefix.glob("lib/python3*/dist-packages/wireproof")
    return found


def test_it_is_imported_with_the_installed_library(installed):
    program = (
        "import wireproof; print(wireproof.__file__); print(wireproof.point('pcie', packets=7).packets);"
        "maps = open('/proc/self/maps').read(); print('build/' in maps and 'libwireproof' in maps)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(package(installed).parent)},
        cwd=installed,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    file, packets, from_build = run.stdout.split()
    assert file.startswith(str(installed)) and packets == "7.0" and from_build == "False"


def test_it_has_its_types_and_no_path_of_the_build(installed):
    folder = package(installed)
    names = {file.name for file in folder.iterdir()}
    assert {"py.typed", "_wireproof.pyi", "__init__.py"} <= names
    (extension,) = folder.glob("_wireproof*.so")
    head = subprocess.run(["readelf", "-d", str(extension)], capture_output=True, text=True, check=True)
    (path,) = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", head.stdout)
    (library,) = installed.rglob("libwireproof.so.0")
    assert path.startswith("$ORIGIN/") and ":" not in path
    assert (folder / path.removeprefix("$ORIGIN/")).resolve() == library.parent.resolve()
    assert "[libwireproof.so.0]" in head.stdout


def test_a_missing_library_is_told_by_name(installed, tmp_path):
    """The package alone, in another place."""
    shutil.copytree(package(installed), tmp_path / "alone" / "wireproof")
    run = subprocess.run(
        [sys.executable, "-c", "import wireproof"],
        env={"PYTHONPATH": str(tmp_path / "alone")},
        cwd=installed,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1 and "ImportError: libwireproof.so.0: cannot open" in run.stderr
