"""Mean and standard deviation of numbers that a kernel asks for, batch by batch.

    python moments.py IMAGE [DEVICE]

The numbers come from a generator of this program, so they need not fit in the device's memory, nor exist
before the kernel asks for them.
"""

import sys
import threading

import numpy as np
import revoff

NUMBERS, BATCH, TEAMS, THREADS = 20_000, 256, 2, 32

# The structure of the kernel's results, as its crate declares it.
SUMS = np.dtype([("count", "u8"), ("sum", "f8"), ("squares", "f8")], align=True)


def batches(seed):
    """Batches of random numbers, NUMBERS in all."""
    random = np.random.default_rng(seed)
    for start in range(0, NUMBERS, BATCH):
        yield random.normal(5.0, 2.0, min(BATCH, NUMBERS - start)).astype(np.float32)


def main():
    image, device = sys.argv[1], (sys.argv[2:] or ["host"])[0]
    left, lock = batches(seed=1), threading.Lock()

    # Calls come from several threads at a time, and a generator serves one.
    @revoff.function("next_batch(batch: Out<[f32]>) -> u32")
    def next_batch(batch):
        with lock:
            numbers = next(left, ())
        batch[: len(numbers)] = numbers
        return len(numbers)

    with revoff.Runtime(device) as runtime:
        program = runtime.load(image, [next_batch])
        moments = program.kernel("moments(sums: Out<[Sums]>)", types={"Sums": SUMS})
        sums = np.zeros(TEAMS * THREADS, SUMS)
        moments(sums, teams=TEAMS, threads=THREADS)

        count, total, squares = (sums[name].sum() for name in SUMS.names)
        mean = total / count
        deviation = np.sqrt(squares / count - mean**2)
        print(f"{count} numbers in {runtime.requests} calls: mean {mean:.4f}, deviation {deviation:.4f}")

    expected = np.concatenate(list(batches(seed=1)))
    assert count == NUMBERS
    assert np.isclose(mean, expected.mean(dtype=float))
    assert np.isclose(deviation, expected.std(dtype=float))


if __name__ == "__main__":
    main()
