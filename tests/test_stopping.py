"""Ctrl-C, SIGTERM and SIGHUP are one thing, and what should be done as a whole is."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import limbeck.stopping
from limbeck.stopping import SIGNALS, PutOff, as_ctrl_c, kept_from_children


@pytest.fixture(autouse=True)
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Signals as a program in the foreground has them, each of them new."""
    monkeypatch.setattr(limbeck.stopping, "TWICE", 0.0)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@contextmanager
def stopped() -> Iterator[None]:
    """What is inside must end by KeyboardInterrupt."""
    try:
        yield
    except KeyboardInterrupt:
        return
    pytest.fail("it was not stopped")


@pytest.mark.parametrize("number", SIGNALS)
def test_all_are_as_ctrl_c(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stopped(), as_ctrl_c():
        signal.raise_signal(number)
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("number", [number for number in SIGNALS if number != signal.SIGINT])
def test_what_is_ignored_stays_so(number: signal.Signals) -> None:
    """As under nohup, and what a program around has arranged."""
    heard: list[int] = []
    for handler in (signal.SIG_IGN, lambda number, frame: heard.append(number)):
        signal.signal(number, handler)
        with as_ctrl_c():
            signal.raise_signal(number)
        assert signal.getsignal(number) is handler
    assert heard == [number]


def test_a_signal_that_comes_twice_at_once_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent to the process and to its group: what is cleared up after the first is not ended by the second."""
    monkeypatch.setattr(limbeck.stopping, "TWICE", 1000.0)
    monkeypatch.setattr(limbeck.stopping, "_last", -1e9)
    with as_ctrl_c(), PutOff(lambda: False):
        with stopped():
            signal.raise_signal(signal.SIGTERM)
        with stopped(), PutOff():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
    monkeypatch.setattr(limbeck.stopping, "_last", -1e9)
    with as_ctrl_c():
        with stopped():
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_stop_waits_for_the_end(number: signal.Signals) -> None:
    done = []
    with as_ctrl_c():
        with stopped(), PutOff() as stop:
            assert not stop.asked
            signal.raise_signal(number)
            assert stop.asked
            stop.check()  # there is time
            done.append(1)
        with stopped():  # and is over
            signal.raise_signal(number)
    assert done == [1]


def test_a_second_one_does_not_wait() -> None:
    done = []
    with as_ctrl_c(), stopped(), PutOff():
        signal.raise_signal(signal.SIGTERM)
        done.append(1)
        signal.raise_signal(signal.SIGINT)
        done.append(2)
    assert done == [1]


def test_no_longer_than_allowed() -> None:
    told: list[str] = []
    with stopped(), PutOff(seconds=-1.0) as stop:
        stop.check()
        signal.raise_signal(signal.SIGINT)
        told.append("heard")
        stop.check()
        told.append("not here")
    with stopped(), PutOff() as stop:
        signal.raise_signal(signal.SIGINT)
        stop.check(told.append)
        stop.check(told.append)
        told.append("end")
    assert [told[0], told[-1], len(told)] == ["heard", "end", 3]


def test_where_nothing_is_to_be_lost_it_does_not_wait() -> None:
    worth, done = True, []
    with stopped(), PutOff(lambda: worth) as stop:
        signal.raise_signal(signal.SIGINT)
        done.append(1)
        worth = False
        stop.check()
        done.append(2)
    with stopped(), PutOff(lambda: worth):
        signal.raise_signal(signal.SIGINT)
        done.append(3)
    assert done == [1]


def test_one_inside_another() -> None:
    done = []
    with stopped(), PutOff():
        with PutOff():
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]
    with PutOff(lambda: False), stopped(), PutOff():
        signal.raise_signal(signal.SIGINT)
        done.append("inner again")
    assert done[-1] == "inner again"


def test_an_error_inside_is_the_error() -> None:
    def wrong() -> None:
        with PutOff():
            signal.raise_signal(signal.SIGINT)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        wrong()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


class Falling:
    """Sends a signal as it is collected."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


def in_the_end_of_an_object(number: int) -> None:
    Falling(number)


def in_a_callback_of_a_weak_reference(number: int) -> None:
    key = Key()
    watching = weakref.ref(key, lambda _: signal.raise_signal(number))
    del key
    assert watching() is None


class Key:
    """What can be referred to weakly."""


def in_the_closing_of_a_generator(number: int) -> None:
    def items() -> Iterator[int]:
        try:
            yield 1
        finally:
            signal.raise_signal(number)

    waiting = items()
    next(waiting)
    del waiting


def in_a_callback_of_c(number: int) -> None:
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))()


DROPPED = (
    in_the_end_of_an_object,
    in_a_callback_of_a_weak_reference,
    in_the_closing_of_a_generator,
    in_a_callback_of_c,
)


def work(done: list[int]) -> None:
    """Batches, as many as there can be until somebody stops it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        done.append(len(done))


@pytest.mark.parametrize("drop", DROPPED)
@pytest.mark.parametrize("number", SIGNALS)
def test_a_stop_that_python_drops_comes_again(
    number: signal.Signals, drop: Callable[[int], None], capfd: pytest.CaptureFixture[str]
) -> None:
    done: list[int] = []
    with as_ctrl_c():
        with stopped():
            drop(number)
            work(done)
        with stopped(), PutOff(lambda: False):  # nothing is held back
            drop(number)
            work(done)
    assert done
    assert "ignored" not in capfd.readouterr().err


def test_a_dropped_second_one_does_not_wait() -> None:
    done: list[int] = []
    with as_ctrl_c(), stopped(), PutOff():
        signal.raise_signal(signal.SIGTERM)
        in_the_end_of_an_object(signal.SIGTERM)
        work(done)
    assert done


def test_a_dropped_stop_does_not_come_after_the_end() -> None:
    """Where the work was over first: nobody listens any more, and SIGTERM would end the process."""
    with as_ctrl_c():
        in_the_end_of_an_object(signal.SIGTERM)
    time.sleep(4 * limbeck.stopping.AGAIN)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_other_errors_are_dropped_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong:
        def __del__(self) -> None:
            raise ValueError("mine")

    told: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: told.append(dropped.exc_type))
    with as_ctrl_c():
        Wrong()
    assert told == [ValueError]


CHILD = """
import sys
from limbeck.stopping import ignore
sys.stdin.readline()  # signals were sent
ignore()
print("alive", flush=True)
sys.stdin.readline()
print("still", flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs signal masks")
def test_a_child_is_told_of_nothing_from_its_first_moment() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with kept_from_children():
        child = subprocess.Popen([sys.executable, "-c", CHILD], **pipes)  # type: ignore[call-overload]
    with child:
        for said in ("alive", "still"):
            for number in SIGNALS:
                child.send_signal(number)
            child.stdin.write("\n")
            child.stdin.flush()
            assert child.stdout.readline() == said + "\n"
    assert child.returncode == 0
