"""Threads: of Python beside a launch, of devices that call at once, and signals."""

import _thread
import signal
import threading

import numpy as np
import pytest
import revoff
from conftest import IMAGE, asking


def test_many_calls_of_many_threads(ask):
    words = np.arange(2000)
    assert (ask(lambda what: 3 * what)(words, teams=4, threads=32) == 3 * words).all()


def test_functions_run_at_once(ask):
    # Each call waits for the other three.
    barrier = threading.Barrier(4, timeout=30)
    launch = ask(lambda what: barrier.wait() * 0 + what)
    assert launch(range(4), teams=4).tolist() == [0, 1, 2, 3]


def test_other_threads_go_on(host):
    """A call waits for another Python thread. If the launch kept the GIL, none of both would run before its deadline."""
    called, answer = threading.Event(), threading.Event()

    def act(what):
        called.set()
        assert answer.wait(30)
        return what

    def other():
        assert called.wait(30)
        answer.set()

    thread = threading.Thread(target=other)
    thread.start()
    assert asking(host)(act)([7]).tolist() == [7]
    thread.join()


def test_threads_launch_at_once(ask):
    barrier = threading.Barrier(2, timeout=30)
    # Each launch's only call waits for the other's.
    launch = ask(lambda what: barrier.wait() * 0 + what)
    results = {}

    def run(number):
        results[number] = launch([number]).tolist()

    threads = [threading.Thread(target=run, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {1: [1], 2: [2]}


class Failure(Exception):
    """Its text does not tell which call has raised it."""

    def __init__(self, what):
        super().__init__("failed")
        self.what = what


def test_an_exception_of_another_launch_is_not_the_cause(ask, runtime):
    """A call of another launch fails first, in the time of both."""
    entered, failed, ended = threading.Event(), threading.Event(), threading.Event()

    def act(what):
        match what:
            case 0:
                assert entered.wait(60)
                raise Failure(what)
            case 1:
                # The same device thread has made the call before.
                failed.set()
                assert ended.wait(60)
            case 2:
                entered.set()
                assert failed.wait(60)
                raise Failure(what)
        return what

    launch, causes = ask(act), {}

    def run(*words):
        try:
            launch(words)
        except revoff.CallError as error:
            causes[words] = error.__cause__.what

    other = threading.Thread(target=run, args=(0, 1))
    other.start()
    try:
        run(2)
    finally:
        ended.set()
        other.join()
    # On GPUs calls do not name their launch: both launches fail by the first exception.
    assert causes == {(0, 1): 0, (2,): 2 if runtime.device == "host" else 0}


def test_an_exception_of_an_earlier_launch_is_not_the_cause(ask):
    """Its exception is kept on GPUs, as long as a launch runs that it counts against."""
    entered, release = threading.Event(), threading.Event()

    def act(what):
        if what == 0:
            entered.set()
            assert release.wait(60)
            return what
        raise Failure(what)

    launch, causes, outcome = ask(act), [], []

    def run():
        try:
            outcome.extend(launch([0]).tolist())
        except revoff.CallError as error:
            outcome.append(error.__cause__.what)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert entered.wait(60)
        for what in (1, 2):
            with pytest.raises(revoff.CallError) as caught:
                launch([what])
            causes.append(caught.value.__cause__.what)
    finally:
        release.set()
        thread.join()
    assert causes == [1, 2]
    # On `host` the launch that has run all the time has no failed call; on GPUs the first one counts against it.
    assert outcome in ([0], [1])


def test_the_cause_is_the_exception_that_the_error_names(ask):
    def act(what):
        raise ValueError(f"number {what}.")

    with pytest.raises(revoff.CallError) as caught:
        ask(act)(range(32), threads=32)
    assert str(caught.value.__cause__) in str(caught.value)


def test_an_interrupt_ends_a_launch(ask):
    entered = threading.Event()
    release, returned = threading.Event(), threading.Event()

    def act(what):
        entered.set()
        release.wait(60)
        returned.set()
        return what

    def interrupt():
        entered.wait(30)
        _thread.interrupt_main()

    launch = ask(act)
    # A shell's jobs in the background ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            launch([1])
        assert not returned.is_set()
    finally:
        release.set()
        thread.join()
        signal.signal(signal.SIGINT, before)


def test_a_launch_goes_on_after_closing():
    runtime = revoff.Runtime("host")
    entered, release = threading.Event(), threading.Event()

    def act(what):
        entered.set()
        release.wait(30)
        return what

    program = runtime.load(IMAGE, [revoff.Function("act(what: u64) -> u64", act)])
    kernel = program.kernel("ask(words: &[u64], answers: &mut [u64])")
    answers = np.zeros(1, np.uint64)
    thread = threading.Thread(target=kernel, args=(np.array([5], np.uint64), answers))
    thread.start()
    assert entered.wait(30)
    runtime.close()
    release.set()
    thread.join()
    assert answers.tolist() == [5]
    with pytest.raises(revoff.ClosedError):
        kernel(np.array([5], np.uint64), answers)
