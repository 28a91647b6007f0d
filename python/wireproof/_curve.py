"""The curves of a sweep as a picture."""

from __future__ import annotations

import dataclasses
import os
import pathlib

from ._picture import in_page


@dataclasses.dataclass(frozen=True)
class Curve:
    """Curves of a sweep. A notebook shows them as a picture."""

    title: str
    svg: str = dataclasses.field(repr=False)
    """One <svg> element that needs no other file."""

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return in_page(self.svg, self.title)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the picture into a file."""
        pathlib.Path(file).write_text(self.svg, encoding="utf-8")
