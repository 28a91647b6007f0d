"""What the extension calls: messages, stores, and the ends of requests and transfers."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import weakref
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from . import _wireproof
from ._errors import Error, HandlerFailed, PeerLost
from ._memory import Memory
from ._message import ANSWER, ASKED, FAILURE, ID, TAKEN_SIZE, Message
from ._waiting import Waiting

if TYPE_CHECKING:
    from ._endpoint import Endpoint

Data = bytes | bytearray | memoryview
Handler = Callable[[Message], Data | None | Awaitable[Data | None]]


class Incoming:
    """The part of an endpoint that runs handlers and ends what waits.

    It knows its endpoint only weakly, so a forgotten endpoint ends at once. The extension makes no
    call without the endpoint.
    """

    def __init__(self, endpoint: Endpoint, ext: _wireproof.Endpoint) -> None:
        self._endpoint = weakref.ref(endpoint)
        self._ext = ext
        self.handlers: dict[int, Handler] = {}
        self.memories: dict[int, Memory] = {}
        self.waiting = Waiting()
        self.tasks: set[asyncio.Task[None]] = set()
        self.on_peer_lost: Callable[[int, str], object] | None = None
        self.on_refusal: Callable[[int, int], object] | None = None

    def _owner(self) -> Endpoint:
        endpoint = self._endpoint()
        assert endpoint is not None
        return endpoint

    def on_message(self, peer: int, handler: int, data: bytes) -> None:
        if handler in (ANSWER, FAILURE):
            return self._take_answer(peer, handler, data)
        asked = bool(handler & ASKED)
        run = self.handlers.get(handler & ~ASKED)
        if run is None or (asked and len(data) < ID.size):
            return None
        begin = data[: ID.size] if asked else b""
        content = data[ID.size :] if asked else data
        message = Message(self._owner(), peer, handler & ~ASKED, content)
        try:
            result = run(message)
            if inspect.isawaitable(result):
                self._start_task(result, peer, begin)
            elif asked:
                self._ext.reply(ANSWER, begin + (cast("Data | None", result) or b""))
        except BaseException as error:
            if asked:
                with contextlib.suppress(Error):  # it has replied itself
                    self._ext.reply(FAILURE, begin + self._text(error))
            raise
        return None

    def _text(self, error: BaseException) -> bytes:
        text = f"{type(error).__name__}: {error}".encode(errors="replace")
        return text[: max(self._ext.message_max - ID.size, 0)]

    def _start_task(self, result: Awaitable[Data | None], peer: int, begin: bytes) -> None:
        endpoint = self._owner()

        async def answer() -> None:
            try:
                data, number = begin + (await result or b""), ANSWER
            except Exception as error:
                if not begin:
                    raise
                data, number = begin + self._text(error), FAILURE
            if begin:
                await endpoint._when_there_is_room(lambda: self._ext.request(peer, number, data))

        try:
            task = endpoint._drive().loop.create_task(answer())
        except BaseException:
            if inspect.iscoroutine(result):
                result.close()
            raise
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        task.add_done_callback(_report)
        if begin:
            # Later refusals of this handler then belong to later requests.
            with contextlib.suppress(Error):  # the handler has replied itself
                self._ext.reply(ANSWER, begin[:TAKEN_SIZE])

    def _take_answer(self, peer: int, handler: int, data: bytes) -> None:
        if handler == ANSWER and len(data) == TAKEN_SIZE:
            return self.waiting.taken(int.from_bytes(data, "little"), peer)
        if len(data) < ID.size:
            return None
        result = data[ID.size :]
        number = ID.unpack_from(data)[0]
        failed = handler == FAILURE
        self.waiting.answered(
            number, peer, HandlerFailed(result.decode(errors="replace")) if failed else result
        )
        return None

    def on_store(
        self, peer: int, handler: int, place: tuple[int, int, int] | None, argument: int
    ) -> None:
        run = self.handlers.get(handler)
        memory = self.memories.get(place[0]) if place else None
        if run is None or place is None or memory is None:
            return
        view = memory.view(place[1], place[2])
        result = run(Message(self._owner(), peer, handler, b"", view, argument))
        if inspect.isawaitable(result):
            self._start_task(result, peer, b"")

    def on_done(self, token: int, status: int) -> None:
        self.waiting.transferred(token, status)

    def on_lost(self, peer: int, why: int, text: str, undelivered: list[Any]) -> None:
        self.waiting.lost(peer, PeerLost(text))
        if self.on_peer_lost is not None:
            self.on_peer_lost(peer, text)

    def on_refused(self, peer: int, handler: int) -> None:
        if handler in (ANSWER, FAILURE):
            return None
        if handler & ASKED:
            return self.waiting.refused(peer, handler & ~ASKED)
        if self.on_refusal is not None:
            self.on_refusal(peer, handler)
        return None


def _report(task: asyncio.Task[None]) -> None:
    if task.cancelled():
        return
    error = task.exception()
    if error is not None:
        context = {"message": "a handler of wireproof raised", "exception": error, "task": task}
        task.get_loop().call_exception_handler(context)
