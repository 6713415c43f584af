"""What an environment is described by: Python and platform, names and versions, requirements over them.

Of PEP 440 it is the part that archives use; docs/design/runnable.md says why `packaging` is not used here.
"""

from __future__ import annotations

import operator
import re
import sys
import sysconfig
from collections.abc import Iterable

from packager._archive import MAX_REQUIREMENT
from packager._arguments import check_kind
from packager._names import normalized_name
from packager._quick_dataclasses import dataclass
from packager.errors import ArgumentError

_VERSION = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<pre_n>\d*))?"
    r"(?:-(?P<post_short>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_n>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE | re.ASCII,
)
_CLAUSE = re.compile(r"(>=|<=|==|!=|<|>)\s*([A-Za-z0-9][A-Za-z0-9.!+_-]*)")
_PRE_RANK = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}

VersionKey = tuple[object, ...]


@dataclass(frozen=True)
class Fingerprint:
    """Python's version and implementation, the platform tag and the byte order.

    No host name, kernel, path, user or time: two machines with the same Python and platform tag have the
    same fingerprint (a promise of the archive format).

    >>> Fingerprint.here().implementation == sys.implementation.name
    True
    """

    python: str
    implementation: str
    platform: str
    byteorder: str

    @classmethod
    def here(cls) -> Fingerprint:
        """Return the fingerprint of the running interpreter."""
        return cls(
            python=sys.version.split()[0],  # as `platform` reads it, which takes longer to import
            implementation=sys.implementation.name,
            platform=sysconfig.get_platform(),
            byteorder=sys.byteorder,
        )

    @property
    def python_series(self) -> str:
        """Major and minor version, which decide what source means: `3.11`.

        >>> Fingerprint("3.11.7", "cpython", "linux-x86_64", "little").python_series
        '3.11'
        """
        return ".".join(self.python.split(".")[:2])


