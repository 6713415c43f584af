"""Resources as text: the errors of decoding say which resource, and where."""

from __future__ import annotations

import codecs

from packager.errors import ArgumentError, PackageError
from packager.texts import one_line


class ResourceDecodeError(PackageError, UnicodeDecodeError):
    """A resource is not text of the encoding that was asked for; its attributes are UnicodeDecodeError's."""

    resource: str = ""

    def __str__(self) -> str:
        found = (self.object or b"")[self.start : self.end]
        return one_line(
            f"resource {self.resource}, byte {self.start}: found {found[:8]!r}, which is not {self.encoding} "
            f"({self.reason}); name its encoding (encoding=), say what becomes of such bytes "
            "(errors='replace'), or read them with load_binary"
        )


def decode_resource(data: bytes, resource: str, encoding: str, errors: str) -> str:
    """Return the text that bytes of a resource are in an encoding.

    Raises ArgumentError for an `encoding` that Python does not know or that is none of texts, and for unknown
    `errors`; ResourceDecodeError for other bytes.
    """
    try:
        codecs.lookup_error(errors)
        is_text = codecs.lookup(encoding)._is_text_encoding
        problem = "" if is_text else f"{encoding!r} is not an encoding of texts"
    except (LookupError, TypeError, ValueError) as error:
        problem = str(error)
    if problem:
        raise ArgumentError(
            f"resource {resource}: encoding={encoding!r}, errors={errors!r}: {problem}; expected one such as "
            "'utf-8' with 'strict', 'replace' or 'ignore'"
        )
    try:
        return data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        made = ResourceDecodeError(error.encoding, data, error.start, error.end, error.reason)
        made.resource = resource
        raise made from None
    except UnicodeError as error:  # codecs such as idna and utf-16 tell no place
        made = ResourceDecodeError(encoding, data, 0, len(data), str(error))
        made.resource = resource
        raise made from None
