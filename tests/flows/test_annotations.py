"""A project whose annotations name what comes later, or never: exported, and run where its code is not."""

from __future__ import annotations

import textwrap
from pathlib import Path

from tests.annotated import FUTURE

PROJECT = {
    "annotated/__init__.py": "",
    "annotated/trees.py": """
        import typing
        from dataclasses import dataclass

        if typing.TYPE_CHECKING:
            from a_distribution_that_is_not_here import Config

        @dataclass
        class Tree:
            value: float
            branch: Tree | None = None
            leaf: Leaf | None = None

        def scaled(tree: Tree, by: Leaf, config: Config = None) -> Config:
            return tree.value * by.size

        @dataclass(frozen=True)
        class Leaf:
            size: int = 3
    """,
    "annotated/model.py": """
        import typing

        from .trees import Leaf, Tree, scaled

        limit: float = 100.0

        class Model:
            tree: Tree
            leaf: typing.ClassVar[Leaf] = Leaf(2)

            def __init__(self):
                self.tree = Tree(2.0, Tree(5.0), Leaf())

            def __call__(self, x: Array) -> Array:
                hints = typing.get_type_hints(Tree)
                assert hints["leaf"] == Leaf | None and hints["branch"] == Tree | None, hints
                assert typing.get_type_hints(Model)["tree"] is Tree
                assert typing.get_type_hints(limited) == {"x": float, "return": float}
                return limited(x * scaled(self.tree, self.leaf))

        def limited(x: float) -> float:
            return min(x, limit)
    """,
}
EXPORT = """
    from annotated.model import Model
    from packager import PackageExporter

    with PackageExporter(r"{target}", policy="auto") as exporter:
        exporter.save_object("model", "model", Model())
        exporter.save_example("model", {{"x": 3.0}})
    print(exporter.proof.ok, exporter.proof.unproved)
"""
LOAD = """
    from packager import PackageImporter

    with PackageImporter(r"{target}") as importer:
        model = importer.load_object("model", "model")
        print(model(3.0), model(30.0), [one.same_bits for one in importer.check()[0].deviations])
        print(sorted(importer.modules))
"""


def test_a_project_with_deferred_annotations_answers_the_same_elsewhere(tmp_path: Path, run) -> None:
    for name, text in PROJECT.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FUTURE + textwrap.dedent(text))
    target = tmp_path / "annotated.kellet"
    assert run(EXPORT.format(target=target), tmp_path / "project") == "True \n"
    answers, modules = run(LOAD.format(target=target)).splitlines()
    assert answers == "12.0 100.0 [True]"
    assert modules == "['annotated', 'annotated.model', 'annotated.trees']"
