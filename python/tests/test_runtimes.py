"""Runtimes: devices, images, the end of a runtime, and what the environment sets."""

import gc
import json
import os
import pathlib
import subprocess
import sys
import weakref

import numpy as np
import pytest
import revoff
from conftest import DEVICES, IMAGE

ASK = "ask(words: &[u64], answers: &mut [u64])"


def test_devices():
    assert {"host", "emu"} <= set(revoff.devices())


@pytest.mark.parametrize("name", ["emu:gfx90a", *DEVICES])
def test_a_device_opens(name):
    with revoff.Runtime(name) as runtime:
        assert runtime.device == name
        assert runtime.description
        assert runtime.requests == 0


def test_no_such_device():
    with pytest.raises(revoff.DeviceError, match="no device `gpu`; available: .*host"):
        revoff.Runtime("gpu")


def test_images(host, tmp_path):
    host.load(pathlib.Path(IMAGE))
    host.load(pathlib.Path(IMAGE).read_bytes())
    with pytest.raises(revoff.ImageError, match="cannot read image /no/image"):
        host.load("/no/image")
    with pytest.raises(revoff.ImageError, match="is no device image"):
        host.load(b"text")
    other = tmp_path / "other"
    other.write_text("text")
    with pytest.raises(revoff.ImageError, match="other is no device image"):
        host.load(other)


def test_after_the_end():
    with revoff.Runtime() as runtime:
        program = runtime.load(IMAGE)
        kernel = program.kernel(ASK)
    runtime.close()
    for use in [
        lambda: runtime.load(IMAGE),
        lambda: runtime.description,
        lambda: program.kernel(ASK),
        lambda: kernel(np.zeros(0, np.uint64), np.zeros(0, np.uint64)),
    ]:
        with pytest.raises(revoff.ClosedError, match="the runtime has been closed"):
            use()


def test_closing_releases_functions():
    class Act:
        def __call__(self, what):
            return what

    act = Act()
    seen = weakref.ref(act)
    with revoff.Runtime() as runtime:
        runtime.load(IMAGE, [revoff.Function("act(what: u64) -> u64", act)])
        kept = runtime.load(IMAGE, [revoff.Function("act(what: u64) -> u64", act)])
        del act
        assert seen() is not None
    gc.collect()
    assert seen() is None
    del kept


def test_a_deadline():
    release = []

    def act(what):
        while not release:
            pass
        return what

    with revoff.Runtime(deadline=0.2) as runtime:
        kernel = runtime.load(IMAGE, [revoff.Function("act(what: u64) -> u64", act)]).kernel(ASK)
        try:
            with pytest.raises(revoff.DeadlineError, match="has not ended after 200ms"):
                kernel(np.zeros(1, np.uint64), np.zeros(1, np.uint64))
        finally:
            release.append(True)
    with pytest.raises(revoff.SettingError, match="deadline=-1: .*; pass the number of seconds"):
        revoff.Runtime(deadline=-1)


def test_a_negative_number_of_threads():
    with pytest.raises(revoff.SettingError, match="threads=-1: pass a number from 1"):
        revoff.Runtime(threads=-1)


PROGRAM = """
import sys, urllib.request
import numpy as np, revoff
act = revoff.Function("act(what: u64) -> u64", lambda what: what)
with revoff.Runtime() as runtime:
    kernel = runtime.load(sys.argv[1], [act]).kernel("ask(words: &[u64], answers: &mut [u64])")
    kernel(np.arange(5, dtype=np.uint64), np.zeros(5, np.uint64))
    if len(sys.argv) > 2:
        import socket
        with socket.socket(socket.AF_UNIX) as metrics:
            metrics.connect(sys.argv[2])
            metrics.sendall(b"GET /metrics HTTP/1.0\\r\\n\\r\\n")
            print(metrics.makefile().read())
"""


def run(*arguments, program=PROGRAM, **environment):
    command = [sys.executable, "-c", program, IMAGE, *arguments]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=60)


def test_a_timeline(tmp_path):
    file = tmp_path / "timeline.json"
    assert run(REVOFF_TRACE=str(file)).returncode == 0
    events = json.loads(file.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    assert sum(event.get("name") == "act" for event in events) >= 5


def test_metrics(tmp_path):
    socket = tmp_path / "metrics"
    done = run(str(socket), REVOFF_METRICS=str(socket))
    assert done.returncode == 0, done.stderr
    assert 'function="act"' in done.stdout


def test_the_log():
    assert run().stderr == ""
    assert "revoff_host" in run(REVOFF_LOG="debug").stderr
    assert "SettingError: environment variable REVOFF_LOG" in run(REVOFF_LOG="a===").stderr


def test_an_invalid_setting():
    assert "revoff.SettingError: environment variable REVOFF_SLOTS" in run(REVOFF_SLOTS="many").stderr


LATE = """
import sys, time
import numpy as np, revoff
def act(what):
    time.sleep(1)
    print("returns")
    return what
with revoff.Runtime(deadline=0.2) as runtime:
    kernel = runtime.load(sys.argv[1], [revoff.Function("act(what: u64) -> u64", act)]).kernel("%s")
    try:
        kernel(np.zeros(1, np.uint64), np.zeros(1, np.uint64))
    except revoff.DeadlineError:
        print("caught")
"""


DAEMON = """
import sys, threading, time
import numpy as np, revoff
begun = threading.Event()
def act(what):
    begun.set()
    time.sleep(0.3)
    return what
def launch():
    with revoff.Runtime() as runtime:
        function = revoff.Function("act(what: u64) -> u64", act)
        kernel = runtime.load(sys.argv[1], [function]).kernel("%s")
        while True:
            try:
                kernel(np.zeros(1, np.uint64), np.zeros(1, np.uint64))
            except revoff.LaunchError:
                pass # The interpreter ends.
class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)
slow = Slow()
threading.Thread(target=launch, daemon=True).start()
begun.wait()
print("ends")
"""


def test_the_interpreter_ends_while_a_daemon_thread_launches():
    done = run(program=DAEMON % ASK, REVOFF_LOG="off")
    assert (done.returncode, done.stdout) == (0, "ends\n"), done.stderr


def test_the_interpreter_ends_after_a_function_that_runs_on():
    done = run(program=LATE % ASK)
    assert (done.returncode, done.stdout) == (0, "caught\nreturns\n"), done.stderr
