"""Wherever packages and folders lie, the clean process of an export finds what the exporting one has found.

The project has an import by a computed name, which the process asks for. Every warning is an error, and what
was written is loaded elsewhere.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.places import PROVED, Place, answer_of, install_ours, install_paint, moved_python

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.unix, pytest.mark.processes(share=4)]


def user_site(place: Place) -> Path:
    """Have the folder of a user's packages below the folder of the place."""
    place.env["PYTHONUSERBASE"] = str(place.folder / "base")
    place.python = [moved_python(place.folder / "python")]
    return Path(place.said("-m", "site", "--user-site"))


def site_of(place: Place) -> Path:
    return Path(place.said("-c", "import site; print(site.getsitepackages()[0])"))


def emptied(site: Path) -> Path:
    """Take away a folder of packages, which Debian's Python names and does not have."""
    shutil.rmtree(site, ignore_errors=True)
    return site


# --- where packages lie ---


def in_the_users_site(place: Place) -> None:
    install_paint(install_ours(user_site(place)))


def in_the_users_site_with_a_checkout(place: Place) -> None:
    """What kellet needs is installed for the user, kellet itself is not."""
    site = install_paint(install_ours(user_site(place)))
    for name in ("kellet", "packager"):
        (site / name).unlink()
    place.env["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, ROOT / "src")))


def in_a_conda_prefix(place: Place) -> None:
    prefix = place.folder / "conda"
    place.python = [moved_python(prefix)]
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / "history").touch()
    place.env |= {"CONDA_PREFIX": str(prefix), "CONDA_DEFAULT_ENV": "conda"}
    said = place.said("-c", "import sys; print(sys.prefix == sys.base_prefix == sys.argv[1])", prefix)
    assert said == "True"
    install_paint(install_ours(emptied(site_of(place))))


def in_a_conda_prefix_of_the_project(place: Place) -> None:
    place.folder = place.here / "envs"
    in_a_conda_prefix(place)


def in_a_venv_of_a_conda_prefix(place: Place, *options: str) -> Path:
    in_a_conda_prefix(place)
    venv = place.here / ".venv"
    place.said("-m", "venv", "--without-pip", *options, venv)
    place.python = [venv / "bin" / "python"]
    place.env["VIRTUAL_ENV"] = str(venv)
    return site_of(place)


def in_a_venv_without_those_of_the_system(place: Place) -> None:
    install_paint(install_ours(emptied(in_a_venv_of_a_conda_prefix(place))))


def in_a_venv_with_those_of_the_system(place: Place) -> None:
    site = in_a_venv_of_a_conda_prefix(place, "--system-site-packages")
    for file in [*(place.folder / "conda").rglob("paint*")]:
        shutil.move(file, site / file.name)


def on_pythonpath(place: Place) -> None:
    place.python = [moved_python(place.folder / "python")]
    place.env["PYTHONPATH"] = str(install_paint(install_ours(place.folder / "packages")))


def with_pythonhome(place: Place) -> None:
    """A program that was moved away from its standard library, whose parts in C lie apart."""
    python = moved_python(place.folder / "there").rename(place.folder / "python")
    [parts] = (place.folder / "there" / "lib").glob("python*/lib-dynload")
    apart = place.folder / "apart" / "lib" / parts.parent.name
    apart.mkdir(parents=True)
    parts.rename(apart / parts.name)
    place.python = [python]
    place.env["PYTHONHOME"] = f"{place.folder / 'there'}:{place.folder / 'apart'}"
    place.env["PYTHONPATH"] = str(install_paint(install_ours(place.folder / "packages")))


def beside_a_backport(place: Place) -> None:
    """Of a module that Python has meanwhile, and that fails there, as `pathlib` and `typing` of PyPI do."""
    place.python = [moved_python(place.folder / "python")]
    site = emptied(site_of(place))
    install_paint(install_ours(site))
    for name in ("pathlib", "typing", "enum", "dataclasses"):
        (site / f"{name}.py").write_text("raise RuntimeError(__name__)\n")


def by_a_pth_file(place: Place) -> None:
    """An editable install of a library and of kellet."""
    place.python = [moved_python(place.folder / "python")]
    site = emptied(site_of(place))
    install_ours(site)
    for name in ("kellet", "packager"):
        (site / name).unlink()
    source = install_paint(place.folder / "source")
    for file in source.glob("*.dist-info"):
        shutil.move(file, site / file.name)
    (site / "own.pth").write_text("\n".join(map(str, (ROOT, ROOT / "src", source))))


