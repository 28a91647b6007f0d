"""Objects may be freed in any order: nothing crashes, and nothing stays."""

import asyncio
import gc
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import pytest
from kit import PATIENCE, pair, run

import wireproof


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_a_forgotten_endpoint_is_freed():
    gc.collect()
    before = descriptors()
    for _ in range(20):
        a, b = pair()

        @a.handler(1)
        def keeps(message, a=a, b=b):  # a cycle
            return a, b

        a.register_memory(bytearray(100))
        a.send(1, 1, b"never sent")
    died = weakref.ref(a)
    del a, b, keeps
    gc.collect()
    assert died() is None
    assert descriptors() == before


def test_a_forgotten_endpoint_leaves_its_loop():
    async def main():
        before = descriptors()
        for _ in range(20):
            a, b = pair()
            a._drive()
            b._drive()

            @b.handler(1)
            async def never(message, b=b):
                return b"x"

            a.send(1, 1)
        died = weakref.ref(a), weakref.ref(b)
        del a, b, never
        end = time.monotonic() + PATIENCE
        while [d() for d in died] != [None, None]:
            assert time.monotonic() < end, "they stay"
            await asyncio.sleep(0.01)
            gc.collect()
        assert descriptors() == before
        # The loop still works, on descriptors with the same numbers.
        a, b = pair()
        async with a, b:

            @b.handler(1)
            def echo(message):
                return message.data

            for _ in range(3):
                await asyncio.sleep(0.1)  # nothing is due: only the descriptor wakes the peer
                assert await a.request(1, 1, b"alive") == b"alive"

    run(main())


def test_an_endpoint_outlives_its_loop():
    a, b = pair()

    @b.handler(1)
    def echo(message):
        return message.data

    for text in (b"first", b"second"):

        async def main(text=text):
            b._drive()
            return await a.request(1, 1, text)

        assert asyncio.run(main()) == text
    a.end()
    b.end()
    gc.collect()


def test_a_loop_that_ends_with_requests_under_way():
    a, b = pair()

    async def main():
        for _ in range(10):
            asyncio.ensure_future(a.request(1, 1))
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert not a._incoming.waiting.has_calls()
    a.send(1, 1)
    a.poll()
    del a, b
    gc.collect()


def test_a_handler_cannot_close_its_endpoint_but_others():
    a, b = pair()
    c, d = pair()
    told = []

    @b.handler(1)
    def closes(_message):
        for call in (b.end, b.close):
            with pytest.raises(wireproof.Error) as error:
                call()
            told.append(error.value.status)
        b.poll()  # does nothing
        c.end()
        d.close(0.1)
        b.remove_handler(1)
        gc.collect()

    a.send(1, 1)
    end = time.monotonic() + PATIENCE
    while len(told) < 2 and time.monotonic() < end:
        a.poll()
        b.poll()
    assert told == ["not_allowed", "not_allowed"]
    assert b.is_open and not c.is_open and not d.is_open
    a.end()
    b.end()


def test_a_handler_may_drop_the_last_reference():
    a, b = pair()
    box = {"b": b}
    seen = []

    @b.handler(1)
    def drops(_message):
        box.clear()
        gc.collect()
        seen.append(True)

    del b
    a.send(1, 1)
    end = time.monotonic() + PATIENCE
    while not seen and time.monotonic() < end:
        a.poll()
        box["b"].poll()
    assert seen
    gc.collect()
    a.end()


def test_a_transfer_is_under_way_when_all_is_freed():
    for _ in range(10):
        a, b = pair()
        room = bytearray(100_000)
        memory = b.register_memory(room)
        source = bytearray(100_000)

        async def main(a=a, memory=memory, source=source):
            task = asyncio.ensure_future(a.store(1, memory.address, source))
            await asyncio.sleep(0)
            task.cancel()

        asyncio.run(main())
        with pytest.raises(BufferError):
            source.append(1)
        del main, memory
        if random.random() < 0.5:
            del b
        del a
        gc.collect()
        source.append(1)  # it is free again
        b = None
        gc.collect()
        room.append(1)


def test_objects_are_freed_in_any_order():
    chosen = random.Random(7)
    for _ in range(30):
        a, b = pair()
        objects = {"a": a, "b": b, "memory": b.register_memory(bytearray(1000))}
        objects["handler"] = b.handler(1)(lambda message, held=objects: message.data)
        objects["view"] = memoryview(objects["memory"].holder)
        a.send(1, 1, b"x")
        a.poll()
        b.poll()
        names = list(objects)
        chosen.shuffle(names)
        del a, b
        for name in names:
            del objects[name]
            if chosen.random() < 0.3:
                gc.collect()


