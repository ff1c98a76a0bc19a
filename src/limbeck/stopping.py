"""Signals that end a run: Ctrl-C, SIGTERM of a batch system, SIGHUP of a closed terminal. All three are as Ctrl-C.

They raise KeyboardInterrupt where the program happens to be, and what is under way is given up. What should be done as
a whole is put under `PutOff`, which holds them back until its end. Where the program happens to be in a `__del__`, in a
callback of a weak reference or of C, or in the closing of a generator, Python drops the exception: the signal is then
sent again, so that no loop needs to look whether there was one.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
GRACE = 10.0  #: seconds that a put off stop may take; batch systems wait for some 30, docker for 10
TWICE = 1.0  #: seconds within which a signal that comes again is the same one
AGAIN = 0.05  #: seconds after which a stop that Python has dropped is sent again; by then its callback has ended

_last = -TWICE


class Stopped(KeyboardInterrupt):
    """SIGTERM or SIGHUP. Of KeyboardInterrupt itself Python sometimes dies after it was dealt with."""


def stop_now(number: int, frame: FrameType | None) -> None:
    """A handler: SIGTERM or SIGHUP as Ctrl-C."""
    global _last
    before, _last = _last, time.monotonic()
    # `timeout` and batch systems send it to the process and again to its group: the second should not end the clearing
    if _last - before > TWICE:
        raise Stopped(number)


@contextmanager
def as_ctrl_c() -> Iterator[None]:
    """Whatever ends a run ends it as Ctrl-C does. What is ignored (`nohup`) or has a handler of its own stays."""
    taken = []
    with suppress(ValueError):  # not in the main thread
        for number in SIGNALS:
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, stop_now)
                taken.append(number)
    try:
        with _sent_again():
            yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _sent_again() -> Iterator[None]:
    """Inside, a stop that Python drops, of which it tells `sys.unraisablehook` alone, comes again a moment later."""
    usual = sys.unraisablehook
    sending: list[threading.Timer] = []

    def hear(dropped: UnraisableHookArgs) -> None:
        global _last
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            usual(dropped)
            return
        _last = -TWICE  # it should not be taken for the same one
        number = dropped.exc_value.args[0] if dropped.exc_value and dropped.exc_value.args else signal.SIGINT
        timer = threading.Timer(AGAIN, _send, [number])  # here it would be dropped once more
        timer.daemon = True
        timer.start()
        sending[:] = [timer]

    sys.unraisablehook = hear
    try:
        yield
    finally:
        sys.unraisablehook = usual
        for timer in sending:  # nothing is left to stop, and the handler goes
            timer.cancel()
            timer.join()


def _send(number: int) -> None:
    """A signal for the main thread, which ends its waiting, too, where the system has a way to do that."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


@contextmanager
def kept_from_children() -> Iterator[None]:
    """A process that is started in here is told of nothing until it says `ignore`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore() -> None:
    """For a process that another one ends: signals go to whole groups of processes, and that one knows what to do."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


class PutOff:
    """Holds a stop back until the end of a block, or until `check` says that it is time.

    worth    whether there is anything to lose at this moment; where there is not the stop is not held back
    seconds  for which `check` goes on; None: `GRACE`

    A second signal, for the impatient, is not held back. Outside the main thread nothing is. A block that ends in an
    error ends in that error: the stop that was asked for is not raised as well.
    """

    def __init__(self, worth: Callable[[], bool] = lambda: True, *, seconds: float | None = None) -> None:
        self._worth = worth
        self._seconds = GRACE if seconds is None else seconds
        self._before: dict[int, Any] = {}
        self._asked: float | None = None
        self._told = False

    @property
    def asked(self) -> bool:
        """Whether there is a stop that was held back."""
        return self._asked is not None

    def check(self, tell: Callable[[str], None] | None = None) -> None:
        """Stop if that was asked for and what was under way takes too long, or has nothing left to lose."""
        if self._asked is None:
            return
        if time.monotonic() - self._asked > self._seconds or not self._worth():
            raise KeyboardInterrupt
        if tell is not None and not self._told:
            self._told = True
            tell(f"stopping as soon as what is done is written, in {self._seconds:g} s at most; Ctrl-C stops at once.")

    def _hear(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._asked is None and self._worth():
            self._asked = now
        elif self._asked is None or now - self._asked > TWICE:
            raise KeyboardInterrupt(number)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = signal.getsignal(number)
                if handler in (signal.default_int_handler, stop_now) or _is_put_off(handler):
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._asked is None or error is not None:
            return
        outer = next(iter(self._before.values()))
        if not _is_put_off(outer):
            raise KeyboardInterrupt
        outer(signal.SIGINT, None)


def _is_put_off(handler: Any) -> bool:
    return isinstance(getattr(handler, "__self__", None), PutOff)
