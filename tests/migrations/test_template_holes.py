"""How templates are spelled: whatever text is given is a template or a TemplateError, with its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager.archive import bounds
from packager.migrations import Template
from packager.migrations.template_holes import TemplateError

pieces = st.sampled_from(
    [
        *"{}()+-*:. \t\n0179nmé²٣_",
        "{n",
        "n}",
        "{n:int}",
        "{a:any}",
        "{x+1}",
        "{3*(n-1)}",
        "**",
        "//",
        "999999999",
    ]
)
texts = st.text(max_size=30) | st.lists(pieces, max_size=30).map("".join)


@given(texts)
def test_any_text_is_a_template_or_a_template_error(text: str) -> None:
    try:
        template = Template.parse(text)
    except TemplateError as error:
        message = str(error)
        template = None
    if template is None:
        assert message.startswith("template ")
        assert message.rpartition("\n")[2].strip() == "^"
        return
    again = Template.parse(str(template))
    assert again.parts == template.parts
    assert str(again) == str(template)


@given(st.integers(-(10**6), 10**6).filter(bool), st.integers(-(10**6), 10**6), st.integers(0, 10**6))
def test_arithmetic_is_that_of_python(factor: int, offset: int, value: int) -> None:
    text = f"{{({factor})*(n - ({offset}))--n}}"
    expected = eval(text[1:-1], {"n": value})
    if factor == -1:
        with pytest.raises(TemplateError, match="has no inverse"):
            Template.parse(text)
        return
    (hole,) = Template.parse(text).holes
    assert hole.linear.apply(value) == expected


@pytest.mark.parametrize(
    ("text", "column", "found"),
    [
        ("l.{n**2}.w", 6, "expected a number or a name, found '*'"),
        ("l.{n+}.w", 6, "expected a number or a name, found the end"),
        ("l.{n 1}.w", 6, "expected an operator or the end, found '1'"),
        ("l.{(n+1}.w", 8, "expected a ')', found the end"),
        ("l.{n+01}.w", 6, "at most 18 digits that does not begin with 0"),
        ("l.{é+1}", 4, "expected a name of ASCII letters, found 'é'"),
        ("l.{n+٣}", 6, "expected a number or a name, found '٣'"),
        ("l.{n\n+1}", 5, r"expected an operator or the end, found '\n'"),
        ("l.{n:any+1}", 5, "expected an operator or the end, found ':'"),
        ("l.{}", 4, "expected a number or a name, found the end"),
        ("l.{n//2}", 5, "expected an operator or the end, found '/'"),
        ("x" * 90 + "{n!r}", 93, "found '!'"),
    ],
)
def test_the_mark_stands_below_what_is_wrong(text: str, column: int, found: str) -> None:
    with pytest.raises(TemplateError) as caught:
        Template.parse(text)
    message = str(caught.value)
    assert f"column {column}: " in message
    assert found in message
    shown, mark = message.splitlines()[-2:]
    expected = text[column - 1 : column] or ""
    assert shown[mark.index("^")] == (expected if expected.isprintable() else "?")


def test_a_template_is_read_up_to_its_bounds() -> None:
    assert len(Template.parse("x" * bounds.MAX_TEMPLATE).parts) == 1
    holes = ".".join(f"{{h{n}}}" for n in range(bounds.MAX_TEMPLATE_HOLES))
    assert len(Template.parse(holes).holes) == bounds.MAX_TEMPLATE_HOLES
    for text in ("x" * (bounds.MAX_TEMPLATE + 1), f"{holes}.{{x}}"):
        with pytest.raises(TemplateError, match="template '"):
            Template.parse(text)
    assert Template.parse(f"{{n+{10**18 - 1}}}").holes[0].linear.offset == 10**18 - 1
    with pytest.raises(TemplateError, match="numbers of at most 18 digits"):
        Template.parse(f"{{n+{10**18 - 1}+1}}")
