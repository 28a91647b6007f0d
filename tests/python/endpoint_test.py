"""Messages with asyncio, and in a program without an event loop."""

import asyncio
import os
import sys
import time

import pytest
from kit import PATIENCE, pair, run

import wireproof


def test_a_request_is_answered():
    async def main():
        a, b = pair()
        async with a, b:

            @b.handler(1)
            def double(message):
                assert message.peer == 0 and message.handler == 1 and message.memory is None
                return message.data * 2

            @b.handler(2)
            def nothing(_message):
                return None

            assert await a.request(1, 1, b"21") == b"2121"
            assert await a.request(1, 1, bytearray(b"x")) == b"xx"
            assert await a.request(1, 1, memoryview(b"abc")[1:]) == b"bcbc"
            assert await a.request(1, 2) == b""
            assert a.self == 0 and b.self == 1 and a.nodes == 2
            assert a.message_max > 1000
            assert repr(a) == "<Endpoint 0 of 2>"
        assert not a.is_open and repr(a) == "<Endpoint, closed>"

    run(main())


@pytest.mark.parametrize("faults", [{}, {"fault_loss": 0.2, "fault_duplicate": 0.1, "fault_reorder": 0.1}])
def test_many_requests_at_once_find_their_answers(faults):
    async def main():
        a, b = pair(seed=5, **faults)
        async with a, b:

            @b.handler(7)
            def echo(message):
                return message.data[::-1]

            texts = [f"message {i}".encode() for i in range(1500)]  # more than the window
            answers = await asyncio.gather(*(a.request(1, 7, text) for text in texts))
            assert answers == [text[::-1] for text in texts]
            assert a.counters(1)["accepted"] > 0
            if faults:
                assert a.counters(1)["resent"] > 0

    run(main())


def test_both_ask_each_other_and_handlers_may_await():
    async def main():
        a, b = pair()
        async with a, b:

            @a.handler(1)
            def name(_message):
                return b"a"

            @b.handler(1)
            async def ask_back(message):
                await asyncio.sleep(0.01)
                return b"b hears of " + await b.request(message.peer, 1)

            assert await a.request(1, 1) == b"b hears of a"
            assert await asyncio.gather(*(a.request(1, 1) for _ in range(20))) == [
                b"b hears of a"
            ] * 20

    run(main())


def test_a_message_without_an_answer_arrives_in_order():
    async def main():
        a, b = pair()
        got = []
        done = asyncio.Event()
        async with a, b:

            @b.handler(3)
            def take(message):
                got.append(message.data)
                if len(got) == 50:
                    message.reply(4, b"all")

            @a.handler(4)
            def all_there(message):
                assert message.data == b"all"
                done.set()

            for i in range(50):
                a.send(1, 3, b"%d" % i)
            await done.wait()
        assert got == [b"%d" % i for i in range(50)]

    run(main())


def test_an_exception_of_a_handler_is_told_at_both_ends():
    async def main():
        told = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, what: told.append(what))
        a, b = pair()
        async with a, b:

            @b.handler(1)
            def fails(message):
                raise ValueError("no " + message.data.decode())

            @b.handler(2)
            async def fails_later(_message):
                await asyncio.sleep(0)
                raise KeyError("later")

            @b.handler(3)
            def works(message):
                return message.data

            answers = await asyncio.gather(
                a.request(1, 1, b"one"),
                a.request(1, 3, b"two"),
                a.request(1, 1, b"three"),
                a.request(1, 2),
                a.request(1, 3, b"four"),
                return_exceptions=True,
            )
            assert [str(one) for one in answers if isinstance(one, Exception)] == [
                "ValueError: no one",
                "ValueError: no three",
                "KeyError: 'later'",
            ]
            assert all(type(a) is wireproof.HandlerFailed for a in answers if isinstance(a, Exception))
            assert [a for a in answers if isinstance(a, bytes)] == [b"two", b"four"]
        # Of several in one poll, one comes here and the others go to sys.unraisablehook.
        assert told and isinstance(told[0]["exception"], ValueError)

    hook, others = sys.unraisablehook, []
    sys.unraisablehook = others.append
    try:
        asyncio.run(asyncio.wait_for(main(), PATIENCE))
    finally:
        sys.unraisablehook = hook


def test_poll_raises_what_a_handler_raised_and_handles_the_others():
    a, b = pair()
    got = []

    @b.handler(1)
    def take(message):
        got.append(message.data)
        if message.data == b"bad":
            raise LookupError("bad")

    for data in (b"one", b"bad", b"two"):
        a.send(1, 1, data)
    raised = []
    end = time.monotonic() + PATIENCE
    while len(got) < 3 and time.monotonic() < end:
        a.poll()
        try:
            b.poll()
        except LookupError as error:
            raised.append(str(error))
    assert got == [b"one", b"bad", b"two"]
    assert raised == ["bad"]
    a.end()
    b.end()


