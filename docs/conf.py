"""How the site is built: Sphinx over Markdown pages, with reference pages made from docstrings.

Everything is local: no fonts, scripts or inventories are fetched.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import command_line  # noqa: E402 - as the next one
import docstrings  # noqa: E402 - it lives in this folder, which is on the path only now
import reference  # noqa: E402 - as above

import packager  # noqa: E402 - as above

project = "kellet"
author = "The kellet developers"
copyright = "The kellet developers, Apache-2.0"
release = version = packager.__version__
html_title = f"kellet and packager {version}"
html_theme = "furo"
html_static_path = html_css_files = ["site.css"]
html_show_sphinx = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
# A new kind of page begins with an empty folder; one class is shown under each public name it has.
suppress_warnings = ["toc.empty_glob", "ref.python"]

autodoc_default_options = {"show-inheritance": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
add_module_names = False  # the page says it
autodoc_preserve_defaults = True
# A method that says nothing of its own is described where it is first defined.
autodoc_inherit_docstrings = False

reference.write_pages(HERE / "reference" / "modules")
command_line.write_command_page(HERE / "reference" / "modules")


def setup(app: object) -> None:
    app.connect("autodoc-process-docstring", docstrings.process)  # type: ignore[attr-defined] - Sphinx hands its application
