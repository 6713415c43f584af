"""The pickle interpreter: data comes out as Python's own unpickler gives it, everything else is refused."""

import contextlib
import io
import pickle
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packager._weights.pickle_machine import CheckpointPickleError
from packager._weights.pickle_opcodes import read_pickle
from packager._weights.torch_names import torch_names
from tests import processes

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def read(data: bytes) -> object:
    return read_pickle(io.BytesIO(data), torch_names())


@given(value=plain, protocol=st.sampled_from([2, 3, 4, 5]))
def test_data_comes_out_as_it_went_in(value, protocol):
    assert read(pickle.dumps(value, protocol)) == value


def test_shared_and_nested_data_costs_what_the_pickle_costs():
    pickled = b"\x80\x02]q\x00" + b"0h\x00h\x00\x86q\x00" * 5000 + b"."
    read_one = read(pickled)  # two to the power of 5,000 lists, if somebody wrote them out
    assert read_one[0] is read_one[1]


@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (b"cos\nsystem\n(S'echo'\ntR.", r"offset 0: the pickle names 'os\.system', which is not plain data"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", r"offset 14: the pickle names 'os\.system'"),
        (b"\x80\x02cbuiltins\ngetattr\n.", r"offset 2: the pickle names 'builtins\.getattr'"),
        (b"(ios\nsystem\n.", "offset 1: opcode INST is not among those that data needs"),
        (b"(cos\nsystem\no.", r"names 'os\.system'"),
        (b"\x80\x02])\x81.", "opcode NEWOBJ is not among"),
        (b"\x80\x02\x82\x01.", "opcode EXT1 is not among"),
        (b"I1\n.", "opcode INT is not among"),
        (b"\x80\x02K\x01K\x02R.", "a call of something that is no name"),
        (
            b"\x80\x02ctorch\nFloatStorage\n)R.",
            r"'torch\.FloatStorage' may be mentioned in data, but not called",
        ),
        (b"\x80\x02}]K\x01s.", "a key of type list"),
        (b"\x80\x02}(K\x01u.", "a key without a value"),
        (b"\x80\x02a.", "finds the stack empty"),
        (b"\x80\x02K\x01a.", "finds the stack empty|APPEND on"),
        (b"\x80\x02K\x01K\x02a.", "APPEND on int"),
        (b"\x80\x02e.", "finds no mark"),
        (b"\x80\x02h\x05.", "memo 5 was never set"),
        (b"\x80\x02K\x01K\x02.", "ends with more or less than one object"),
        (b"\x80\x02K\x01Q.", "a persistent id, in a pickle that has none"),
        (b"\x80\x02X\xff\xff\xff\x7fab.", "expected 2147483647 bytes"),
        (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fab.", "expected 9223372036854775807 bytes"),
        (b"\x80\x02K\x01", "after offset 2|pickle exhausted"),
        (b"", "pickle exhausted"),
        (
            b"\x80\x02ccollections\nOrderedDict\n)R}X\x03\x00\x00\x00popK\x01sb.",
            "BUILD sets attributes of a dict",
        ),
        (b"\x80\x02ccollections\nOrderedDict\nK\x01\x85R.", "is made of pairs"),
        (
            b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00rot\x86R.",
            "bytes in encoding 'rot'",
        ),
    ],
)
def test_everything_else_is_refused_with_its_place(pickled, message):
    with pytest.raises(CheckpointPickleError, match=message):
        read(pickled)


@settings(max_examples=300)
@given(data=st.data())
def test_a_mutated_pickle_gives_data_or_is_refused(data):
    pickled = bytearray(
        pickle.dumps({"a": [1, (2.5, "x")], "b": {1, 2}, "c": b"yz"}, data.draw(st.integers(2, 5)))
    )
    for _ in range(data.draw(st.integers(1, 4))):
        pickled[data.draw(st.integers(0, len(pickled) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CheckpointPickleError):
        read(bytes(pickled))


def test_nothing_is_imported_or_run():
    script = """
import io, pickle, sys
from packager._weights.pickle_machine import CheckpointPickleError
from packager._weights.pickle_opcodes import read_pickle
from packager._weights.torch_names import torch_names
seen = []
class Attack:
    def __reduce__(self):
        import os
        return (os.system, ("echo attacked",))
hostile = [pickle.dumps(Attack(), protocol) for protocol in range(2, 6)] + [b"cantigravity\\nx\\n)R."]
names = torch_names()
sys.addaudithook(lambda event, args: seen.append(event))
for pickled in hostile:
    try:
        read_pickle(io.BytesIO(pickled), names)
    except CheckpointPickleError:
        continue
    raise SystemExit("read")
bad = {"exec", "import", "os.system", "subprocess.Popen", "compile", "open", "pickle.find_class"}
print(sorted(bad & set(seen)))
"""
    done = processes.run(
        [sys.executable, "-c", script], cold=True, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
