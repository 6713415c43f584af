"""What comes back is written, with the same bytes as without; what was done for it is said."""

from __future__ import annotations

import importlib
import io
import os
import sys

import numpy as np
import pytest

from packager import (
    PackageExporter,
    PackageImporter,
    PackagingWarning,
    UncheckedOutputsWarning,
)
from packager._proving import Proof
from packager._proving.line import packed, unpacked
from packager.errors import ArgumentError
from tests.proving.answering import opened

SHOP = {
    "shop/__init__.py": "",
    "shop/net.py": """
        from kellet import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(3, 2)

            def forward(self, x):
                return self.first(x)
    """,
}
ONES = {"arg0": np.ones((1, 3), "float32")}


def test_an_archive_that_comes_back_is_written_and_its_proof_says_what_was_done(export, tmp_path):
    def more(exporter):
        exporter.save_module("shop")
        exporter.save_state_dict("weights", "first", {"scale": np.ones(2)})
        exporter.save_example("model", ONES)

    proof = export(SHOP, "shop.net:Net()", more).proof
    assert proof.steps == (
        "object: object model/model",
        "state dict: state dict weights/first",
        "call: check model",
        "import: module shop",
    )
    assert (proof.ok, proof.in_process, proof.trusted, proof.pickles, proof.notes) == (
        True,
        False,
        (),
        (),
        (),
    )
    assert proof.modules == ("shop", "shop.net")
    assert sorted(os.listdir(tmp_path)) == ["net.kellet", "project"]


REGISTERED = {
    "shop/__init__.py": "",
    "shop/net.py": """
        from functools import singledispatch

        @singledispatch
        def scaled(value):
            return value

        class Net:
            def __call__(self, x):
                return scaled(x) * 1.0
    """,
    "shop/arrays.py": """
        import numpy as np
        from shop.net import scaled

        @scaled.register(np.ndarray)
        def _(value):
            return value * 3
    """,
}


def test_what_a_saved_module_registers_is_there_for_a_golden_call_once_it_is_imported_first(export, tmp_path):
    def more(exporter):
        importlib.import_module("shop.arrays")
        exporter.save_module("shop.arrays")
        exporter.save_example("model", ONES)

    with pytest.warns(PackagingWarning, match=r"is loaded, shop\.arrays is imported: without this import"):
        export(REGISTERED, "shop.net:Net()", more)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.manifest.imports_of("model", "model") == ("shop.arrays",)
        assert len(importer.check()) == 1


def test_the_bytes_are_the_same_with_and_without(export, tmp_path):
    import kellet

    kellet.manual_seed(0)
    export(SHOP, "shop.net:Net()")
    proved = (tmp_path / "net.kellet").read_bytes()
    kellet.manual_seed(0)
    assert export(SHOP, "shop.net:Net()", prove=False).proof is None
    assert (tmp_path / "net.kellet").read_bytes() == proved


