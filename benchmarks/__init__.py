"""Benchmarks: kellet and packager beside their peers, in one process, on one thread.

    python -m benchmarks                             every row
    python -m benchmarks --only mlp                  rows whose title holds the word
    python -m benchmarks --smoke                     a row of each kind once, to see that it starts
    python -m benchmarks --write docs/benchmarks.md  and write the page

A row is a `Row` (row.py): the same work written for each contender. Rows are grouped in files by
what they measure; `__main__.py` lists the files.
"""

import os

# Here, because this runs before NumPy, torch or jax are imported. On two threads, BLAS on a busy
# machine waits for itself.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
