"""Templates: holes by kind, arithmetic, reading forwards and backwards, in bounded time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._migrations.templates import HoleArithmetic, Template, TemplateError, _match_by_table


def test_holes_take_what_their_kind_allows():
    template = Template.parse("blocks.{n:int}.{name}.{rest:any}")
    assert template.match("blocks.12.attn.qkv.weight") == {"n": 12, "name": "attn", "rest": "qkv.weight"}
    assert template.match("blocks.x.attn.weight") is None
    assert template.match("blocks.01.attn.weight") is None
    assert template.match("blocks.1.attn.") == {"n": 1, "name": "attn", "rest": ""}


def test_any_takes_as_little_as_it_can():
    template = Template.parse("{head:any}.norm.{rest:any}")
    assert template.match("a.norm.b.norm.c") == {"head": "a", "rest": "b.norm.c"}


def test_a_prefix_hole_does_not_match_a_key_at_the_root():
    assert Template.parse("{p:any}.weight").match("weight") is None


@pytest.mark.parametrize(
    ("hole", "value", "written"),
    [("{n+1}", 0, "1"), ("{n - 2}", 2, "0"), ("{3*(n-1)}", 2, "3"), ("{2*n}", 4, "8")],
)
def test_arithmetic_is_applied_and_undone(hole, value, written):
    template = Template.parse(f"mlp.{hole}.weight")
    assert template.fill({"n": value}) == f"mlp.{written}.weight"
    assert template.match(f"mlp.{written}.weight") == {"n": value}


def test_a_number_that_no_value_gives_does_not_match():
    assert Template.parse("mlp.{3*n}.weight").match("mlp.4.weight") is None


def test_a_hole_that_stands_twice_must_stand_for_the_same():
    template = Template.parse("denselayer{n:int}.norm{n:int}")
    assert template.match("denselayer2.norm2") == {"n": 2}
    assert template.match("denselayer2.norm1") is None


def test_braces_are_written_twice():
    template = Template.parse("a{{{n:int}}}")
    assert template.fill({"n": 3}) == "a{3}"
    assert template.match("a{3}") == {"n": 3}


def test_a_negative_number_is_refused():
    with pytest.raises(TemplateError, match=r"n = 0 gives -1; numbers in keys are 0 or more"):
        Template.parse("l.{n-1}").fill({"n": 0})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a{", r"template 'a\{', column 2: single '\{'"),
        ("a.{n:float}", "column 3: unknown kind 'float'; the kinds are segment, int, any"),
        ("{a}{b}", "column 4: holes 'a' and 'b' touch"),
        ("{n*n}", "is not a hole; expected a form such as"),
        ("{n+m}", "is not a hole; expected a form such as"),
        ("{0*n}", "has no inverse"),
        ("{__import__('os')}", "is not a hole; expected a form such as"),
    ],
)
def test_what_is_no_template_is_refused_with_its_column(text, message):
    with pytest.raises(TemplateError, match=message):
        Template.parse(text)


@pytest.mark.parametrize(
    ("text", "key", "values"),
    [
        ("{a}-{a}", "x-x", {"a": "x"}),
        ("{a}-{a}", "x-y-x-z", None),
        ("{a}-{a}", "x-y-x-y", None),  # read as x-y-x and y
        ("l{n:int}.{p}.l{n+1}.{p}", "l7.a.l8.a", {"n": 7, "p": "a"}),
        ("{a:any}/{a}/{a}", "k/k/k", {"a": "k"}),
        ("{p:any}.{n}.attn.{n}.w", "a.b.c.attn.c.w", {"p": "a.b", "n": "c"}),
    ],
)
def test_a_hole_that_stands_twice_stands_for_the_same(text, key, values):
    template = Template.parse(text)
    assert template.match(key) == values
    if values is not None:
        assert template.fill(values) == key


def test_a_number_of_thousands_of_digits_is_no_number():
    assert Template.parse("l.{n:int}").match("l." + "9" * 10_000) is None


def test_matching_a_hostile_template_takes_bounded_time():
    template = Template.parse("x".join(f"{{h{i}:any}}" for i in range(12)) + "y")
    assert template.match("x" * 2000) is None


HOSTILE = {
    "{a}x{b}": "x" * 100_000 + ".",
    "{a:any}.{b}.{c:any}": "." * 100_000,
    "{a:any}x{b:any}": "y" * 100_000,
    "{a:any}.w{n:int}.{rest:any}z": ".w1" * 30_000,
    "{a}1{n:int}.": "1" * 100_000,
    "{a:any}.b.{c}.d": ".b.c" * 25_000,
    "{a:any}x{b}x{c:any}y": "x" * 20_000,
    "{a:any}.{b:any}.{a:any}.{b:any}.": ".x" * 15_000,
}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_key_is_read_in_time_proportional_to_its_length(text):
    from time import process_time

    template, key = Template.parse(text), HOSTILE[text]
    began = process_time()
    found = template.match(key)
    assert process_time() - began < 2.5  # in its square it would be a minute
    if found is not None:
        assert template.fill(found) == key


keys = st.text(alphabet="ab.01", max_size=10)
templates = st.lists(st.sampled_from(["a", "b", ".", "{s}", "{n:int}", "{x:any}"]), min_size=1, max_size=6)


@given(key=keys, pieces=templates)
def test_the_table_and_the_regular_expression_agree(key, pieces):
    numbered = [re.sub(r"\{(\w)", rf"{{\g<1>{i}", piece) for i, piece in enumerate(pieces)]
    try:
        template = Template.parse("".join(numbered))
    except TemplateError:
        return
    found = _match_by_table(template.parts, key)
    naive = "".join(
        re.escape(p)
        if isinstance(p, str)
        else {"int": "(0|[1-9][0-9]*)", "any": "(.*?)"}.get(p.kind, "([^.]+)")
        for p in template.parts
    )
    expected = re.fullmatch(naive, key)
    assert found == (None if expected is None else expected.groups())
    assert template._spans(key) == found


@given(value=st.integers(0, 50), factor=st.integers(1, 5), offset=st.integers(0, 9))
def test_undo_is_the_inverse_of_apply(value, factor, offset):
    linear = HoleArithmetic(factor, offset)
    assert linear.undo(linear.apply(value)) == value


ATOMS = ["a", "b", "0", "1", "10", "007", "w\n", "%s", "", "\u0663", "9" * 18, "9" * 19]
KEYS = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4).map(".".join)
TEMPLATES = ["{p:any}.a", "a.{n:int}", "{s}.{n:int}.{rest:any}", "{3*n-3}.{p:any}", "{p:any}", "{s}-{t}.b"]


@given(keys=st.lists(KEYS, max_size=8), text=st.sampled_from([*TEMPLATES, "{s}.{s}", "a.b"]))
def test_matching_many_keys_is_matching_each(keys, text):
    template = Template.parse(text).with_kinds({})
    each = [(key, holes) for key in dict.fromkeys(keys) if (holes := template.match(key)) is not None]
    assert template.matching(dict.fromkeys(keys)) == each
