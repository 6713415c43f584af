"""The list of what may run while data is built, held against what objects of other libraries call."""

from __future__ import annotations

from importlib import import_module

import pytest

from packager.testing import CodecContract
from tests.attacks.test_inert_calls import calls_of, contract_tests
from tests.contracts.libraries import installed_contracts

pytestmark = pytest.mark.unix  # the view of Windows stands in for `import`, and would be among the calls


def contracts() -> dict[str, CodecContract]:
    """The contract tests of the libraries that are here, by library and name.

    Where a codec needs the name of a class, what the library does with it is the caller's to trust.
    """
    return {
        f"{library}-{name}": contract
        for library, module in installed_contracts().items()
        for name, contract in contract_tests(import_module(module)).items()
        if not contract.trust
    }


CONTRACTS = contracts()


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
def test_what_codecs_of_libraries_call_is_in_their_rows(contract: CodecContract) -> None:
    for sample in contract.samples():
        assert calls_of([sample]).outside_the_list() == []
