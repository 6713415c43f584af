"""Stored migrations as an archive's classes get them: which are found, attached, and admitted elsewhere."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kellet import nn
from packager._archive import MIGRATIONS
from packager._audit import TrustContext
from packager._loading import archive_migrations
from packager._loading.archive_migrations import ArchiveMigrations
from packager._migrations import Migration, NamedFunction, rename
from packager._migrations.archiving import pack_migrations
from packager.errors import ArchiveError, UntrustedTypeError


def migration(target: str, name: str = "m", function: str | None = None, to: int = 2) -> Migration:
    transform = () if function is None else (NamedFunction(function),)
    return Migration(name, [rename("a", "b", *transform)], to=to, target=target)


def of(*migrations: Migration, admitted: Any = lambda module: True, **more: Any) -> ArchiveMigrations:
    """What an archive with these migrations has; its own code is that of `shop`."""
    by_class: dict[str, list[Migration]] = {}
    for one in migrations:
        by_class.setdefault(one.target, []).append(one)
    context: Any = SimpleNamespace(
        archive=Entries({MIGRATIONS: pack_migrations(by_class)} if migrations else {}),
        trust_context=TrustContext.of_archive(["shop.net"]),
        trust=(),
        owned=frozenset({"shop"}),
        admitted=admitted,
        find_admitted=lambda module, name: f"found {module}:{name}",
        **more,
    )
    return ArchiveMigrations(context)


class Entries(dict[str, bytes]):
    """The entries of an archive."""

    read = dict.__getitem__


def test_an_archive_without_migrations_has_none() -> None:
    assert (of().by_class, of().allowed(), of().admitted_modules()) == ({}, {}, [])


def test_those_that_are_stored_are_known_by_their_classes() -> None:
    first, second = migration("shop.net:Net", "one"), migration("far:Other", "two")
    third = migration("shop.net:Net", "three", to=3)
    allowed = of(first, second, third).allowed()
    found = {name: [one.name for one in known] for name, known in allowed.items()}
    assert found == {"shop.net:Net": ["one", "three"], "far:Other": ["two"]}
    damaged = of(first)
    damaged._context.archive[MIGRATIONS] = b"\xc0"  # type: ignore[index]  # a dict stands for the reader
    with pytest.raises(ArchiveError, match="expected a list of tables"):
        damaged.by_class  # it reads


def test_a_class_gets_its_own_when_its_module_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    attached: list[Any] = []

    def attach(cls: type, known: tuple[Migration, ...], allow: Any) -> None:
        attached.append((cls, [one.target for one in known], allow))

    monkeypatch.setattr(archive_migrations, "attach_stored", attach)
    module: Any = ModuleType("shop.net__w1")
    module.Net = type("Net", (nn.Module,), {"Inner": type("Inner", (nn.Module,), {})})
    module.Plain, module.number = type("Plain", (), {}), 3
    names = ("shop.net:Net", "shop.net:Net.Inner", "shop.net:Plain", "shop.net:number", "shop.net:gone")
    found = of(*(migration(name) for name in (*names, "shop.other:Net")))
    found.attach("shop.net", module)
    assert attached == [
        (module.Net, ["shop.net:Net"], found._allow),
        (module.Net.Inner, ["shop.net:Net.Inner"], found._allow),
    ]
    found.attach("shop", module)
    assert len(attached) == 2


def test_functions_beside_the_code_of_the_class_may_run() -> None:
    known = migration("shop.net:Net", function="shop.net:doubled")
    assert of(known)._allow(known).target == "shop.net:Net"
    with pytest.raises(UntrustedTypeError, match=r"shop\.net:doubled"):
        of(known).allowed()  # data alone: the class is not imported
    far = migration("far:Net", function="shop.net:doubled")
    with pytest.raises(UntrustedTypeError, match=r"shop\.net:doubled"):
        of(far)._allow(far)


def test_modules_of_the_archive_with_functions_are_listed_where_they_are_admitted() -> None:
    stored = [
        migration("shop.net:Net", str(n), function, to=n)
        for n, function in enumerate(("shop.net:f", "shop:g", "shop.no:h", "far.shop:f", "shop.net:i"), 1)
    ]
    assert of(*stored, admitted=lambda name: name != "shop.no").admitted_modules() == ["shop", "shop.net"]
