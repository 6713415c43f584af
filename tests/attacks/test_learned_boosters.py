"""Wrappers of LightGBM and XGBoost that no fit could have made, read off tables: no library need be there."""

from __future__ import annotations

from typing import Any

import pytest

from packager._audit import TrustContext, UntrustedNamesError, audit
from packager._objects import Kind as K
from tests.attacks import object_forger as forge
from tests.tables import one_test

LIGHT = [K.GLOBAL, "lightgbm", "LGBMClassifier"]
EXTREME = [K.GLOBAL, "xgboost", "XGBClassifier"]


def judged(name: list[Any], *more: list[Any], **attributes: Any) -> None:
    """Audit a wrapper with these attributes; `more` are records before it, from number 1 on."""
    shape = [K.SHAPE, -1, None, *attributes]
    records = [name, *more, shape, [K.OBJ, -2 - len(more), *attributes.values()]]
    audit(forge.table_of(records).records, TrustContext.data_only())


HOSTILE: dict[str, tuple[list[Any], list[list[Any]], dict[str, Any], str]] = {
    "threads": (
        LIGHT,
        [],
        {"n_jobs": 100_000},
        "n_jobs of LGBMClassifier is 100000, expected -1024 to",
    ),
    "threads by another name": (
        LIGHT,
        [],
        {"num_threads": 100_000},
        "num_threads of LGBMClassifier is 100000",
    ),
    "threads in parameters": (
        LIGHT,
        [[K.PACKED_DICT, "nthread", 100_000]],
        {"_other_params": -2},
        "in _other_params: nthread of LGBMClassifier is 100000",
    ),
    "a file to write": (
        LIGHT,
        [[K.PACKED_DICT, "output_model", "/tmp/x"]],
        {"_other_params": -2},
        "in _other_params: output_model, which names a file or a machine",
    ),
    "a file as attribute": (
        LIGHT,
        [],
        {"forcedsplits_filename": "/etc/passwd"},
        "forcedsplits_filename of LGBM",
    ),
    "another machine": (
        LIGHT,
        [],
        {"machines": "10.0.0.1:80"},
        "machines of LGBMClassifier, which names a file",
    ),
    # The library reads its parameters out of one text, apart at its spaces.
    "a parameter in a parameter": (
        LIGHT,
        [],
        {"metric": "auc num_threads=100000"},
        "metric of LGBMClassifier is 'auc num_threads=100000', an unexpected text",
    ),
    "the same in a list": (
        LIGHT,
        [[K.PACKED_LIST, "auc", "l2 output_result=/tmp/x"]],
        {"metric": -2},
        "metric of LGBMClassifier is 'l2 output_result=/tmp/x', an unexpected text",
    ),
    "the same in parameters": (
        LIGHT,
        [[K.PACKED_DICT, "metric", "l2 data=/etc/passwd"]],
        {"_other_params": -2},
        "in _other_params: metric of LGBMClassifier is",
    ),
    "the same in a list of parameters": (
        LIGHT,
        [[K.PACKED_LIST, "l2 data=/etc/passwd"], [K.DICT, "metric", -2]],
        {"_other_params": -3},
        "in _other_params: metric of LGBMClassifier is",
    ),
    "the same as a name": (
        LIGHT,
        [[K.PACKED_DICT, "l2 data", 1]],
        {"_other_params": -2},
        "in _other_params: 'l2 data' is not a parameter of LGBMClassifier",
    ),
    "a name beside nothing": (
        LIGHT,
        [[K.LIST], [K.DICT, "machines", -2]],
        {"_other_params": -3},
        "in _other_params: machines, which names a file or a machine",
    ),
    "threads of the other": (EXTREME, [], {"n_jobs": 100_000}, "n_jobs of XGBClassifier is 100000"),
    "its threads in parameters": (
        EXTREME,
        [[K.PACKED_DICT, "nthread", 100_000]],
        {"kwargs": -2},
        "in kwargs: nthread of XGBClassifier is 100000",
    ),
    "callbacks": (
        EXTREME,
        [[K.PACKED_LIST, "x"]],
        {"callbacks": -2},
        "callbacks of XGBClassifier has an unexpected type",
    ),
}


@one_test
@pytest.mark.parametrize(("name", "more", "attributes", "message"), HOSTILE.values(), ids=HOSTILE)
def test_what_no_fit_gives_is_refused(
    name: list[Any], more: list[list[Any]], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UntrustedNamesError, match=message):
        judged(name, *more, **attributes)


@one_test
@pytest.mark.parametrize(
    ("name", "more", "attributes"),
    [
        pytest.param(LIGHT, [], {"n_jobs": 8, "metric": "auc", "max_depth": 3}, id="parameters"),
        pytest.param(LIGHT, [[K.PACKED_LIST, "l1", "l2"]], {"metric": -2}, id="metrics"),
        pytest.param(
            LIGHT, [[K.PACKED_DICT, "num_threads", 2, "verbose", -1]], {"_other_params": -2}, id="others"
        ),
        pytest.param(LIGHT, [[K.PACKED_DICT, "num_threads", None]], {"_other_params": -2}, id="none said"),
        pytest.param(EXTREME, [[K.PACKED_DICT, "nthread", 2]], {"kwargs": -2, "n_jobs": 8}, id="extreme"),
    ],
)
def test_their_honest_twins_pass(name: list[Any], more: list[list[Any]], attributes: dict[str, Any]) -> None:
    judged(name, *more, **attributes)
