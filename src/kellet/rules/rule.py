"""What a rule is: an operation on arrays and its derivative, side by side; the table of all of them.

A rule knows NumPy arrays only. It is written like this:

    def _mul(xp, ctx, g):
        a, b = ctx.inputs
        return (
            g * xp.conj(b) if ctx.needs[0] else None,
            g * xp.conj(a) if ctx.needs[1] else None,
        )

    rule("mul", np.multiply, _mul, saves=((1,), (0,)), promote=SAME)

**forward(*inputs, **options)** takes ndarrays (Python numbers stay what they are where promotion
allows it, absent optional inputs are None) and returns one ndarray, or a tuple of them. It must not
change its inputs. Results of shape () may come back as NumPy scalars; the caller wraps them.

**backward(xp, ctx, *grads)** gets one gradient per output and returns a tuple with one gradient per
input, None where there is none. It is written ONCE and runs at two levels: on ndarrays, where `xp`
holds the raw kernels, and on Tensors with a graph (`create_graph=True`), where `xp` holds the same
names as differentiable operations. So it uses only operators (`g * b`, `-g`, `g @ b`, `a > b`) and
`xp.<name of a rule>(...)`, with the options spelt as the rule's forward spells them, and nothing
that only an ndarray or only a Tensor has. Besides the rules `xp` offers
  `xp.raw`          True on arrays: a fused derivative may take a short cut there;
  `xp.constant(x)`  an ndarray (a mask, indexes) as a value of this level;
  `xp.array(x)`     the ndarray behind a value of this level, outside the graph.
`xp.conj` of a real value is that value. Multiply by conjugates as PyTorch's convention wants:
the gradient of `f` at `z` is `conj(df/dz) * g` for holomorphic `f`.

**What a derivative need not do.** Each gradient is summed to its input's shape, cast to its dtype and
reduced to its real part where the input is real, before it is handed on. So broadcasting and
promotion never show up in a rule; a gradient may have any shape that broadcasting made of the
input's.

**saves** says what the derivative reads: for each input, in order, the values that the gradient of
*this* input needs. `0, 1, ...` are inputs, `OUT` (-1) is the output, -2 the second output, ...
`mul`: the gradient of input 0 reads input 1 and the other way round, so `saves=((1,), (0,))`;
`exp`: `saves=((OUT,),)`. Only what is really needed for the inputs that require a gradient is kept,
and everything else is None in `ctx`. Inputs beyond the end of `saves` need nothing.

**ctx** has
  `inputs`   the saved inputs (None where not saved; numbers and None as they were given);
  `output`, `outputs`   the saved output, all of them;
  `options`  the keyword arguments of forward, a dict;
  `shapes`   the shapes of the inputs, when the rule says `shapes=True`;
  `needs`    one flag per input: whether its gradient is asked for. Skip what is not;
  `kept`     what forward kept, when the rule says `keeps=True`.

**Options** are keyword-only, not differentiable, and stored as they are: axes, flags, slices, index
arrays. An axis comes in normalised: not negative, checked.

**Integer inputs** (indexes) are ordinary inputs that never need a gradient: return None for them.
An output that is not of floating or complex dtype never requires one either; its entry in `grads`
is None. A floating output whose gradient did not arrive is given as zeros.

**Several outputs**: `outputs=n`, or `outputs=None` when the number depends on the call; forward
then returns a tuple.

**keeps=True**: forward is called with a dict as its first argument, in which it leaves what the
derivative wants to find (a mask, argmax positions, reciprocal deviations), or with None where no
derivative will be asked for: then it need not make what it would leave. The result is the same, to
the bit. Kept values are ndarrays at both levels, so on Tensors they are constants: use what depends
smoothly on the inputs only where `xp.raw`, and compute it anew from the saved inputs where not.
`xp.<name>` of such a rule is called without the dict.

**view=True**: forward returns a view of input 0 where NumPy can. Versions, in-place history and
bases are kept by the caller.

**In-place** variants (`add_`) need nothing from a rule: the caller computes, writes, and rebases the
history. If the derivative reads input 0, the old value is copied first.

**promote**: how inputs of different dtypes meet. `SAME` brings all to the common dtype (arithmetic,
comparisons, where, cat), `FLOAT` also takes integers to the default floating dtype (exp, mean,
true division), `EQUAL` refuses tensors of different dtypes, as PyTorch does for products and losses,
None leaves every input alone (views, indexing, reductions that keep the dtype).

**fresh=True** promises that no array the derivative returns at the raw level shares memory with a
gradient it was given, with a saved value or with another one it returns. Then gradients need no copy
on their way into `.grad`. `g * b` is fresh; `g`, `-g if x else g`, a view of `g` are not.

**last_first** says that hooks of saved values see those of the last input first, as in PyTorch, where
they go by the names `other` and `self`. It changes nothing else.

**refuses** names the kinds of dtypes (`"b"`: bools, `"c"`: complex numbers) that are refused before
anything is promoted, where NumPy would give an answer and PyTorch has none: an order of complex
numbers, a difference of bools.

NumPy's floating-point warnings (log of 0, overflow) are kept down, forward and backward (`quiet.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from importlib import import_module
from typing import Any

FAMILIES = (
    "arithmetic shape reductions copying matmul selection powers functions activations extrema indexing"
    " softmax losses special normalization convolution pooling attention linalg"
).split()
"""The files with rules, what is used most first. One is imported when a rule is asked for that no file
before it has."""

OUT = -1
"""In `saves`: the (first) output. The second is -2, and so on."""


class Promotion(Enum):
    """How inputs of different dtypes are brought together before forward runs."""

    SAME = "same"
    FLOAT = "float"
    EQUAL = "equal"


SAME = Promotion.SAME
FLOAT = Promotion.FLOAT
EQUAL = Promotion.EQUAL


class Rule:
    """One operation: forward on ndarrays and its derivative. The fields are described at the top.

    It is no dataclass, which would be made, with what `dataclasses` imports, at every `import kellet`.

    >>> RULES["log_softmax"].label
    'LogSoftmaxBackward0'
    """

    __slots__ = (
        "_wanted",
        "backward",
        "forward",
        "fresh",
        "keeps",
        "label",
        "last_first",
        "name",
        "outputs",
        "promote",
        "refuses",
        "saves",
        "shapes",
        "view",
    )

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        backward: Callable[..., tuple[Any, ...]] | None,
        saves: tuple[tuple[int, ...], ...] = (),
        shapes: bool = False,
        promote: Promotion | None = None,
        outputs: int | None = 1,
        keeps: bool = False,
        view: bool = False,
        fresh: bool = False,
        refuses: str = "",
        last_first: bool = False,
        label: str = "",
    ) -> None:
        self.name = name
        self.forward = forward
        self.backward = backward
        self.saves = saves
        self.shapes = shapes
        self.promote = promote
        self.outputs = outputs
        self.keeps = keeps
        self.view = view
        self.fresh = fresh
        self.refuses = refuses
        self.last_first = last_first
        self.label = label
        self._wanted: dict[tuple[bool, ...], tuple[int, ...]] = {}

    def __repr__(self) -> str:
        return f"Rule({self.name!r})"

    def wanted(self, needs: tuple[bool, ...]) -> tuple[int, ...]:
        """Return which values the derivative reads when the inputs flagged in `needs` want a gradient.

        Inputs come first, in order, then outputs.
        """
        found = self._wanted.get(needs)
        if found is None:
            used = {which for need, reads in zip(needs, self.saves, strict=False) if need for which in reads}
            found = tuple(sorted(used, key=lambda which: (which < 0, abs(which))))
            self._wanted[needs] = found
        return found


class Context:
    """What a derivative finds of its forward run; see the top of this file."""

    __slots__ = ("inputs", "kept", "needs", "options", "outputs", "shapes")

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    options: dict[str, Any]
    shapes: tuple[tuple[int, ...], ...]
    needs: tuple[bool, ...]
    kept: dict[str, Any]

    @property
    def output(self) -> Any:
        return self.outputs[0]


class Table(dict[str, Rule]):
    """Rules by name. Asking for one imports files until it is there, the first time.

    Raises KeyError where none has it.
    """

    def __missing__(self, name: str) -> Rule:
        for family in FAMILIES:
            import_module(f"{__package__}.{family}")
            if name in self:
                return self[name]
        raise KeyError(name)


RULES = Table()
"""Every rule by its name. Walking the table shows those that were asked for so far: see `every_rule`."""


def every_rule() -> Table:
    """Return the table with all of its rules in it.

    >>> "erf" in every_rule()
    True
    """
    for family in FAMILIES:
        import_module(f"{__package__}.{family}")
    return RULES


def rule(
    name: str,
    forward: Callable[..., Any],
    backward: Callable[..., tuple[Any, ...]] | None = None,
    *,
    label: str = "",
    **fields: Any,
) -> Rule:
    """Put a rule into the table and return it; `fields` are those of `Rule`.

    Its nodes are called `label`, by default the name in PyTorch's manner: `log_softmax` becomes
    `LogSoftmaxBackward0`.

    Raises ValueError for a name that is taken.
    """
    if name in RULES:
        raise ValueError(f"rule {name!r} is in the table already; give the new one another name")
    label = label or "".join(part.capitalize() for part in name.split("_")) + "Backward0"
    made = Rule(name, forward, backward, label=label, **fields)
    RULES[name] = made
    return made


class Namespace:
    """The `xp` of one level: every rule by name, looked up when first asked for.

    `bind` turns a rule into the function of this level.

    >>> float(raw.exp(0.0))
    1.0
    """

    def __init__(
        self,
        bind: Callable[[Rule], Callable[..., Any]],
        *,
        raw: bool,
        constant: Callable[[Any], Any],
        array: Callable[[Any], Any],
    ) -> None:
        self._bind = bind
        self.raw = raw
        self.constant = constant
        self.array = array

    def __getattr__(self, name: str) -> Any:
        try:
            found = RULES[name]
        except KeyError:
            raise AttributeError(f"no rule is called {name!r}; the rules are in kellet/rules/") from None
        function = self._bind(found)
        setattr(self, name, function)
        return function


def _bind_raw(found: Rule) -> Callable[..., Any]:
    if not found.keeps:
        return found.forward
    forward = found.forward
    return lambda *inputs, **options: forward(None, *inputs, **options)


def _same(value: Any) -> Any:
    return value


raw = Namespace(_bind_raw, raw=True, constant=_same, array=_same)
"""The kernels on ndarrays."""
