"""The devices and the image of the tests, which `ci/python` names."""

import os

import numpy as np
import pytest
import revoff

IMAGE = os.environ["REVOFF_TEST_IMAGE"]
C_IMAGE = os.environ["REVOFF_TEST_C_IMAGE"]
DEVICES = os.environ.get("REVOFF_TEST_DEVICES", "host").split()

# Seconds after which a launch fails. None takes that long: a launch that waits for ever is a failure, not a test that
# does not end.
DEADLINE = 120

PAIR = np.dtype([("left", "u8"), ("right", "f8")], align=True)


@pytest.fixture
def image():
    return IMAGE


@pytest.fixture(params=DEVICES)
def runtime(request):
    with revoff.Runtime(request.param, deadline=DEADLINE) as runtime:
        yield runtime


@pytest.fixture
def host():
    """A runtime on the device `host`, for tests of what does not depend on the device."""
    with revoff.Runtime("host", deadline=DEADLINE) as runtime:
        yield runtime


@pytest.fixture
def ask(runtime):
    """Loads the image with a callable as `act`, and returns a function that launches `ask`."""
    return asking(runtime)


def asking(runtime):
    def load(act):
        program = runtime.load(IMAGE, [revoff.Function("act(what: u64) -> u64", act)])
        kernel = program.kernel("ask(words: &[u64], answers: &mut [u64])")

        def launch(words, **grid):
            words = np.asarray(words, np.uint64)
            answers = np.zeros(len(words), np.uint64)
            kernel(words, answers, **grid)
            return answers

        return launch

    return load
