"""Shared by the drivers: the server under test, and the account of which methods of a client were called."""

import inspect
import os
from urllib.parse import urlsplit

# URL of the server with a name and password in it, such as http://admin:secret@127.0.0.1:5984
SERVER = os.environ["SERVER"]
_parts = urlsplit(SERVER)
NAME, PASSWORD = _parts.username, _parts.password
ORIGIN = f"{_parts.scheme}://{_parts.hostname}:{_parts.port}"


class Traced:
    """Passes everything on to a client and notes the names of the methods that were called."""

    def __init__(self, client, called):
        self._client, self._called = client, called

    def __getattr__(self, name):
        value = getattr(self._client, name)
        if not callable(value):
            return value

        def call(*args, **kwargs):
            self._called.add(name)
            return value(*args, **kwargs)

        return call


def methods(cls):
    """Names of the public methods of a class, with those it inherits."""
    found = inspect.getmembers(cls, lambda member: inspect.isfunction(member) or inspect.ismethod(member))
    return {name for name, _ in found if not name.startswith("_")}


def account(cls, called, not_called):
    """Fails for a method that was neither called nor is in `not_called` (names with reasons), or is in both."""
    known = methods(cls)
    forgotten = known - called - set(not_called)
    assert not forgotten, f"{cls.__name__}: neither called nor explained: {sorted(forgotten)}"
    both = called & set(not_called)
    assert not both, f"{cls.__name__}: explained as not called, but called: {sorted(both)}"
    unknown = set(not_called) - known
    assert not unknown, f"{cls.__name__} has no methods {sorted(unknown)}"


def equal(found, expected):
    """Compares, and shows the beginning of both sides when they differ."""
    assert found == expected, f"{repr(found)[:400]} is not {repr(expected)[:400]}"


def refused(error, call, **expected):
    """The call fails with `error`, whose attributes are as expected."""
    try:
        answer = call()
    except error as failure:
        for key, value in expected.items():
            equal(getattr(failure, key), value)
        return failure
    raise AssertionError(f"was not refused: {answer!r}")
