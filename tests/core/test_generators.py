"""Generators: NumPy's are made when a number is drawn, and give the numbers of their seeds."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import kellet
from tests import processes

LATE = """
import sys, numpy
before = set(sys.modules)
import kellet
late = {"numpy.random", "secrets", "dataclasses", "traceback"}
print(sorted(late & (set(sys.modules) - before)))
kellet.manual_seed(7)
print(kellet.default_generator._made, kellet.rand(1).shape, type(kellet.default_generator._made).__name__)
"""


def test_an_import_makes_no_source_of_numbers() -> None:
    ran = processes.run(
        [sys.executable, "-I", "-c", LATE], cold=True, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == ["[]", "None (1,) Generator"]


def test_a_seed_gives_the_numbers_of_numpys_generator() -> None:
    drawn = kellet.rand(4, generator=kellet.Generator().manual_seed(11), dtype="float64")
    expected = np.random.Generator(np.random.PCG64(11)).random(4)
    assert np.array_equal(drawn.numpy(), expected)


def test_a_generator_that_was_not_asked_yet_has_a_state_and_can_be_copied() -> None:
    generator = kellet.Generator().manual_seed(5)
    copied = pickle.loads(pickle.dumps(generator))
    taken = kellet.Generator().set_state(generator.get_state())
    first = kellet.rand(3, generator=generator)
    assert kellet.equal(first, kellet.rand(3, generator=copied))
    assert kellet.equal(first, kellet.rand(3, generator=taken))
    assert copied.initial_seed() == taken.initial_seed() == 5


def test_a_new_seed_starts_anew_after_numbers_were_drawn() -> None:
    generator = kellet.Generator().manual_seed(5)
    first = kellet.rand(3, generator=generator)
    kellet.rand(3, generator=generator)
    assert kellet.equal(first, kellet.rand(3, generator=generator.manual_seed(5)))


def test_generators_that_nobody_seeded_differ() -> None:
    seeds = {kellet.Generator().initial_seed() for _ in range(8)}
    assert len(seeds) == 8
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_threads_that_draw_first_at_once_share_one_source() -> None:
    generator = kellet.Generator().manual_seed(13)
    with ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(lambda _: kellet.rand(1, generator=generator).item(), range(64)))
    expected = kellet.rand(64, generator=kellet.Generator().manual_seed(13)).numpy()
    assert sorted(drawn) == sorted(float(one) for one in expected)