def in_a_zip_file(place: Place) -> None:
    on_pythonpath(place)
    site = place.folder / "packages"
    with zipfile.ZipFile(place.folder / "paint.zip", "w") as whole:
        for file in [*site.glob("paint*/*"), site / "paint.py"]:
            whole.write(file, file.relative_to(site))
    shutil.rmtree(site / "paint-1.0.dist-info")
    (site / "paint.py").unlink()
    place.env["PYTHONPATH"] += f"{os.pathsep}{place.folder / 'paint.zip'}"


SITES = [
    in_the_users_site,
    in_the_users_site_with_a_checkout,
    in_a_conda_prefix,
    in_a_conda_prefix_of_the_project,
    in_a_venv_without_those_of_the_system,
    in_a_venv_with_those_of_the_system,
    on_pythonpath,
    with_pythonhome,
    beside_a_backport,
    by_a_pth_file,
    in_a_zip_file,
]


@pytest.mark.parametrize("prepare", SITES, ids=lambda prepare: prepare.__name__)
def test_what_is_installed_is_found(place: Place, prepare: Callable[[Place], object]) -> None:
    prepare(place)
    assert place.said("painted.py", place.file) == PROVED
    assert place.loaded().startswith("7 True")


def test_what_lies_in_a_users_site_that_is_switched_off_is_not_found(place: Place) -> None:
    install_paint(user_site(place))
    place.env["PYTHONPATH"] = str(install_ours(place.folder / "packages"))
    place.write(
        {
            "net/painted.py": """
        from .model import Net
        try:
            from paint import coat
        except ImportError:
            def coat(x):
                return x + 10

        class Painted(Net):
            def __call__(self, x):
                return coat(super().__call__(x))
    """
        }
    )
    place.python.append("-s")
    assert place.said("painted.py", place.file) == PROVED
    assert place.loaded() == "16 True False"


def test_a_program_in_a_zip_file_is_exported(place: Place) -> None:
    (place.here / "script.py").rename(place.here / "__main__.py")
    app = place.folder / "app.pyz"
    with zipfile.ZipFile(app, "w") as whole:
        for file in place.here.rglob("*.py"):
            whole.write(file, file.relative_to(place.here))
    shutil.rmtree(place.here)
    assert place.said(app, place.file, cwd=place.elsewhere) == PROVED
    assert answer_of(place.file) == 6


# --- paths ---


def with_spaces(place: Place) -> Path:
    return place.folder / "two words; and 'quotes'\n\"\\"


def with_letters_of_other_scripts(place: Place) -> Path:
    return place.folder / "größe-模型"


def with_bytes_that_are_no_text(place: Place) -> Path:
    return place.folder / os.fsdecode(b"caf\xe9")


def with_a_long_name(place: Place) -> Path:
    return place.folder.joinpath(*["n" * 200] * 4)


def with_a_link(place: Place) -> Path:
    (place.folder / "real").mkdir()
    (place.folder / "link").symlink_to("real")
    return place.folder / "link"


def that_all_may_write_to(place: Place) -> Path:
    folder = place.folder / "all"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


PATHS = [
    with_spaces,
    with_letters_of_other_scripts,
    with_bytes_that_are_no_text,
    with_a_long_name,
    with_a_link,
    that_all_may_write_to,
]


@pytest.mark.parametrize("name", PATHS, ids=lambda name: name.__name__)
def test_a_folder_for_temporary_files(place: Place, name: Callable[[Place], Path]) -> None:
    folder = name(place)
    folder.mkdir(exist_ok=True, parents=True)
    place.env["TMPDIR"] = str(folder)
    assert place.said("script.py", place.file) == PROVED
    assert answer_of(place.file) == 6
    assert os.listdir(folder) == []


@pytest.mark.parametrize("name", PATHS[:5], ids=lambda name: name.__name__)
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_a_project_in_a_folder(place: Place, name: Callable[[Place], Path], locale: str) -> None:
    folder = name(place)
    shutil.copytree(place.here, folder, dirs_exist_ok=True)
    place.here = folder
    place.env["LC_ALL"] = locale
    assert place.said("script.py", place.file) == PROVED
    place.here.rename(place.folder / "gone")
    assert answer_of(place.file) == 6


@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null", ""])
def test_a_home_that_cannot_be_written_to(place: Place, home: str) -> None:
    del place.env["KELLET_CACHE"]
    place.env["HOME"] = home
    assert place.said("script.py", place.file) == PROVED
    assert answer_of(place.file) == 6
