"""A model that reads pickled objects of its own package, by each library: equal in a fresh process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flows.scripts import Scripts

NET = """
    import gzip
    import pickle
    import shelve
    import zipfile
    from importlib import resources
    from pathlib import Path

    import cloudpickle
    import joblib as jl

    HERE = Path(__file__).parent

    class Net:
        def __init__(self, times):
            self.times = times

        def bags(self):
            with resources.as_file(resources.files("till.data") / "bag.joblib") as path:
                yield jl.load(path)
            from joblib import load
            yield load(str(HERE / "data" / "bag.pkl.gz"))
            with open(HERE / "data" / "bag.sav", "rb") as file:
                yield jl.load(file)
            yield jl.load(HERE / "data" / "bag.joblib", mmap_mode="r")
            yield cloudpickle.loads((HERE / "data" / "bag.cpkl").read_bytes())
            with shelve.open(str(HERE / "data" / "shelf"), "r") as shelf:
                yield shelf["bag"]
            with gzip.open(HERE / "data" / "zipped", "rb") as file:
                yield pickle.load(file)
            with zipfile.ZipFile(HERE / "data" / "bags.zip") as zipped:
                yield pickle.loads(zipped.read("bag"))

        def __call__(self, x):
            return [x * self.times + bag.total() for bag in self.bags()]
"""
MAKE = """
    import gzip, pickle, shelve, zipfile
    import cloudpickle, joblib, numpy
    from till.bags import Bag
    def made(count): return Bag(numpy.arange(count))
    joblib.dump(made(4), "till/data/bag.joblib")
    joblib.dump(made(5), "till/data/bag.pkl.gz")
    joblib.dump(made(6), "till/data/bag.sav", compress=3)
    with shelve.open("till/data/shelf") as shelf:
        shelf["bag"] = made(7)
    with open("till/data/bag.cpkl", "wb") as file:
        cloudpickle.dump(made(8), file)
    with gzip.open("till/data/zipped", "wb") as file:
        pickle.dump(made(9), file)
    with zipfile.ZipFile("till/data/bags.zip", "w") as zipped:
        zipped.writestr("bag", pickle.dumps(made(10)))
    from till.net import Net
    model = Net(2)
"""


@pytest.mark.long
def test_each_pickle_is_read_from_the_archive_where_the_project_is_not(tmp_path: Path) -> None:
    """By a golden call alone: nothing imports the module that all of them name."""
    scripts = Scripts(tmp_path)
    bag = """
        class Bag:
            def __init__(self, held): self.held = held
            def total(self): return int(sum(self.held))
    """
    scripts.write(
        {"till/__init__.py": "", "till/data/__init__.py": "", "till/bags.py": bag, "till/net.py": NET}
    )
    call = (
        "__import__('warnings').simplefilter('ignore', PackagingWarning)  # of the file that is made there",
        "exporter.save_entry_point('model', 'model', 'model')",
        "exporter.save_example('model', {'x': 1})",
    )
    assert scripts.export(MAKE, *call) == ""
    totals = [6, 10, 15, 6, 28, 21, 36, 45]
    assert scripts.load("model(1), 'till' in sys.modules") == f"{[2 + total for total in totals]} False"
