"""The outline of a source: what it says without the bodies of its functions and classes.

Of a module that is left to the target, the walk asks which names it has, and what the methods of some of its
classes ask for; most of its text is read for nothing. Lines stay as they are, and all that stands outside of
functions and classes is read as ever; numbers of blocks, of imports and so on are the outline's own, so
whoever follows the module after all forgets what was concluded from them.

The text is read by patterns of what may stand between two line ends: code, strings, comments. Where none
fits, nothing is cut. Where a bracket is open at the end of what was cut, its partner is left over and the
rest does not parse; then the whole source is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from packager.late_patterns import late_pattern

from .drawn_texts import DrawnTexts
from .scan import Scan
from .scanner import parsed, scan_tree

_OF_MODULES = (b"__all__", b"TYPE_CHECKING")  # say something of a module, also in the body of a class
_GLOBAL = late_pattern(rb"[\n:;] *global[ \\]")  # binds names of the module
_READS_ATTRIBUTES = (b"getattr", b"hasattr", b"attrgetter", b"methodcaller")


def _formatted(quote: bytes, other: bytes) -> bytes:
    """Return a pattern for the rest of an f-string: from Python 3.12 on, quotes may stand in its fields."""
    inner = other + rb"[^{}\"'\\\n]*+" + other
    field = rb"\{(?:[^{}\"'\\\n]++|" + inner + rb")*+\}"
    return rb"(?:\{\{|\}\}|" + field + rb"|\\[^\n]|[^{}\\\n" + quote + rb"])*+" + quote


_CODE = rb"[^\"'#\n\\]++"
_NO_CODE = (  # strings over several lines, others, formatted ones, comments, what a backslash hides
    rb"(?<![fFtT])(?<![fFtT][rR])(?:"
    rb'"""(?:[^"\\]++|\\[\s\S]|"(?!""))*+"""'
    rb"|'''(?:[^'\\]++|\\[\s\S]|'(?!''))*+'''"
    rb'|"(?!"")(?:[^"\\\n]++|\\[\s\S])*+"'
    rb"|'(?!'')(?:[^'\\\n]++|\\[\s\S])*+')"
    rb"|(?<=[fFtTrR])(?:"
    rb'"(?!"")' + _formatted(b'"', b"'") + rb"|'(?!'')" + _formatted(b"'", b'"') + rb")"
    rb"|#[^\n]*+"
    rb"|\\[\s\S]"
)  # fmt: skip
_NESTED = _IN_BRACKETS = rb"[^\"'#\\()]++|" + _NO_CODE
for _ in range(3):  # brackets among the parameters
    _NESTED = rb"(?:" + _IN_BRACKETS + rb"|\((?:" + _NESTED + rb")*+\))"
_HEAD = late_pattern(
    rb"(?:( {4}|)(?:async +)?def +(\w+)\((?:" + _NESTED + rb")*+\) *(?:-> *[^:\"'#\\\n]++)?"
    rb"|class +(\w+) *(?:\((?:" + _NESTED + rb")*+\))? *):(?= *(?:#[^\n]*+)?\n)"
)


def _lines(go_on: bytes) -> bytes:
    """Return a pattern of all up to a line end behind which `go_on` does not hold; whole lines first."""
    return rb"(?:[^\"'#\n\\]*+\n" + go_on + rb"|" + _CODE + rb"|" + _NO_CODE + rb"|\n" + go_on + rb")*+"


# Up to the line of a function or a class that stands at the top, or of a method.
_NEXT = late_pattern(_lines(rb"(?!(?: {4})?(?:async +)?def |class )") + rb"\n(?=[ acd])")
_INSIDE = {  # the lines that are indented further
    0: late_pattern(_lines(rb"(?=[ \n#]|\Z)")),
    4: late_pattern(_lines(rb"(?= {5}| *(?:[\n#]|\Z))")),
}
_TELLING = late_pattern(rb"_?(?:is|has|have)_\w+|\w+_available")  # see availability.py
_TABS = late_pattern(rb"\n *\t")
_CODING = late_pattern(rb"[^\n]*\n?[^\n]*coding[:=]")


class Outline(NamedTuple):
    """A scan in which most functions and classes are empty: nothing is to be read off these.

    A class has its name, bases and decorators. `classes` says where in the source the text of one at the top
    begins, `literals` are the names that stand for a literal: see `class_text`.
    """

    scan: Scan
    classes: Mapping[str, int]
    literals: tuple[str, ...]


def read_outline(source: bytes) -> Outline | None:
    """Read the outline of a source that is known to be without syntax errors; None where it is read whole.

    >>> outline = read_outline(b"import a\\nclass B:\\n    def c(self):\\n        return self.d()\\ne = 1\\n")
    >>> list(outline.scan.bindings), outline.scan.classes[0].methods, outline.classes
    (['a', 'B', 'e'], (), {'B': 9})
    """
    cut = _cut(source)
    if cut is None:
        return None
    text, classes = cut
    tree = parsed(text)
    if isinstance(tree, tuple):
        return None
    scan = scan_tree(tree, text)
    named = Counter(one.name for one in scan.classes)
    if any(named[name] > 1 for name in classes):  # classes are told apart by their names
        return None
    return Outline(scan, classes, tuple(DrawnTexts(tree).names))


def class_text(source: bytes, outline: Outline, name: str) -> bytes | None:
    """Return the text of a class at the top whose scan says of its methods what that of the source does.

    None where there is no such text: then the whole scan is needed.
    """
    start = outline.classes.get(name, -1)
    head = _HEAD.match(source, start) if start >= 0 else None
    inside = _INSIDE[0].match(source, head.end()) if head is not None else None
    if inside is None or source[inside.end() : inside.end() + 1] not in (b"", b"\n"):
        return None
    text = source[start : inside.end()]
    reads = any(word in text for word in _READS_ATTRIBUTES)
    if reads and any(literal.encode() in text for literal in outline.literals):
        return None  # which attributes those are may hang on a literal outside
    return text + b"\n"


def _cut(source: bytes) -> tuple[bytes, dict[str, int]] | None:
    """Return the text without bodies, and where classes begin in the source; None where nothing is cut."""
    if any(odd in source for odd in (b"\f", b"\r", b"\0")) or _CODING.match(source):
        return None
    if b"\t" in source and _TABS.search(source):
        return None
    text = b"\n" + source
    kept: list[bytes] = []
    classes: dict[str, int] = {}
    done = at = 0
    while (found := _NEXT.match(text, at)) is not None:
        start = at = found.end()
        head = _HEAD.match(text, start)
        if head is None:
            continue
        indent, function, name = head.groups()
        if name is not None:
            classes[name.decode()] = start - 1
        inside = _INSIDE[len(indent or b"")].match(text, head.end())
        end = head.end() if inside is None else inside.end()
        fits = text[end : end + 1] in (b"", b"\n") and text[head.end() : end].strip()
        if fits and not _says_more(text, start, end, function):
            kept += [text[done : head.end()], b" pass", b"\n" * text.count(b"\n", head.end(), end)]
            done = end
        else:
            end = end if fits and function else head.end()  # of a class, the methods may be cut
        at = end
    if not kept:
        return None
    kept.append(text[done:])
    return b"".join(kept)[1:], classes


def _says_more(text: bytes, start: int, end: int, function: bytes | None) -> bool:
    """Say whether a function, or a class where `function` is None, says anything of its module."""
    if function is None and any(text.find(word, start, end) >= 0 for word in _OF_MODULES):
        return True
    if function is not None and _TELLING.fullmatch(function):
        return True
    return text.find(b"global", start, end) >= 0 and _GLOBAL.search(text, start, end) is not None
