"""What a person waits for, beside its peers: the rows of docs/benchmarks.md.

    python -m benchmarks                             every row but those that are measured once
    python -m benchmarks --only save                 rows whose title holds the word
    python -m benchmarks --smoke                     each row once and small, to see that it starts
    python -m benchmarks --write                     keep the run in runs.json, and write the page
    python -m benchmarks --asked                     those that are measured once: 4 GB on disk, `make test`

A row is a `Row` (row.py): what is waited for, the same by a peer, and the goal. Rows are grouped in files,
which `__main__.py` lists.
"""

import os

# Here, because this runs before NumPy and torch are imported. On two threads, BLAS waits for itself where
# others are busy.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
