"""Drawings of small exchanges."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Callable

from . import _wireproof
from ._picture import in_page
from ._point import Bursts, arguments_of


@dataclasses.dataclass(frozen=True)
class Ladder:
    """A drawing of a small exchange, frame by frame. A notebook shows it as a picture."""

    name: str
    text: str = dataclasses.field(repr=False)
    """Lines of up to 80 columns."""
    svg: str = dataclasses.field(repr=False)
    """One <svg> element, in light or dark colours."""
    frames: int
    """How many frames the drawing has."""

    def __str__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return in_page(self.svg, self.name)


def text_of(source: str | os.PathLike[str]) -> str:
    """The text itself, if it has several lines; otherwise the content of the file."""
    if isinstance(source, str) and "\n" in source:
        return source
    return pathlib.Path(source).read_text(encoding="utf-8")


def ladder(scenario: str | os.PathLike[str]) -> Ladder:
    """Runs a scenario and draws it, as `wireproof ladder FILE` does (docs/guide/links/ladders.md).

    scenario -- TOML, or the name of a file: a string without a line end is a name.

    Raises Error for the first mistake, as "scenario:LINE:COLUMN: mistake"; OSError if there is no
    such file.
    """
    return Ladder(*_wireproof.ladder_of_scenario(text_of(scenario)))


def first_failure(
    protocol: str = "pcie",
    bit_error_rate: float = 0.0,
    *,
    payload: int = 4096,
    loop: int = 2000,
    buffer: int = 0,
    ack_every: int = 0,
    timer: int = 0,
    notice_loss: float = 0.0,
    clean_back: bool = False,
    loaded_back: bool = False,
    renak_on_bad_head: bool = False,
    bursts: Bursts | None = None,
    packets: int = 0,
    seed: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Ladder:
    """Draws the first failure in the simulation that point() makes with the same arguments.

    `progress` gets 0. Raises Error if nothing failed, or if the protocol is a model.
    """
    arguments = arguments_of(
        protocol,
        bit_error_rate,
        bursts,
        payload=payload,
        loop=loop,
        buffer=buffer,
        ack_every=ack_every,
        timer=timer,
        notice_loss=notice_loss,
        clean_back=clean_back,
        loaded_back=loaded_back,
        renak_on_bad_head=renak_on_bad_head,
        packets=packets,
        seed=seed,
    )
    return Ladder(*_wireproof.ladder_of_first_failure(arguments, progress))
