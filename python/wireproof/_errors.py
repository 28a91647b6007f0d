"""The exceptions of wireproof."""


class Error(Exception):
    """A call of the library failed. The text is one line.

    `status` is the name of the status in wireproof.h: "failed", "not_allowed", "forbidden".
    """

    def __init__(self, text: str, status: str = "failed") -> None:
        super().__init__(text)
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.status)


class PeerLost(Error):
    """The session with a peer ended. Nobody knows whether the last messages arrived."""

    def __init__(self, text: str, status: str = "peer_lost") -> None:
        super().__init__(text, status)


class TimedOut(Error, TimeoutError):
    """The limit passed first."""

    def __init__(self, text: str, status: str = "timed_out") -> None:
        super().__init__(text, status)


class Closed(Error):
    """The endpoint is closed, or was closed before the transfer had ended."""

    def __init__(self, text: str, status: str = "closed") -> None:
        super().__init__(text, status)


class HandlerFailed(Error):
    """The handler of a request raised an exception at the peer. The text names it."""

    def __init__(self, text: str, status: str = "handler_failed") -> None:
        super().__init__(text, status)


_CLASSES: dict[str, type[Error]] = {"peer_lost": PeerLost, "timed_out": TimedOut, "closed": Closed}
_TEXTS = {
    "would_block": "there is no room now",
    "too_long": "the message is longer than message_max (store() has room), or the transfer than 2^62",
    "not_allowed": "the call is not allowed here, or not with this argument",
    "no_such_peer": "no peer has this number, or its address is not known yet",
    "peer_lost": "the session with the peer ended",
    "no_handler": "the peer has no handler of this number",
    "forbidden": "the peer did not register this memory, or not with this right",
    "closed": "the endpoint is closed",
    "timed_out": "the limit passed first",
}


def of_status(status: int, name: str, text: str) -> BaseException:
    """The exception that belongs to a status of wireproof.h. The extension calls it."""
    if name == "no_memory":
        return MemoryError(text)
    text = text or _TEXTS.get(name, f"the library returned status {status}, {name}")
    return _CLASSES.get(name, Error)(text, name)
