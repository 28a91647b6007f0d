"""What the extension calls: messages, stores, and the ends of requests and transfers."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from . import _wireproof
from ._driver import Driver
from ._errors import Error, HandlerFailed, PeerLost
from ._memory import Memory
from ._message import ANSWER, ASKED, FAILURE, ID, TAKEN_SIZE, Message
from ._waiting import Waiting

if TYPE_CHECKING:
    from ._endpoint import Endpoint

Data = bytes | bytearray | memoryview
Handler = Callable[[Message], Data | None | Awaitable[Data | None]]


class Incoming(abc.ABC):
    """The part of an Endpoint that runs handlers and ends what waits."""

    def __init__(self, ext: _wireproof.Endpoint) -> None:
        self._ext = ext
        self._handlers: dict[int, Handler] = {}
        self._memories: dict[int, Memory] = {}
        self._waiting = Waiting()
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_peer_lost: Callable[[int, str], object] | None = None
        self._on_refusal: Callable[[int, int], object] | None = None

    @abc.abstractmethod
    def _drive(self) -> Driver: ...

    @abc.abstractmethod
    async def _when_there_is_room(self, attempt: Callable[[], bool]) -> None: ...

    def _on_message(self, peer: int, handler: int, data: bytes) -> None:
        if handler in (ANSWER, FAILURE):
            return self._take_answer(peer, handler, data)
        asked = bool(handler & ASKED)
        run = self._handlers.get(handler & ~ASKED)
        if run is None or (asked and len(data) < ID.size):
            return None
        begin = data[: ID.size] if asked else b""
        content = data[ID.size :] if asked else data
        message = Message(cast("Endpoint", self), peer, handler & ~ASKED, content)
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
        async def answer() -> None:
            try:
                data, number = begin + (await result or b""), ANSWER
            except Exception as error:
                if not begin:
                    raise
                data, number = begin + self._text(error), FAILURE
            if begin:
                await self._when_there_is_room(lambda: self._ext.request(peer, number, data))

        try:
            task = self._drive().loop.create_task(answer())
        except BaseException:
            if inspect.iscoroutine(result):
                result.close()
            raise
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_report)
        if begin:
            # Later refusals of this handler then belong to later requests.
            with contextlib.suppress(Error):  # the handler has replied itself
                self._ext.reply(ANSWER, begin[:TAKEN_SIZE])

    def _take_answer(self, peer: int, handler: int, data: bytes) -> None:
        if handler == ANSWER and len(data) == TAKEN_SIZE:
            return self._waiting.taken(int.from_bytes(data, "little"), peer)
        if len(data) < ID.size:
            return None
        result = data[ID.size :]
        number = ID.unpack_from(data)[0]
        failed = handler == FAILURE
        self._waiting.answered(
            number, peer, HandlerFailed(result.decode(errors="replace")) if failed else result
        )
        return None

    def _on_store(
        self, peer: int, handler: int, place: tuple[int, int, int] | None, argument: int
    ) -> None:
        run = self._handlers.get(handler)
        memory = self._memories.get(place[0]) if place else None
        if run is None or place is None or memory is None:
            return
        view = memory.view(place[1], place[2])
        result = run(Message(cast("Endpoint", self), peer, handler, b"", view, argument))
        if inspect.isawaitable(result):
            self._start_task(result, peer, b"")

    def _on_done(self, token: int, status: int) -> None:
        self._waiting.transferred(token, status)

    def _on_lost(self, peer: int, why: int, text: str, undelivered: list[Any]) -> None:
        self._waiting.lost(peer, PeerLost(text))
        if self._on_peer_lost is not None:
            self._on_peer_lost(peer, text)

    def _on_refused(self, peer: int, handler: int) -> None:
        if handler in (ANSWER, FAILURE):
            return None
        if handler & ASKED:
            return self._waiting.refused(peer, handler & ~ASKED)
        if self._on_refusal is not None:
            self._on_refusal(peer, handler)
        return None


def _report(task: asyncio.Task[None]) -> None:
    if task.cancelled():
        return
    error = task.exception()
    if error is not None:
        context = {"message": "a handler of wireproof raised", "exception": error, "task": task}
        task.get_loop().call_exception_handler(context)