def test_data_texts_and_state_dicts_start_no_process(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", "/nowhere")
    with PackageExporter(tmp_path / "data.kellet") as exporter:
        exporter.save_object("model", "sizes", {"layers": [8, 8], "name": "net"})
        exporter.save_state_dict("model", "weights", {"scale": np.ones(2), "step": 3})
        exporter.save_text("model", "words.txt", "one two")
        exporter.save_binary("model", "table.bin", bytes(4))
    assert exporter.proof == Proof(
        steps=("object: object model/sizes", "state dict: state dict model/weights"), in_process=True
    )


def test_a_file_object_gets_the_archive_after_the_proof(export, project):
    project(SHOP_FLAT)
    from flat import Net

    file = io.BytesIO()
    with PackageExporter(file, policy="auto") as exporter:
        exporter.save_object("model", "model", Net())
    assert exporter.proof.ok
    with PackageImporter(file) as importer:
        assert importer.load_object("model", "model").width == 3


SHOP_FLAT = {"flat.py": "class Net:\n    width = 3\n    def __call__(self):\n        return self.width\n"}


def test_names_to_trust_and_own_pickles_are_granted_and_listed(export):
    def more(exporter):
        exporter.save_pickle("model", "sizes.pkl", {"layers": (8, 8)})
        exporter.save_object("model", "counted", None, factory="collections:Counter", config={"red": 2})

    with pytest.warns(PackagingWarning) as told_at_close:
        exporter = export(SHOP, "shop.net:Net()", more)
    assert exporter.proof.trusted == ("collections:Counter",)
    assert exporter.proof.pickles == ("model/sizes.pkl",)
    told = exporter.plan().warnings
    trust = "needs names that loaders refuse without trust: PackageImporter(..., trust="
    assert told == (
        f"object model/counted {trust}('collections:Counter',))",
        "model/sizes.pkl is a pickle. To load it: PackageImporter(file, allow_pickle=True)",
    )
    warning, unchecked = told_at_close
    assert all(line in str(warning.message) for line in told)
    assert unchecked.category is UncheckedOutputsWarning


def test_a_pickle_that_was_saved_without_its_dependencies_is_not_read(project, tmp_path):
    project({"alone.py": "class Kept: pass\n"})
    import alone

    exporter = PackageExporter(tmp_path / "kept.kellet", policy="auto")
    exporter.save_pickle("model", "kept.pkl", alone.Kept(), dependencies=False)
    exporter.save_pickle("model", "sizes.pkl", [8, 8])
    with pytest.warns(
        PackagingWarning, match=r"model/kept\.pkl was not read, as it was saved with dependencies=False"
    ):
        exporter.close()
    assert exporter.proof.ok
    assert exporter.proof.steps == ("pickle: pickle model/sizes.pkl",)


def test_a_plan_is_proved_on_a_temporary_file(project):
    project({"flat.py": "import json\nwith open('limits.json') as file:\n    LIMITS = json.load(file)\n"})
    exporter = PackageExporter(file := io.BytesIO(), policy="auto")
    exporter.save_module("flat")
    assert exporter.plan().ok
    [problem] = exporter.plan(prove=True).problems
    assert (problem.reason, problem.subject) == (
        "A module cannot be imported from the archive.",
        "module flat",
    )
    assert exporter.plan().ok
    assert file.getvalue() == b""


def test_steps_are_told_as_progress(export, project, tmp_path):
    project({"slow.py": "import time\ntime.sleep(0.6)\n"})
    told = []
    with PackageExporter(tmp_path / "slow.kellet", policy="auto") as exporter:
        exporter.progress = lambda step, done, total: told.append((step, done, total))
        exporter.save_module("slow")
        exporter.save_object("slow", "sizes", [8, 8])
        exporter.save_state_dict("slow", "weights", {"w": np.ones(1)})
    assert ("proving", 3, 3) in told
    assert {total for step, _, total in told if step == "proving"} == {3}


def test_golden_calls_can_be_demanded(export):
    assert export(SHOP, "shop.net:Net()", lambda one: one.save_example("model", ONES), prove="calls").proof.ok
    from packager._exporting import RefusedPlanError

    with pytest.raises(RefusedPlanError, match="Entry point has no example") as caught:
        export(SHOP, "shop.net:Net()", prove="calls")
    [problem] = caught.value.problems
    assert problem.subject == "entry point model"
    assert problem.fix == 'exporter.save_example("model", {"arg0": ...})'


def test_another_value_of_prove_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="prove"):
        PackageExporter(tmp_path / "net.kellet", prove="always")


def test_a_proof_goes_through_the_line(export, tmp_path):
    export(SHOP, "shop.net:Net()", prove=False)
    proof = opened(tmp_path / "net.kellet")
    assert unpacked(packed(proof)) == proof


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_what_a_call_of_stored_code_makes_may_be_another_object(export):
    tree = {
        "kept.py": """
            class Net:
                def __reduce_package__(self, exporter):
                    name = exporter.get_unique_id()
                    exporter.save_text("kept", name, "words")
                    return make, (name,)

            def make(importer, name):
                return importer.load_text("kept", name)
        """,
    }
    [note] = export(tree, "kept:Net()").proof.notes
    assert note == (
        "object model/model was not compared, as kept:make makes it: "
        "the loaded object is not the stored one: 2 records were stored, 0 were loaded"
    )


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_an_object_that_is_encoded_otherwise_each_time_is_not_compared(export):
    tree = {
        "counted.py": """
            import time

            class Net:
                def __getstate__(self):
                    return {"asked": time.perf_counter_ns()}
        """,
    }
    assert export(tree, "counted:Net()").proof.notes == (
        (
            "object model/model was not compared, as its state differs each time it is saved. To have it "
            "compared, leave times, ids and the like out of its state in __getstate__"
        ),
    )
