"""Names of loaded modules and names that can be stored."""

from __future__ import annotations

import pytest

from packager._names import (
    InvalidNameError,
    PackageMangler,
    check_module_name,
    check_resource_name,
    demangle,
    get_mangle_prefix,
    is_mangled,
    mangled_identity,
)
from tests.tables import one_test

IDENTITY = "3f9a1c0b77de" + "0" * 52


def test_two_manglers_never_give_the_same_name() -> None:
    assert PackageMangler().mangle("foo.bar") != PackageMangler().mangle("foo.bar")
    assert PackageMangler(IDENTITY).mangle("foo.bar") != PackageMangler(IDENTITY).mangle("foo.bar")


def test_a_mangler_gives_a_name_the_same_form_each_time() -> None:
    mangler = PackageMangler(IDENTITY)
    assert mangler.mangle("abc.def") == mangler.mangle("abc.def")


def test_the_number_counts_the_importers_of_one_archive() -> None:
    identity = "0123456789abcdef"
    names = [PackageMangler(identity).mangle("net.layers") for _ in range(3)]
    assert names == [f"net__w0123456789ab_{n}.layers" for n in range(3)]


@pytest.mark.parametrize("name", ["foo", "foo.bar", "_a.b_c.d1", "a__b"])
def test_demangling_undoes_mangling(name: str) -> None:
    mangler = PackageMangler(IDENTITY)
    assert demangle(mangler.mangle(name)) == name
    assert mangler.demangle(mangler.mangle(name)) == name


def test_a_mangler_leaves_the_names_of_others_alone() -> None:
    theirs = PackageMangler(IDENTITY).mangle("foo.bar")
    assert PackageMangler(IDENTITY).demangle(theirs) == theirs
    assert demangle(theirs) == "foo.bar"


def test_mangled_names_are_told_from_others() -> None:
    mangled = PackageMangler(IDENTITY).mangle("foo.bar")
    assert is_mangled(mangled)
    assert not any(
        map(is_mangled, ["foo.bar", demangle(mangled), "a__wide_1", "foo.bar__w3f9a1c0b77de_0", ""])
    )


def test_the_bare_mark_demangles_to_nothing() -> None:
    assert demangle(PackageMangler(IDENTITY).parent_name()) == ""


def test_the_prefix_of_a_mangled_name_begins_it() -> None:
    mangled = PackageMangler(IDENTITY).mangle("foo.bar")
    assert mangled.removeprefix(get_mangle_prefix(mangled)) == ".bar"
    assert get_mangle_prefix("foo.bar") == "foo.bar"


def test_a_mangled_name_tells_identity_and_number() -> None:
    mangler = PackageMangler(IDENTITY)
    assert mangled_identity(mangler.mangle("foo.bar")) == ("3f9a1c0b77de", mangler.number)
    assert mangled_identity("foo.bar") is None


def test_an_empty_name_cannot_be_mangled() -> None:
    with pytest.raises(AssertionError, match="empty module name"):
        PackageMangler().mangle("")


def test_a_mangled_name_cannot_be_mangled_again() -> None:
    mangler = PackageMangler()
    with pytest.raises(InvalidNameError, match="mangled already"):
        mangler.mangle(mangler.mangle("foo"))


def test_an_identity_must_be_a_digest() -> None:
    with pytest.raises(InvalidNameError, match="hexadecimal"):
        PackageMangler("not hex")


@pytest.mark.parametrize("name", ["a", "a.b", "pkg.3d", "pkg.with-dash", "tief.größe"])
def test_module_names_that_python_can_import_are_valid(name: str) -> None:
    assert check_module_name(name) == name


@one_test
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "expected dotted parts"),
        ("a..b", "found the part ''"),
        (".a", "found the part ''"),
        ("a/b", "found '/'"),
        ("a.b\x00", "found '.x00'"),
        ("a\\b", "no file can be called so"),
        ("foo__w3f9a1c0b77de_0.bar", "store it as 'foo.bar'"),
    ],
)
def test_module_names_that_cannot_be_stored_are_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidNameError, match=message):
        check_module_name(name)


@pytest.mark.parametrize("name", ["x.csv", "tables/x.csv", ".hidden", "a b.txt"])
def test_resource_names_may_lie_in_folders(name: str) -> None:
    assert check_resource_name(name) == name


@one_test
@pytest.mark.parametrize("name", ["", "/x", "../x", "a//b", "a/./b", "c:x", "a/", "trailing "])
def test_resource_names_must_stay_below_their_package(name: str) -> None:
    with pytest.raises(InvalidNameError, match="resource name"):
        check_resource_name(name)
