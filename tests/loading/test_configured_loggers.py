"""Configurations of loggers in packaged code: what they name is the archive's, as its author meant it."""

from __future__ import annotations

import logging
import logging.config
from collections.abc import Callable
from typing import Any

import pytest

FILTER = """
import logging
class Upper(logging.Filter):
    def filter(self, record):
        record.msg = record.msg.upper()
        return True
"""
CODE = """
import io
{}
CONFIG = {{
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {{"upper": {{"()": "logpkg.filters.Upper"}}}},
    "handlers": {{
        "text": {{"class": "logging.StreamHandler", "filters": ["upper"], "stream": io.StringIO()}}
    }},
    "loggers": {{"logpkg_of_test": {{"handlers": ["text"], "level": "INFO", "propagate": False}}}},
}}
def said(text):
    {}(CONFIG)
    logger = logging.getLogger("logpkg_of_test")
    logger.info(text)
    return logger.handlers[0].stream.getvalue()
"""
FORMS = {
    "the module": ("import logging\nimport logging.config", "logging.config.dictConfig"),
    "from the package": ("import logging\nfrom logging import config", "config.dictConfig"),
    "the function": ("import logging\nfrom logging.config import dictConfig", "dictConfig"),
    "the class": (
        "import logging, logging.config as c",
        "(lambda config: c.dictConfigClass(config).configure())",
    ),
}


@pytest.fixture
def no_handlers_left() -> Any:
    yield
    logging.getLogger("logpkg_of_test").handlers.clear()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_class_in_a_configuration_is_the_archives(
    pack: Callable[..., Any], no_handlers_left: None, form: tuple[str, str]
) -> None:
    tree = {"logpkg/__init__.py": "", "logpkg/filters.py": FILTER, "logpkg/app.py": CODE.format(*form)}
    loaded = pack(tree)
    assert loaded.module("logpkg.app").said("words") == "WORDS\n"


def test_the_process_configures_its_loggers_as_before(pack: Callable[..., Any]) -> None:
    pack({"logpkg/__init__.py": CODE.format(*FORMS["the module"]), "logpkg/filters.py": FILTER}).module(
        "logpkg"
    )
    config = {"version": 1, "filters": {"upper": {"()": "logpkg.filters.Upper"}}, "incremental": False}
    with pytest.raises(ValueError, match="Unable to configure filter 'upper'"):
        logging.config.dictConfig(config | {"disable_existing_loggers": False})
