"""The types that editors and checkers see."""

import inspect
import pathlib
import subprocess
import sys

import pytest
from kit import SOURCE

import wireproof
from wireproof import _wireproof

PROGRAM = '''
import asyncio
import wireproof

figures: wireproof.Figures = wireproof.point("pcie", 1e-9, payload=512)
share: float = figures.throughput
result = wireproof.sweep({"protocol": ["pcie"], "ber": [1e-6]}, seed=3)
names: list[str] = result.columns
picture: str = result.curve().svg
drawn: wireproof.Ladder = wireproof.first_failure("pcie", 1e-6)


async def main() -> None:
    async with wireproof.Endpoint.open(peers=["127.0.0.1:0", None], self=0) as endpoint:

        @endpoint.handler(1)
        def double(message: wireproof.Message) -> bytes:
            return message.data * 2

        @endpoint.handler(2)
        async def later(message: wireproof.Message) -> bytes:
            return await endpoint.request(message.peer, 1, message.data)

        answer: bytes = await endpoint.request(1, 1, b"21")
        memory: wireproof.Memory = endpoint.register_memory(bytearray(9))
        await endpoint.store(1, memory.address, answer)


asyncio.run(main())
'''

WRONG = {
    "wireproof.point(7)": "arg-type",
    "wireproof.point('pcie', payload='long')": "arg-type",
    "wireproof.point('pcie', speed=3)": "call-arg",
    "x: str = wireproof.point('pcie').etr": "assignment",
    "wireproof.sweep(3)": "arg-type",
    "wireproof.Endpoint.open(peers=3, self=0)": "arg-type",
    "wireproof.nothing()": "attr-defined",
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Each run reads what the first one found about numpy."""
    return tmp_path_factory.mktemp("cache")


def mypy(cache, folder, *arguments):
    package = pathlib.Path(wireproof.__file__).parent.parent
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), *arguments],
        capture_output=True,
        text=True,
        env={"MYPYPATH": str(package), "PATH": "/usr/bin:/bin"},
        cwd=folder,
    )


def test_the_package_has_strict_types(cache, tmp_path):
    checked = mypy(cache, tmp_path, "-p", "wireproof")
    assert checked.returncode == 0, checked.stdout


def test_programs_and_the_examples_have_strict_types(cache, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    examples = sorted((SOURCE / "examples").glob("python_*.py"))
    assert examples
    checked = mypy(cache, tmp_path, "program.py", *map(str, examples))
    assert checked.returncode == 0, checked.stdout


def test_each_mistake_is_found(cache, tmp_path):
    (tmp_path / "program.py").write_text("import wireproof\n\n" + "\n".join(WRONG) + "\n")
    checked = mypy(cache, tmp_path, "program.py")
    assert checked.returncode == 1
    for number, (line, code) in enumerate(WRONG.items(), 3):
        found = [said for said in checked.stdout.splitlines() if said.startswith(f"program.py:{number}: error: ")]
        assert len(found) == 1 and f"[{code}]" in found[0], (line, checked.stdout)


def test_the_declarations_have_what_the_extension_has():
    import ast

    declared = ast.parse((pathlib.Path(wireproof.__file__).parent / "_wireproof.pyi").read_text())
    named = {node.name: node for node in declared.body if hasattr(node, "name")}
    real = {name for name in vars(_wireproof) if not name.startswith("__")}
    assert set(named) | {"version"} == real
    for name, node in named.items():
        if not isinstance(node, ast.ClassDef):
            continue
        members = {one.name for one in node.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")}
        there = {
            one
            for one, value in vars(getattr(_wireproof, name)).items()
            if not one.startswith("_") and (callable(value) or isinstance(value, (property, staticmethod)))
        }
        assert members == there, name


def test_every_public_name_is_documented():
    for name in wireproof.__all__:
        thing = getattr(wireproof, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        assert inspect.getdoc(thing), name
