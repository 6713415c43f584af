"""Code that goes on without a module that is imported here does something else there, and that is said."""

import pytest

from packager import PackageExporter, PackagingWarning

PICKS = """
import importlib

class Net:
    def __init__(self):
        self.kind = self.backend()
    def __setstate__(self, state):
        self.kind = self.backend()
    def __getstate__(self):
        return {}
    def backend(self):
        try:
            return importlib.import_module("_".join(["kernels", "fast"])).KIND
        except ImportError:
            return "slow"
"""
PROBES = """
try:
    import absent_everywhere
except ImportError:
    absent_everywhere = None
try:
    import json.tool
except ImportError:
    pass
class Net: pass
"""


@pytest.fixture
def exported(project, tmp_path):
    def export(tree, answer=None):
        project(tree)
        import picking

        exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
        if answer:
            exporter.answer(*answer)
        exporter.save_object("model", "model", picking.Net())
        return exporter

    return export


def test_an_import_in_vain_of_what_is_imported_here_is_told_with_what_to_answer(exported):
    exporter = exported({"picking.py": PICKS, "kernels_fast.py": "KIND = 'fast'\n"})
    with pytest.warns(PackagingWarning) as told:
        exporter.close()
    [warning] = exporter.plan().warnings
    assert warning == (
        "in the proof, picking.py:13 in Net.backend went on without kernels_fast, which is imported here: "
        "the name is computed at picking.py:13: answer which modules it loads: "
        'exporter.answer("picking.py:13:Net.backend", ["kernels_fast"])'
    )
    assert warning in str(told[0].message)


def test_the_answer_that_is_told_is_all_that_was_missing(exported):
    answer = ("picking.py:13:Net.backend", ["kernels_fast"])
    exporter = exported({"picking.py": PICKS, "kernels_fast.py": "KIND = 'fast'\n"}, answer)
    exporter.close()
    assert exporter.plan().warnings == ()
    assert exporter.proof.missed == ()


def test_what_is_absent_here_too_and_what_is_found_there_is_not_told(exported):
    exporter = exported({"picking.py": PROBES})
    exporter.close()
    assert [one.module for one in exporter.proof.missed] == ["absent_everywhere"]
    assert exporter.plan().warnings == ()
