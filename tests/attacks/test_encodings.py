"""Sources and texts in encodings that are slow, or that show something else than what is run."""

from __future__ import annotations

import codecs
import importlib.util
import io
import linecache
import pickle
import tokenize

import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveReader
from packager._graph import encodings, source_encoding, source_text
from packager.errors import ArchiveError, ArgumentError, PackageError
from tests.tables import one_test


def package(source: bytes, forger: type) -> bytes:
    """An archive whose one module has this source, whatever an exporter would make of it."""
    from packager._archive import Manifest, ModuleRecord

    record = ModuleRecord("net", "intern", "r", "b", "net.py", False)
    entries = [("net.py", "source", 1, source)]
    return bytes(forger(entries=entries, facts=Manifest(modules=(record,))).build())


SAFE = {
    "none": "größe = 1\n".encode(),
    "utf-8": "# coding: utf-8\ngröße = 1\n".encode(),
    "utf-8 of emacs": "# -*- coding: UTF_8-unix -*-\ngröße = 1\n".encode(),
    "mark": codecs.BOM_UTF8 + "größe = 1\n".encode(),
    "mark and name": codecs.BOM_UTF8 + "# coding: utf-8\ngröße = 1\n".encode(),
    "latin-1": "# coding: latin_1\ngröße = 1\n".encode("latin-1"),
    "iso-8859-15": "#!/usr/bin/python\n# vim: set fileencoding=iso-8859-15 :\ngröße = 1\n".encode("latin-1"),
    "cp1252": "# coding: cp1252\r\ngröße = 1\r\n".encode("cp1252"),
    "koi8-r": "# coding: koi8-r\nёж = 1\n".encode("koi8-r"),
    "shift_jis": "# coding: Shift_JIS\n長 = 1\n".encode("shift_jis"),
    "gb18030": "\n# coding: gb18030\n长 = 1\n".encode("gb18030"),
    "third line": b"a = 1\nb = 2\n# coding: utf-7\n",
    "behind code": b"a = 1\n# coding: utf-7\n",
}


@one_test
@pytest.mark.parametrize("case", SAFE)
def test_sources_in_usual_encodings_are_shown_as_python_reads_them(case: str, forger: type) -> None:
    source = SAFE[case]
    expected = importlib.util.decode_source(source)
    assert source_text(source, "x") == expected
    with PackageImporter(io.BytesIO(package(source, forger))) as importer:
        assert importer.get_source("net") == expected


UNSAFE = (
    "utf-7 utf_7 U7 idna punycode unicode_escape raw_unicode_escape rot13 rot_13 hex zlib_codec zlib bz2 "
    "base64 uu quopri utf-16 utf-16-le utf-32 cp037 cp500 mbcs oem undefined iso2022_jp ascii2 "
) + "x" * 30


@one_test
@pytest.mark.parametrize("line", [1, 2])
@pytest.mark.parametrize("encoding", UNSAFE.split())
def test_a_source_in_any_other_encoding_is_not_shown(encoding: str, line: int, forger: type) -> None:
    source = b"\n" * (line - 1) + b"# -*- coding: " + encoding.encode() + b" -*-\n" + b"a" * 1000
    message = f"line {line}: found the encoding '{encoding}'; expected utf-8 or a common one"
    with PackageImporter(io.BytesIO(package(source, forger))) as importer:
        with pytest.raises(ArchiveError, match=f"module 'net', entry 'net.py', {message}"):
            importer.get_source("net")
        assert ArchiveReader.read(importer.archive, "net.py") == source


