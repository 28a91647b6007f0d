"""Endpoints without an event loop: waiting, signals and threads."""

import contextlib
import os
import signal
import threading
import time

import pytest
from kit import PATIENCE, pair

import wireproof


def test_a_second_thread_gets_an_error_and_may_wake():
    a, b = pair()
    inside = threading.Event()
    told = []

    def wait():
        inside.set()
        while not told:
            with contextlib.suppress(wireproof.Error):  # this thread was inside
                told.append(a.wait(PATIENCE))

    thread = threading.Thread(target=wait)
    thread.start()
    inside.wait()
    with pytest.raises(wireproof.Error, match="another thread is inside a call") as error:
        while not told:
            time.sleep(0.01)
            a.poll()
    assert error.value.status == "not_allowed"
    a.wake()
    thread.join(PATIENCE)
    assert told == [True]
    assert a.poll() == 0  # now this thread may
    a.end()
    b.end()


def test_ctrl_c_ends_a_wait():
    a, _b = pair()
    interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        interrupt.start()
        a.wait(PATIENCE)
    a.send(1, 1)
    interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        interrupt.start()
        a.flush(1, PATIENCE)
    a.end()


def test_wait_and_flush_have_limits():
    a, b = pair()
    assert a.wait(0.05) is False
    a.send(1, 1, b"x")
    with pytest.raises(wireproof.TimedOut):
        a.flush(1, 0.05)
    with pytest.raises(TimeoutError):
        a.close(0.05)
    assert not a.is_open
    b.end()


def test_threads_carry_with_an_endpoint_each():
    a, b = pair()
    got, stop = [], threading.Event()

    @b.handler(1)
    def take(message):
        got.append(message.data)
        message.reply(2, message.data)

    def serve():
        while not stop.is_set():
            b.wait(0.1)

    back = []

    @a.handler(2)
    def came_back(message):
        back.append(message.data)

    thread = threading.Thread(target=serve)
    thread.start()
    for i in range(200):
        while True:
            try:
                a.send(1, 1, b"%d" % i)
                break
            except wireproof.Error as error:
                assert error.status == "would_block"
                a.wait(0.1)
    end = time.monotonic() + PATIENCE
    while len(back) < 200 and time.monotonic() < end:
        a.wait(0.1)
    stop.set()
    thread.join()
    assert got == back == [b"%d" % i for i in range(200)]
    with contextlib.suppress(wireproof.Error):
        a.close(0.5)
    b.end()
