"""Memory that peers may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._endpoint import Endpoint


class Memory:
    """Bytes of this process that peers may read by get() and write by store().

    The object that has the bytes is kept, and cannot change its length, until unregister() has
    returned or the endpoint is closed.
    """

    def __init__(self, endpoint: Endpoint, number: int, holder: Any, address: int) -> None:
        self._endpoint = endpoint
        self._number = number
        self.holder = holder
        """The object that has the bytes."""
        self.address = address
        """The number by which peers name the first byte."""

    def view(self, offset: int, length: int) -> memoryview:
        """A part of the bytes."""
        if length == 0:
            return memoryview(b"")
        return memoryview(self.holder).cast("B")[offset : offset + length]

    async def unregister(self) -> None:
        """Waits until no peer can use the bytes any more."""
        await self._endpoint._unregister(self._number)

    def __repr__(self) -> str:
        return f"<Memory {self.address:#x} of {self.holder.__class__.__name__}>"
