"""Code that would go on without a module is served what is here, and misses what is absent here, too."""

import pytest

from packager import PackageExporter, PackageImporter, PackagingError

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
    def export(tree):
        project(tree)
        import picking

        exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
        exporter.save_object("model", "model", picking.Net())
        return exporter

    return export


def test_a_module_that_code_would_go_on_without_is_served(exported, tmp_path):
    exporter = exported({"picking.py": PICKS, "kernels_fast.py": "KIND = 'fast'\n"})
    exporter.close()
    assert exporter.interned_modules() == ["kernels_fast", "picking"]
    assert (exporter.plan().warnings, exporter.proof.missed) == ((), ())
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.load_object("model", "model").kind == "fast"


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("auto", "Module was denied by a pattern."),
        (None, "Module did not match against any action pattern. Extern, mock, or intern it."),
    ],
)
def test_a_module_that_is_denied_or_has_no_rule_is_refused_although_the_code_would_go_on(
    project, tmp_path, policy, reason
):
    project({"picking.py": PICKS, "kernels_fast.py": "KIND = 'fast'\n"})
    import picking

    exporter = PackageExporter(tmp_path / "net.kellet", policy=policy)
    exporter.deny("kernels_fast") if policy else exporter.intern("picking")
    exporter.save_object("model", "model", picking.Net())
    with pytest.raises(PackagingError) as refused:
        exporter.close()
    [problem] = refused.value.problems
    assert (problem.reason, problem.subject) == (reason, "kernels_fast")
    assert problem.chain == ("picking (asked for)", "kernels_fast (picking.py:13)")
    assert not (tmp_path / "net.kellet").exists()


def test_what_is_absent_here_too_and_what_is_found_there_is_not_told(exported):
    exporter = exported({"picking.py": PROBES})
    exporter.close()
    assert exporter.proof.missed == ()
    assert exporter.plan().warnings == ()
