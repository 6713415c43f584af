"""Where names of lazy packages come from: what stubs and TYPE_CHECKING blocks say of them, then tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .source_table import Source, SourceTable

_STAR = re.compile(rb"import\s*\(?\s*\*")


class LazyNames:
    """Lookups over a table of sources; each answer is remembered."""

    def __init__(self, table: SourceTable) -> None:
        self._table = table
        self._known: dict[tuple[str, str], tuple[Source, str] | None] = {}
        self._offered: dict[tuple[str, str], bool] = {}

    def target(self, home: Source, name: str) -> tuple[Source, str] | None:
        """Return the module that gives `home` its `name`, and what it is called there; None for no answer."""
        key = (home.name, name)
        if key not in self._known:
            self._known[key] = None  # for packages that lead back here
            self._known[key] = self._look_up(home, name)
        return self._known[key]

    def starred(self, home: Source) -> Sequence[str]:
        """Return the names that a star import of `home` asks for by its `__all__`, which may be its table."""
        names = home.statements.names
        listed = [name for name in names.exports or () if name != "*"]
        if names.lazy is not None and (names.exports is None or "*" in names.exports):
            listed += [bound for one in home.typing for _, bound in one.names if bound != "*"]
            listed += [name for name, spelt, _ in names.lazy if self._module(home, spelt)]
        return list(dict.fromkeys(listed))

    def _look_up(self, home: Source, name: str) -> tuple[Source, str] | None:
        typing = [(target, one) for one in home.typing if (target := home.target(one)) not in ("", home.name)]
        for target, one in typing:
            for asked, bound in one.names:
                if bound == name and self._table.exists(target):
                    return self._table[target], asked
        lazy = home.statements.names.lazy
        for offered, spelt, _ in lazy or ():
            if offered == name and (found := self._module(home, spelt)) is not None:
                return found, spelt.partition(":")[2] or name
        for target, one in typing if lazy is not None else ():
            if ("*", "*") in one.names and self._offers(self._table[target], name):
                return self._table[target], name
        return None

    def _offers(self, source: Source, name: str) -> bool:
        """Say whether a star import of `source` brings `name`."""
        key = (source.name, name)
        if key not in self._offered:
            self._offered[key] = False  # for stars that lead back here
            self._offered[key] = self._has(source, name)
        return self._offered[key]

    def _has(self, source: Source, name: str) -> bool:
        text = source.text or b""
        is_named = name.encode() in text
        if not is_named and not _STAR.search(text):  # cheaper than to parse it
            return False
        names = source.statements.names
        if names.exports is not None and "*" not in names.exports:
            return name in names.exports
        if is_named and (name in source.bound or name in (names.exports or ())):
            return True
        stars = [
            one
            for one in source.statements.imports
            if ("*", "*") in one.names and one.kind != "type_checking"
        ]
        if any(self._offers(self._table[target], name) for one in stars if (target := source.target(one))):
            return True
        return names.lazy is not None and self.target(source, name) is not None

    def _module(self, home: Source, spelt: str) -> Source | None:
        """Return the module that a lazy table spells: relative to the package, else absolute."""
        inner = spelt.partition(":")[0].lstrip(".")
        if not inner.replace(".", "").isidentifier():
            return None
        if spelt.startswith("."):
            parts, level = home.package.split("."), len(spelt) - len(spelt.lstrip("."))
            wanted = [".".join([*parts[: len(parts) - level + 1], inner])]
        else:
            wanted = [f"{home.package}.{inner}"]
            wanted += [inner] if inner.partition(".")[0] == home.name.partition(".")[0] else []
        return next((self._table[name] for name in wanted if self._table.exists(name)), None)
