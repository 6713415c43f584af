"""Reference pages: one for every public module, found in the tree, so that none is forgotten.

A thing that several modules offer is described once, in the module with the shortest name, and named
in the others with the way there.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Page:
    """One module's page: what it describes itself, and what is described under another name."""

    module: str
    own: list[str] = field(default_factory=list)
    elsewhere: dict[str, tuple[str, str]] = field(default_factory=dict)

    def text(self) -> str:
        members = f":members: {', '.join(self.own)}"
        parts = [f"# {self.module}", f"```{{eval-rst}}\n.. automodule:: {self.module}\n   {members}\n```"]
        if self.elsewhere:
            lines = [
                f"- `{name}`: see [{module}.{other}]({module}.md)"
                for name, (module, other) in self.elsewhere.items()
            ]
            parts += ["## Also offered here", "\n".join(lines)]
        return "\n\n".join(parts) + "\n"


def write_pages(root: Path, folder: Path) -> None:
    """Write the pages into `folder`, and remove those of modules that are gone.

    A page that would not change is not touched, so that a second build has little to do.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pages = {f"{page.module}.md": page.text() for page in pages_of(public_modules(root))}
    for old in folder.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def pages_of(modules: list[str]) -> list[Page]:
    """Share out the names of `modules`; a module that only repeats others gets no page.

    A class or function is known by identity. Constants have no place of their own and stay where
    they are listed; modules have pages.
    """
    places: dict[int, tuple[str, str]] = {}
    pages = []
    for module in sorted(modules, key=lambda name: (name.count("."), name)):
        page = Page(module)
        offered = importlib.import_module(module)
        for name in offered.__all__:
            thing = getattr(offered, name)
            if inspect.ismodule(thing):
                continue
            if (inspect.isclass(thing) or inspect.isroutine(thing)) and id(thing) in places:
                page.elsewhere[name] = places[id(thing)]
            else:
                places[id(thing)] = (module, name)
                page.own.append(name)
        if page.own:
            pages.append(page)
    return pages


def public_modules(root: Path) -> list[str]:
    """Name packages, and the files at the top of a package, that list public names."""
    found = []
    for package, folder in {"kellet": root / "src" / "kellet", "packager": root / "packager"}.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            inner = parts[:-1] if parts[-1] == "__init__" else parts
            is_public = not any(part.startswith("_") for part in inner)
            if is_public and (parts[-1] == "__init__" or len(inner) == 1) and lists_names(path):
                found.append(".".join((package, *inner)))
    return found


def lists_names(path: Path) -> bool:
    """Whether the file writes an `__all__` that is not empty."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return bool(ast.literal_eval(node.value))
    return False