def test_several_exceptions_of_one_poll_are_all_told(monkeypatch):
    hooked = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: hooked.append(str(one.exc_value)))
    a, b = pair()

    @b.handler(1)
    def fails(message):
        raise ValueError(message.data.decode())

    for i in range(5):
        a.send(1, 1, b"%d" % i)
    raised = []
    end = time.monotonic() + PATIENCE
    while len(raised) + len(hooked) < 5 and time.monotonic() < end:
        a.poll()
        try:
            b.poll()
        except ValueError as error:
            raised.append(str(error))
    assert sorted(raised + hooked) == ["0", "1", "2", "3", "4"] and raised
    a.end()
    b.end()


def test_a_handler_that_is_missing_is_told():
    async def main():
        a, b = pair()
        async with a, b:

            @b.handler(1)
            def good(_message):
                return b"good"

            answers = await asyncio.gather(
                a.request(1, 9), a.request(1, 1), a.request(1, 9), return_exceptions=True
            )
            assert answers[1] == b"good"
            for answer in (answers[0], answers[2]):
                assert isinstance(answer, wireproof.Error) and answer.status == "no_handler"
                assert str(answer) == "node 1 has no handler 9"
            b.remove_handler(1)
            with pytest.raises(wireproof.Error, match="has no handler 1$"):
                await a.request(1, 1)

    run(main())


def test_a_refusal_belongs_to_the_request_that_was_refused():
    """The peer refuses a request that was given up, and has the handler when the next one comes."""

    async def main():
        a, b = pair()
        ran = []
        async with a:
            first = asyncio.ensure_future(a.request(1, 5, b"too early"))
            while a.idle:  # it has not left
                await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            # The server polls only here, so nothing else decides which request finds the handler.
            end = time.monotonic() + PATIENCE
            while not a.idle and time.monotonic() < end:
                b.poll()
                await asyncio.sleep(0.001)

            @b.handler(5)
            def five(message):
                ran.append(message.data)
                return b"five " + message.data

            async with b:
                assert await a.request(1, 5, b"again") == b"five again"
        assert ran == [b"again"]
        assert not a._incoming.waiting._unsure and not a._incoming.waiting._asked

    run(main())


def test_a_request_that_is_answered_later_gets_no_refusal():
    async def main():
        a, b = pair()
        go_on = asyncio.Event()
        begun = asyncio.Event()
        async with a, b:

            @b.handler(5)
            async def later(message):
                begun.set()
                await go_on.wait()
                return b"later " + message.data

            first = asyncio.ensure_future(a.request(1, 5, b"one"))
            await begun.wait()
            b.remove_handler(5)
            with pytest.raises(wireproof.Error) as told:
                await a.request(1, 5, b"two")
            assert told.value.status == "no_handler" and not first.done()
            go_on.set()
            assert await first == b"later one"

    run(main())


def test_messages_without_an_answer_that_are_refused_are_reported():
    async def main():
        a, b = pair()
        refused = []
        a.on_refused(lambda peer, handler: refused.append((peer, handler)))
        async with a, b:
            memory = b.register_memory(bytearray(8))
            a.send(1, 77)
            with pytest.raises(wireproof.Error):
                await a.store(1, memory.address, b"x", handler=78)
            with pytest.raises(wireproof.Error):
                await a.request(1, 79)
            assert sorted(refused) == [(1, 77), (1, 78)]

    run(main())


def test_a_request_to_nobody_or_too_long_is_refused():
    async def main():
        a, b = pair()
        async with a, b:
            with pytest.raises(wireproof.Error) as told:
                await a.request(7, 1)
            assert told.value.status == "no_such_peer"
            with pytest.raises(wireproof.Error) as told:
                await a.request(1, 1, bytes(a.message_max))
            assert told.value.status == "too_long"
            most = a.message_max
            assert str(told.value) == f"{most} bytes are more than a request has, {most - 8}: store() has room for more"
            with pytest.raises(wireproof.Error) as told:
                a.send(1, 1, bytes(most + 1))
            assert str(told.value) == f"{most + 1} bytes are more than a message has, {most}: store has room for more"
            b.handler(2)(lambda message: message.data)
            assert len(await a.request(1, 2, bytes(most - 8))) == most - 8
            for number in (0, 0x7FFE, 1 << 16, -1):
                with pytest.raises(ValueError, match="the number of a handler is 1 to 32765"):
                    await a.request(1, number)
                with pytest.raises(ValueError, match="the number of a handler is 1 to 32765"):
                    b.handler(number)(print)
            with pytest.raises(TypeError):
                await a.request(1, 1, "text")

    run(main())


def test_a_request_may_be_given_up():
    async def main():
        a, b = pair()
        async with a, b:

            @b.handler(1)
            async def slow(_message):
                await asyncio.sleep(0.3)
                return b"late"

            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await a.request(1, 1)
            assert not a._incoming.waiting.has_calls()
            await asyncio.sleep(0.5)  # the answer comes, and nobody waits

    run(main())


def test_shared_memory_carries_too():
    async def main():
        name = f"shm:wireproof-python-{os.getpid()}"
        ends = [wireproof.Endpoint.open(peers=[name, name], self=i) for i in range(2)]
        async with ends[0] as a, ends[1] as b:

            @b.handler(1)
            def echo(message):
                return message.data

            assert await asyncio.gather(*(a.request(1, 1, b"%d" % i) for i in range(100))) == [
                b"%d" % i for i in range(100)
            ]
            assert a.counters(1)["path"] == "shared_memory"

    run(main())