def test_garbage_is_collected_inside_handlers():
    a, b = pair()
    count = 0

    @b.handler(1)
    def collects(message):
        nonlocal count
        count += 1
        other = pair()
        other.append(other)
        del other
        gc.collect()
        message.reply(1, b"")

    @a.handler(1)
    def back(_message):
        gc.collect()

    for _ in range(20):
        a.send(1, 1)
    end = time.monotonic() + PATIENCE
    while count < 20 and time.monotonic() < end:
        a.poll()
        b.poll()
    assert count == 20
    a.end()
    b.end()


def test_threads_free_endpoints_of_other_threads():
    ended = []

    def work(seed):
        chosen = random.Random(seed)
        for _ in range(8):
            a, b = pair(job=seed + 1)
            box = [a, b]

            @b.handler(1)
            def take(message, box=box):
                return b""

            a.send(1, 1)
            a.poll()
            b.poll()
            if chosen.random() < 0.5:
                freeing = threading.Thread(target=box.clear)
                del a, b, take
                freeing.start()
                freeing.join()
            gc.collect()
        ended.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == [0, 1, 2, 3]


def in_child(work):
    """Runs `work` in a forked child. Returns its exit code, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = work() or 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def test_after_a_fork_the_child_has_closed_endpoints():
    a, b = pair()
    room = bytearray(10)
    memory = b.register_memory(room)
    got = []

    @b.handler(1)
    def take(message):
        got.append(message.data)

    def work():
        assert not a.is_open and not b.is_open
        for call in (a.poll, lambda: a.send(1, 1), lambda: a.wait(1)):
            with pytest.raises(wireproof.Closed):
                call()
        a.end()
        a.close()
        gc.collect()
        c, d = pair()  # a child may have its own
        c.send(1, 1)
        c.poll()
        return 7

    assert in_child(work) == 7
    a.send(1, 1, b"the parent goes on")
    end = time.monotonic() + PATIENCE
    while not got and time.monotonic() < end:
        a.poll()
        b.poll()
    assert got == [b"the parent goes on"]
    assert memory.address
    a.end()
    b.end()


def test_a_fork_in_a_loop_leaves_the_parent_alone():
    async def main():
        a, b = pair()
        async with a, b:

            @b.handler(1)
            def echo(message):
                return message.data

            assert await a.request(1, 1, b"before") == b"before"

            def work():
                a.end()
                b.end()
                gc.collect()
                return 5

            assert in_child(work) == 5
            for i in range(10):
                assert await a.request(1, 1, b"%d" % i) == b"%d" % i

    run(main())


def test_a_child_that_returns_from_a_handler_is_ended():
    a, b = pair()
    codes = []

    @b.handler(1)
    def forks(_message):
        child = os.fork()
        if child == 0:
            return
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    a.send(1, 1)
    end = time.monotonic() + PATIENCE
    while not codes and time.monotonic() < end:
        a.poll()
        b.poll()
    assert codes == [1]
    a.end()
    b.end()


@pytest.mark.parametrize("in_loop", [False, True])
@pytest.mark.parametrize("how", ["return", "exit", "exception", "signal"])
def test_a_program_may_end_with_open_endpoints(how, in_loop):
    program = textwrap.dedent(
        f"""
        import asyncio, os, signal, sys
        from kit import pair
        import wireproof
        a, b = pair()
        memory = b.register_memory(bytearray(100))
        @b.handler(1)
        def take(message, held=(a, b)):
            return b"x"
        kept = [a, b, take, memory]
        kept.append(kept)
        def end():
            if {how!r} == "exit": sys.exit(3)
            if {how!r} == "exception": raise ValueError("the end")
            if {how!r} == "signal": os.kill(os.getpid(), signal.SIGINT)
        async def main():
            b._drive()
            await a.request(1, 1)
            asyncio.ensure_future(a.store(1, memory.address, b"1234"))
            asyncio.ensure_future(a.request(1, 2))
            await asyncio.sleep(0)
            end()
        if {in_loop}:
            asyncio.run(main())
        else:
            a.send(1, 1)
            a.poll()
            b.poll()
            end()
        """
    )
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        capture_output=True,
        text=True,
        cwd=os.path.dirname(__file__),
        timeout=PATIENCE,
    )
    expected = {"return": 0, "exit": 3, "exception": 1, "signal": -signal.SIGINT}[how]
    assert ended.returncode == expected, ended.stderr
    assert "Segmentation" not in ended.stderr and "Fatal" not in ended.stderr
    if how in ("return", "exit"):
        assert ended.stderr == ""
