"""How templates are spelled: whatever text is given is a template or a TemplateError, with its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._archive import bounds
from packager._migrations import Template
from packager._migrations.templates import TemplateError

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
    for text in (
        f"{{{factor}*(n {offset:+d}){offset:+d}}}",
        f"{{ {factor} * n {offset:+d} }}",
        f"{{n{offset:+d}}}",
    ):
        (hole,) = Template.parse(text).holes
        assert hole.linear.apply(value) == eval(text[1:-1].strip(), {"n": value})


@pytest.mark.parametrize(
    "inside",
    "n**2|n+|n 1|(n+1|n+01|é+1|n+٣|n\n+1|n:any+1||n//2|n*2|-n|1-n|2*3*n|3*((n))|n+1+1|0x1*n".split("|"),
)
def test_what_is_no_arithmetic_is_told_with_its_place(inside: str) -> None:
    for before in ("l.", "x" * 90):
        with pytest.raises(
            TemplateError, match=f"column {len(before) + 1}: .* is not a hole; expected"
        ) as caught:
            Template.parse(f"{before}{{{inside}}}.w")
        shown, mark = str(caught.value).splitlines()[-2:]
        assert shown[mark.index("^")] == "{"


def test_a_template_is_read_up_to_its_bounds() -> None:
    assert len(Template.parse("x" * bounds.MAX_TEMPLATE).parts) == 1
    holes = ".".join(f"{{h{n}}}" for n in range(bounds.MAX_TEMPLATE_HOLES))
    assert len(Template.parse(holes).holes) == bounds.MAX_TEMPLATE_HOLES
    for text in ("x" * (bounds.MAX_TEMPLATE + 1), f"{holes}.{{x}}"):
        with pytest.raises(TemplateError, match="template '"):
            Template.parse(text)
    assert Template.parse(f"{{n+{10**18 - 1}}}").holes[0].linear.offset == 10**18 - 1
    with pytest.raises(TemplateError, match="the limit is 18 digits"):
        Template.parse(f"{{2*(n+{10**18 - 1})}}")
