"""A bill of materials in the words of CycloneDX 1.6.

Source: the CycloneDX 1.6 specification (ECMA-424) and its JSON schema.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, Final

from packager.spelled_json import json_pieces
from packager.version import OWN_NAME, installed_version

from .collecting import BillOfMaterials, Material
from .reading import License

_SERIALS: Final = uuid.uuid5(uuid.NAMESPACE_URL, "urn:kellet:bill-of-materials")
_CONCLUDED: Final = ("text",)
_PREFIX: Final = "kellet"
NONE_FOUND: Final = "none found"


def cyclonedx(bill: BillOfMaterials) -> Iterator[str]:
    """Yield a bill as CycloneDX 1.6 in JSON, piece by piece.

    It holds no date and no random number: its serial number follows from the identity of the archive, and
    the same archive gives the same text with the same version of packager.

    >>> from packager.licenses.collecting import Material
    >>> bill = BillOfMaterials("0" * 64, Material("archive", "application", "net"), ())
    >>> next(line for line in "".join(cyclonedx(bill)).splitlines() if "specVersion" in line)
    '  "specVersion": "1.6",'
    """
    yield from json_pieces(_document(bill))
    yield "\n"


def _document(bill: BillOfMaterials) -> dict[str, Any]:
    """Return the document as plain data; its long lists are iterators, good for one pass."""
    version = installed_version() or "0"
    made_of = f"{bill.identity} {version}"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SERIALS, made_of)}",
        "version": 1,
        "metadata": {
            "tools": {"components": [{"type": "application", "name": OWN_NAME, "version": version}]},
            "component": _component(bill.whole),
        },
        "components": map(_component, bill.materials),
        "dependencies": _dependencies(bill),
        "compositions": [
            {
                "aggregate": "unknown",  # what they need in turn is not recorded
                "dependencies": [one.ref for one in bill.materials if one.ref.startswith("target/")],
            }
        ],
    }


def _component(material: Material) -> dict[str, Any]:
    """Return one component; its fields in the order of the specification."""
    component: dict[str, Any] = {"type": material.kind, "bom-ref": material.ref, "name": material.name}
    if material.version:
        component["version"] = material.version
    if material.is_optional:
        component["scope"] = "optional"
    if material.sha256:
        component["hashes"] = [{"alg": "SHA-256", "content": material.sha256}]
    properties = [*material.properties]
    public, plus, _ = material.version.partition("+")
    if plus:  # what is known of the flaws of 2.13.0+cpu is known of 2.13.0
        properties.append(("public-version", public))
    if material.licenses:
        component["licenses"] = _licenses(material.licenses)
    else:
        properties.append(("license", NONE_FOUND))
    if material.package_url:
        component["purl"] = material.package_url
    component["properties"] = [{"name": f"{_PREFIX}:{name}", "value": value} for name, value in properties]
    if material.parts:
        component["components"] = map(_component, material.parts)
    if material.holds:
        component["data"] = [{"type": material.holds, "name": material.name}]
    if material.takes or material.gives:
        component["modelCard"] = {
            "modelParameters": {
                "inputs": [{"format": text} for text in material.takes],
                "outputs": [{"format": text} for text in material.gives],
            }
        }
    return component


def _licenses(found: tuple[License, ...]) -> list[dict[str, Any]]:
    """Return licences as declared, or concluded from a text: one expression, or any number of names."""
    if len(found) == 1 and found[0].is_expression:
        return [{"expression": found[0].text, "acknowledgement": _acknowledged(found[0])}]
    return [{"license": {"name": one.text, "acknowledgement": _acknowledged(one)}} for one in found]


def _acknowledged(one: License) -> str:
    return "concluded" if one.source in _CONCLUDED else "declared"


def _dependencies(bill: BillOfMaterials) -> Iterator[dict[str, Any]]:
    """Yield for each component what it needs, as far as it is recorded; what needs nothing is there, too."""
    for material in (bill.whole, *bill.all()):
        yield {"ref": material.ref, "dependsOn": list(bill.needs.get(material.ref, ()))}
