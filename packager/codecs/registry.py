"""Which codec is for which class, and which has which name: built-in ones, then entry points.

Built-in codecs import the library they speak of inside their functions only, so they are always all
there. Codecs of other distributions are found through the entry-point group `packager.codecs`, whose
entries are called like the codec they load: an archive that names a codec makes that one be imported
and no other, and only from what is installed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from packager.errors import PackageError

from .base import Codec

GROUP = "packager.codecs"


class CodecError(PackageError, ValueError):
    """A codec that is missing, or that does not keep the rules of `Codec`."""


class CodecRegistry:
    """Codecs by name and by class. `entry_points=False` leaves out those of other distributions.

    >>> registry = default_registry()
    >>> registry.find("complex").name, registry.for_class(complex).name
    ('complex', 'complex')
    >>> registry.for_class(list) is None
    True
    """

    def __init__(self, codecs: Iterable[Codec] = (), *, entry_points: bool = True) -> None:
        self._by_name: dict[str, Codec] = {}
        self._by_type: dict[str, list[Codec]] = {}
        self._entry_points = entry_points
        for codec in codecs:
            self.add(codec)

    def __iter__(self) -> Iterator[Codec]:
        return iter(self._by_name.values())

    def add(self, codec: Codec) -> None:
        """Take in a codec. Raises CodecError when its name is taken or malformed."""
        name = getattr(codec, "name", None)
        if not isinstance(name, str) or not name or codec.version < 1:
            raise CodecError(f"codec {codec!r}: expected a name and a version of 1 or more, found {name!r}")
        if name in self._by_name:
            raise CodecError(
                f"codec {name!r} is there twice: {self._by_name[name]!r} and {codec!r}; rename one"
            )
        self._by_name[name] = codec
        for type_name in codec.types:
            # Later ones first: a codec from outside may take over a class, and leave it by `claims`.
            self._by_type.setdefault(type_name, []).insert(0, codec)

    def find(self, name: str) -> Codec | None:
        """The codec of that name, from an entry point when it is not built in; None when there is none."""
        if name not in self._by_name and self._entry_points and name in self._outside:
            self._load(name)
        return self._by_name.get(name)

    def for_class(self, cls: type) -> Codec | None:
        """The codec for instances of `cls`: that of the nearest base class that claims it."""
        for base in cls.__mro__[:-1]:
            for codec in self._by_type.get(f"{base.__module__}:{base.__qualname__}", ()):
                if codec.claims(cls):
                    return codec
        return None

    def load_all(self) -> None:
        """Import the codecs of all installed distributions, as an encoder needs them."""
        if self._entry_points:
            for name in self._outside:
                if name not in self._by_name:
                    self._load(name)

    @cached_property
    def _outside(self) -> dict[str, object]:
        # The archive that carries its loader does not carry the backport.
        try:
            from importlib_metadata import entry_points
        except ImportError:
            from importlib.metadata import entry_points  # type: ignore[assignment]  # the same, untyped

        return {
            point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)
        }

    def _load(self, name: str) -> None:
        point = self._outside[name]
        try:
            codec = point.load()  # type: ignore[attr-defined]  # an EntryPoint, untyped in the backport
            codec = codec() if isinstance(codec, type) else codec
        except Exception as error:
            raise CodecError(
                f"codec {name!r}: {point} cannot be loaded: {error!r}; repair or uninstall it"
            ) from error
        if not isinstance(codec, Codec) or codec.name != name:
            raise CodecError(
                f"codec {name!r}: {point} gave {codec!r}; expected a Codec whose name is {name!r}"
            )
        self.add(codec)


def default_registry() -> CodecRegistry:
    """A registry with everything that packager brings and that is installed here."""
    from . import arrays, callables, collections_codec, kellet_codec, plain, torch_codec

    families = (plain, callables, collections_codec, arrays, kellet_codec, torch_codec)
    return CodecRegistry(codec for family in families for codec in family.CODECS)
