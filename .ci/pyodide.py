"""What `.ci/pyodide` reads: an archive, the reader's own files, and what must be found in it.

python .ci/pyodide.py FOLDER
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import numpy as np

from packager import PackageExporter
from packager.archive import ArchiveReader
from packager.environment.own import own_files

# What the archive room stands on, beside the table of dtypes.
GROUND = "__init__ arguments atomic errors lazy names process sizes texts without_locks"
BARE = {f"packager/{name}.py" for name in GROUND.split()}


def main(folder: Path) -> None:
    weights = {"weight": np.linspace(-1, 1, 12, dtype="f4").reshape(3, 4), "steps": np.array(7)}
    with PackageExporter(folder / "net.kellet", policy="auto", runnable=True) as exporter:
        exporter.save_source_string("net", "import kellet\n", is_package=True)
        exporter.save_text("net", "words.txt", "cat dog bird")
        exporter.save_state_dict("net", "weights", weights)
    files = own_files(beside=True)
    with zipfile.ZipFile(folder / "reader.zip", "w") as reader:
        for name, data in files.items():
            if name in BARE or name.startswith(("packager/archive/", "packager/tensors/", "msgpack/")):
                reader.writestr(name, data)
    with ArchiveReader(folder / "net.kellet") as archive:
        expected = {
            "identity": archive.identity,
            "names": list(archive.names()),
            "problems": [],
            "words": "cat dog bird",
            "tensors": {"weight": ["F32", [3, 4]], "steps": ["I64", []]},
            "values": weights["weight"].ravel().tolist(),
            "numpy": False,
        }
    (folder / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
