"""The list of what may run while data is built, held against what objects of other libraries call."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest

from packager.testing import CodecContract
from tests.attacks.test_inert_calls import calls_of, contract_tests

CONTRACTS = {"tokenizers": "test_tokenizers_codecs"}
"""The modules with contract tests, by the library whose objects they are about."""


def installed_contracts() -> dict[str, CodecContract]:
    """The contract tests of the libraries that are here, by library and name."""
    here = {name: module for name, module in CONTRACTS.items() if find_spec(name) is not None}
    found = {name: contract_tests(import_module(f"tests.contracts.{module}")) for name, module in here.items()}
    return {f"{name}-{test}": contract for name, tests in found.items() for test, contract in tests.items()}


INSTALLED = installed_contracts()


@pytest.mark.parametrize("contract", INSTALLED.values(), ids=INSTALLED)
def test_what_codecs_of_libraries_call_is_in_their_rows(contract: CodecContract) -> None:
    for sample in contract.samples():
        assert calls_of([sample]).outside_the_list() == []