def test_no_codec_is_looked_up_by_a_name_of_the_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may have registered codecs of its own, which would be called."""
    asked: list[str] = []
    monkeypatch.setattr(codecs, "lookup", asked.append)
    monkeypatch.setattr(tokenize, "lookup", asked.append)
    for encoding in ("punycode", "my_codec"):
        with pytest.raises(ArchiveError, match=f"found the encoding '{encoding}'"):
            source_text(b"# coding: " + encoding.encode(), "x")
    assert asked == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"a = '\xff'", r"x, byte 5: found b'\\xff', which is not utf-8 \(invalid start byte\)"),
        (b"# coding: ascii\n'\xc3\xa4'", r"x, byte 17: found b'\\xc3', which is not ascii"),
        (codecs.BOM_UTF16_LE + "a = 1".encode("utf-16-le"), r"x, byte 0: found b'\\xff', which is not utf-8"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "the encoding 'latin-1' after a byte order mark of UTF-8"),
        (b"# coding: iso-8859-12\n", "'iso-8859-12', which this Python lacks"),
    ],
)
def test_bytes_of_another_encoding_are_told_with_their_place(source: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        source_text(source, "x")


def test_every_safe_encoding_is_one_of_texts_or_is_unknown() -> None:
    known = 0
    for name in encodings.SAFE_ENCODINGS:
        try:
            codec = codecs.lookup(name)
        except LookupError:
            continue
        known += 1
        assert codec._is_text_encoding
        # Letters of ASCII are themselves: what is shown is what is run.
        assert b"import os; a = 'b'".decode(name) == "import os; a = 'b'"
        assert source_encoding(b"# coding: " + name.encode(), "x") in (name, "utf-8")
    assert known > 70


def test_tracebacks_go_on_without_a_source_that_is_not_shown() -> None:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_source_string(
            "net", "# coding: unicode_escape\ndef fails():\n    raise KeyError('a')\n"
        )
    with PackageImporter(file) as importer:
        net = importer.import_module("net")
        with pytest.raises(KeyError, match="a"):
            net.fails()
        assert linecache.getlines(net.__file__, net.__dict__) == []


# --- load_text ---


def texts(data: bytes) -> PackageImporter:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_binary("net.data", "words.txt", data)
    return PackageImporter(file)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16", "cp1252", "utf-7"])
def test_texts_are_decoded_as_the_caller_says(encoding: str) -> None:
    with texts("größe".encode(encoding)) as importer:
        assert importer.load_text("net.data", "words.txt", encoding) == "größe"


@one_test
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"encoding": "no-such"},
            "encoding='no-such', errors='strict': unknown encoding: no-such; exp",
        ),
        ({"encoding": "hex"}, "'hex' is not an encoding of texts"),
        ({"encoding": "rot13"}, "'rot13' is not an encoding of texts"),
        ({"encoding": "zlib_codec"}, "'zlib_codec' is not an encoding of texts"),
        ({"encoding": "a\0b"}, "resource net.data/words.txt: encoding="),
        ({"errors": "loudly"}, "unknown error handler name 'loudly'"),
        ({"encoding": 3}, "resource net.data/words.txt: encoding=3"),
    ],
)
def test_what_is_no_encoding_of_texts_is_refused(options: dict[str, str], message: str) -> None:
    with texts(b"ab") as importer, pytest.raises(ArgumentError, match=message):
        importer.load_text("net.data", "words.txt", **options)


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (
            b"ab\xff",
            "utf-8",
            r"net.data/words.txt, byte 2: found b'\\xff', which is not utf-8 \(inv",
        ),
        (b"a\xc3\xa4", "ascii", r"words.txt, byte 1: found b'\\xc3', which is not ascii"),
        (b"abc", "utf-16-le", "words.txt, byte 2: found b'c', which is not utf-16-le"),
        (b"a\x81", "cp1252", r"byte 1: found b'\\x81', which is not (cp1252|charmap)"),
        (b"abcdefghi", "undefined", "words.txt, byte 0: found b'abcdefgh', which is not undefined"),
    ],
)
def test_bytes_that_are_not_such_text_are_told_with_their_place(
    data: bytes, encoding: str, message: str
) -> None:
    with texts(data) as importer:
        with pytest.raises(UnicodeDecodeError, match=message) as caught:
            importer.load_text("net.data", "words.txt", encoding)
        assert isinstance(caught.value, PackageError)
        again = pickle.loads(pickle.dumps(caught.value))
        assert str(again) == str(caught.value)
        assert importer.load_text("net.data", "words.txt", encoding="latin-1") == data.decode("latin-1")
        assert importer.load_text("net.data", "words.txt", "ascii", "replace").startswith("a")
