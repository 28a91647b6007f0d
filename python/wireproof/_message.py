"""What handlers get, and the numbers by which requests and their answers find each other."""

from __future__ import annotations

import dataclasses
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._endpoint import Endpoint

HANDLER_MAX = 0x7FFD
"""The largest number of a handler of the program."""
ASKED = 0x8000
"""Added to the number of a handler by Endpoint.request(): the message begins with an id."""
ANSWER = 0xFFFF
"""The handler of answers: the id of the request, and the bytes that the handler returned."""
FAILURE = 0xFFFE
"""The same, with the text of the exception that the handler raised."""
ID = struct.Struct("<Q")
"""The id: 8 bytes, least significant first. It has a meaning only for the one who asks."""
TAKEN_SIZE = 7
"""So many bytes of the id to ANSWER say that a handler has the request, and answers later."""


@dataclasses.dataclass(frozen=True)
class Message:
    """A message, as its handler gets it."""

    endpoint: Endpoint = dataclasses.field(repr=False)
    peer: int
    """The node that sent it."""
    handler: int
    """The number that it names."""
    data: bytes
    """The bytes of a message of send() or request(). Empty for a store."""
    memory: memoryview | None = dataclasses.field(default=None, repr=False)
    """The bytes that a store wrote, in registered memory. None: it is no store."""
    argument: int = 0
    """Of a store."""

    def reply(self, handler: int, data: bytes | bytearray | memoryview = b"") -> None:
        """Sends a message back: it runs `handler` of the peer. Only while the handler of this
        message runs, only once, and not if the message is of request(): the value that the handler
        returns is its answer."""
        self.endpoint._ext.reply(handler, data)
