"""The records of a bill of materials: what there is, and what needs what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal
from urllib.parse import quote

from packager.quick_dataclasses import dataclass, field

from .reading import License

MaterialKind = Literal["application", "library", "platform", "file", "data", "machine-learning-model"]


@dataclass(frozen=True)
class Material:
    """One thing of a bill: a file, a distribution, a model, the weights of one.

    `ref` names it inside the bill. `kind` is a type of CycloneDX. `sha256` is that of its bytes, as
    `sha256sum` gives it; empty for what is not in the archive. `licenses` are empty where none was found.
    `parts` lie inside it. `properties` are facts that the format has no field for. `takes` and `gives` are
    what a model is called with and answers, each a name with its type. `holds` says what data is:
    "dataset", or "other" for weights.
    """

    ref: str
    kind: MaterialKind
    name: str
    version: str = ""
    package_url: str = ""
    sha256: str = ""
    licenses: tuple[License, ...] = ()
    parts: tuple[Material, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    holds: str = ""
    is_optional: bool = False


@dataclass(frozen=True)
class BillOfMaterials:
    """Everything in an archive and everything that it leaves to the target, each once.

    `whole` is the archive itself. `needs` says for each `ref` which others it needs, as far as that is
    recorded; of what lies at the target it is not. The same archive gives the same bill.
    """

    identity: str
    whole: Material
    materials: tuple[Material, ...]
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def all(self) -> Iterator[Material]:
        """Yield everything but the archive itself, and what lies inside of each after it.

        >>> inner = Material("file/a.py", "file", "a.py")
        >>> shop = Material("stored/shop", "library", "shop", parts=(inner,))
        >>> bill = BillOfMaterials("0" * 64, Material("archive", "application", "net"), (shop,))
        >>> [one.name for one in bill.all()]
        ['shop', 'a.py']
        """
        for one in self.materials:
            yield one
            yield from one.parts


def package_url(name: str, version: str = "", *, is_local: bool = False) -> str:
    """Return the package URL of a distribution; `name` is normalised.

    One that `is_local` is on no index: whatever has its name there is something else.

    >>> package_url("torch", "2.4.0+cpu"), package_url("shop", is_local=True)
    ('pkg:pypi/torch@2.4.0%2Bcpu', 'pkg:generic/shop')

    Source: the purl specification, and its type `pypi`.
    """
    at = f"@{quote(version, safe='')}" if version else ""
    return f"pkg:{'generic' if is_local else 'pypi'}/{quote(name, safe='')}{at}"