@dataclass(frozen=True)
class Requirement:
    """A distribution and the versions of it that will do.

    >>> requirement = Requirement.parse("numpy>=1.26.4,<2")
    >>> requirement.name, requirement.allows("1.26.10"), requirement.allows("2.0.0rc1")
    ('numpy', True, False)
    """

    name: str
    clauses: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Read its text; raises ValueError where it is more than a name and plain comparisons."""
        # Blanks are taken off before: a pattern that may take them twice tries every way to share them.
        match = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*+", text.strip())
        rest = text.strip()[match.end() :].strip() if match else ""
        clauses = [_CLAUSE.fullmatch(part.strip()) for part in rest.split(",")] if rest else []
        if match is None or None in clauses:
            raise ValueError(
                f"not a requirement: {text!r}; expected a name and comparisons, as numpy>=1.26,<2"
            )
        return cls(match[0], tuple((clause[1], clause[2]) for clause in clauses if clause))

    def allows(self, version: str) -> bool:
        """Check whether `version` will do; one that is not PEP 440 does where it is asked for exactly."""
        found = version_key(version)
        if found is None:
            return not self.clauses or self.clauses == (("==", version),)
        return all(_holds(found, sign, wanted) for sign, wanted in self.clauses)

    def __str__(self) -> str:
        return self.name + ",".join(sign + wanted for sign, wanted in self.clauses)


def requirement_for(distribution: str, version: str) -> Requirement:
    """Return what an archive made with this version asks for: not older, and the same major version.

    Before 1.0 the minor version counts as the major one. A version that is not PEP 440 is asked
    for exactly; of a local version (`2.4.0+cpu`) only the public part is.

    >>> str(requirement_for("numpy", "1.26.4")), str(requirement_for("einops", "0.8.0"))
    ('numpy>=1.26.4,<2', 'einops>=0.8.0,<0.9')
    """
    match = _parsed(version)
    if match is None:
        return Requirement(distribution, (("==", version),))
    release = [int(part) for part in match["release"].split(".")]
    epoch = f"{int(match['epoch'])}!" if match["epoch"] else ""
    bound = f"{release[0] + 1}" if release[0] else f"0.{(release[1] if len(release) > 1 else 0) + 1}"
    return Requirement(distribution, ((">=", version.partition("+")[0]), ("<", epoch + bound)))


def requirements_by_name(what: str, texts: Iterable[str]) -> dict[str, Requirement]:
    """Read requirements, each of another distribution; give them by normalised name.

    Raises ArgumentError, for the argument `what`, where one is none, and where two are of one distribution.

    >>> {name: str(one) for name, one in requirements_by_name("loosen", ["Torch", "numpy>=1.26"]).items()}
    {'torch': 'Torch', 'numpy': 'numpy>=1.26'}
    """
    found: dict[str, Requirement] = {}
    for text in texts:
        check_kind(what, text, str, "requirements as text")
        if len(text) > MAX_REQUIREMENT:
            raise ArgumentError(f"{what}: a requirement of {len(text)} characters; at most {MAX_REQUIREMENT}")
        try:
            requirement = Requirement.parse(text)
        except ValueError as error:
            raise ArgumentError(f"{what}: {error}") from error
        name = normalized_name(requirement.name)
        if name in found:
            raise ArgumentError(f"{what}: two requirements of {name}; write one, as {name}>=1,<3")
        found[name] = requirement
    return found


def exact_requirement(name: str, version: str) -> str:
    """Return the requirement for exactly this version, the local part of one (`2.4.0+cpu`) with it.

    >>> exact_requirement("torch", "2.4.0+cpu")
    'torch==2.4.0+cpu'

    Source: PEP 440, which lets `==2.4.0` match `2.4.0+cpu` too, and `==2.4.0+cpu` nothing else.
    """
    return f"{name}=={version}"


def _parsed(version: str) -> re.Match[str] | None:
    """Return the parts of a version; None for what PEP 440 does not describe, and what is longer than any."""
    return _VERSION.fullmatch(version.strip()) if len(version) <= MAX_REQUIREMENT else None


def is_local_version(version: str) -> bool:
    """Check whether a version has a local part: PyPI takes none of these, other indexes do.

    >>> is_local_version("2.4.0+cpu"), is_local_version("2.4.0")
    (True, False)
    """
    return "+" in version


def version_key(version: str) -> VersionKey | None:
    """Return a key that sorts versions as PEP 440 does; None for what it does not describe.

    >>> sorted(["1.0", "1.0rc1", "1.0.dev3", "1.0.post1", "1.0.1"], key=version_key)
    ['1.0.dev3', '1.0rc1', '1.0', '1.0.post1', '1.0.1']
    """
    match = _parsed(version)
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    pre, dev = _pre_key(match), _number(match["dev"], match["dev_n"])
    post = int(match["post_short"]) if match["post_short"] else _number(match["post"], match["post_n"])
    return (
        int(match["epoch"] or 0),
        tuple(release),
        pre,
        -1 if post is None else post,
        _NO_DEV if dev is None else dev,
        _local_key(match["local"]),
    )


def _holds(found: VersionKey, sign: str, wanted: str) -> bool:
    bound = version_key(wanted)
    if bound is None:
        return False
    without_local = (*found[:-1], ())
    if sign == "<":
        return without_local < (bound if _is_prerelease(bound) else _first_prerelease(bound))
    if sign == ">":
        # `>1.0` leaves out 1.0.post1, and `>1.0rc1` leaves out 1.0rc1.post1.
        has_posts = bound[3:5] == (-1, _NO_DEV)
        return without_local > ((*bound[:3], float("inf")) if has_posts else bound)
    compare = {">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne}[sign]
    return bool(compare(without_local if not bound[-1] else found, bound))


def _is_prerelease(key: VersionKey) -> bool:
    return key[2] != _FINAL or key[4] != _NO_DEV


def _first_prerelease(key: VersionKey) -> VersionKey:
    """Return the key of `.dev0` of a version: `<2` leaves out 2.0rc1 too, `<2.post1` only 2.post1.dev0."""
    return (*key[:2], _DEV_ONLY if key[3] == -1 else _FINAL, key[3], 0, ())


_FINAL = (3, 0)
_DEV_ONLY = (-1, 0)
_NO_DEV = float("inf")


def _pre_key(match: re.Match[str]) -> tuple[int, int]:
    if match["pre"]:
        return (_PRE_RANK[match["pre"].lower()], int(match["pre_n"] or 0))
    is_dev_only = match["dev"] and not match["post"] and not match["post_short"]
    return _DEV_ONLY if is_dev_only else _FINAL


def _number(word: str | None, digits: str | None) -> int | None:
    return None if word is None else int(digits or 0)


def _local_key(local: str | None) -> tuple[tuple[int, int, str], ...]:
    parts = re.split(r"[-_.]", local.lower()) if local else []
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)
