#!/usr/bin/env python3
"""The library in Python, through its interface for C and ctypes: no compiler is needed.

    c_api_ctypes.py [LIBRARY]

Two nodes exchange requests and replies over UDP. One of them has a thread of its own: ctypes releases the lock of
Python while a call waits, and takes it to run a handler. Then a simulation compares a link with its closed form.
"""
import ctypes
import sys
import threading
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t,
                    c_uint16, c_uint64, c_void_p, sizeof)

library = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libwireproof.so.0")
OK, TIMED_OUT = 0, 9
SQUARE, ANSWER = 1, 2


# As in wireproof/wireproof.h. The library gives the members that it does not find here their defaults, so a program
# may leave out members at the end.
class Options(Structure):
    _fields_ = [("size", c_size_t), ("peers", POINTER(c_char_p)), ("nodes", c_size_t), ("self", c_size_t)]


class Message(Structure):
    _fields_ = [("size", c_size_t), ("peer", c_size_t), ("bytes", c_void_p), ("length", c_size_t)]


class PointSettings(Structure):
    _fields_ = [("size", c_size_t), ("protocol", c_char_p), ("bit_error_rate", c_double)]


class PointPlan(Structure):
    _fields_ = [("size", c_size_t), ("packets", c_uint64), ("relative_error", c_double)]


class PointFigures(Structure):
    _fields_ = [("size", c_size_t)] + [(name, c_double) for name in (
        "packets", "etr", "throughput", "resend_ratio", "relative_error", "closed_etr")]


Handler = CFUNCTYPE(None, c_void_p, POINTER(Message), c_void_p)


def declare(name, result, *arguments):
    """Without the types of its arguments, ctypes would pass a pointer as an int of 32 bits."""
    function = getattr(library, "wireproof_" + name)
    function.restype, function.argtypes = result, arguments
    return function


options_init = declare("options_init", c_int32, POINTER(Options), c_size_t)
endpoint_open = declare("endpoint_open", c_int32, POINTER(Options), POINTER(c_void_p), c_char_p, c_size_t)
endpoint_free = declare("endpoint_free", c_int32, c_void_p)
endpoint_error = declare("endpoint_error", c_char_p, c_void_p)
endpoint_address = declare("endpoint_address", c_char_p, c_void_p)
set_peer_address = declare("endpoint_set_peer_address", c_int32, c_void_p, c_size_t, c_char_p)
handle = declare("endpoint_handle", c_int32, c_void_p, c_uint16, Handler, c_void_p)
request = declare("endpoint_request", c_int32, c_void_p, c_size_t, c_uint16, c_char_p, c_size_t)
reply = declare("endpoint_reply", c_int32, c_void_p, c_uint16, c_char_p, c_size_t)
wait = declare("endpoint_wait", c_int32, c_void_p, c_int64)
wake = declare("endpoint_wake", None, c_void_p)
has_lab = declare("has_lab", c_int)
point_settings_init = declare("point_settings_init", c_int32, POINTER(PointSettings), c_size_t)
point_plan_init = declare("point_plan_init", c_int32, POINTER(PointPlan), c_size_t)
point_run = declare("point_run", c_int32, POINTER(PointSettings), POINTER(PointPlan), POINTER(PointFigures), c_char_p,
                    c_size_t)


def check(status, text):
    if status != OK:
        sys.exit("c_api_ctypes: " + text.decode())


def open_node(self):
    options, endpoint, why = Options(), c_void_p(), ctypes.create_string_buffer(1024)
    options_init(byref(options), sizeof(options))
    peers = (c_char_p * 2)(b"", b"")
    peers[self] = b"127.0.0.1:0"
    options.peers, options.nodes, options.self = peers, 2, self
    check(endpoint_open(byref(options), byref(endpoint), why, len(why)), why.value)
    return endpoint


def bytes_of(message):
    return ctypes.string_at(message.contents.bytes, message.contents.length)


def exchange():
    asker, answerer = open_node(0), open_node(1)
    check(set_peer_address(asker, 1, endpoint_address(answerer)), endpoint_error(asker))
    check(set_peer_address(answerer, 0, endpoint_address(asker)), endpoint_error(answerer))
    answers = []
    ended = threading.Event()

    def on_square(endpoint, message, _user):
        number = int(bytes_of(message))
        text = b"%d squared is %d" % (number, number * number)
        check(reply(endpoint, ANSWER, text, len(text)), endpoint_error(endpoint))

    def serve():
        while not ended.is_set():
            if wait(answerer, 1000) not in (OK, TIMED_OUT):
                sys.exit("c_api_ctypes: " + endpoint_error(answerer).decode())

    # The library calls these objects, so they must live until the endpoints are freed.
    handlers = [Handler(on_square), Handler(lambda _endpoint, message, _user: answers.append(bytes_of(message)))]
    check(handle(answerer, SQUARE, handlers[0], None), endpoint_error(answerer))
    check(handle(asker, ANSWER, handlers[1], None), endpoint_error(asker))
    server = threading.Thread(target=serve)
    server.start()
    for number in range(1, 6):
        text = b"%d" % number
        check(request(asker, 1, SQUARE, text, len(text)), endpoint_error(asker))
    while len(answers) < 5:
        check(wait(asker, 120_000), endpoint_error(asker))
    ended.set()
    wake(answerer)  # the only call that another thread may make
    server.join()
    for endpoint in (asker, answerer):
        endpoint_free(endpoint)
    print(b"\n".join(answers).decode())


def simulate():
    settings, plan, figures = PointSettings(), PointPlan(), PointFigures(size=sizeof(PointFigures))
    point_settings_init(byref(settings), sizeof(settings))
    point_plan_init(byref(plan), sizeof(plan))
    settings.protocol, settings.bit_error_rate, plan.relative_error = b"pcie", 1e-6, 0.05
    why = ctypes.create_string_buffer(1024)
    check(point_run(byref(settings), byref(plan), byref(figures), why, len(why)), why.value)
    print(f"pcie ETR {100 * figures.etr:.1f} %, by the closed form {100 * figures.closed_etr:.1f} %")


exchange()
if has_lab():
    simulate()
