"""A first draft of a migration: what takes the keys of an old checkpoint to those of a model, with reasons.

Prefixes come first, then families of keys with one shape and like names, then values that are fused on
one side and apart on the other, then what seems to be left over. Every step says why; what could not be
placed is said as well. A draft is for people to read: nothing is applied that they did not ask for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from packager._migrations import (
    Header,
    Migration,
    NameSimilarity,
    Step,
    Transpose,
    Values,
    apply_steps,
    choice_of,
    default,
    drop,
    format_migration,
    headers_of,
    near_names,
    open_keys_of,
    rename,
    stored_values,
)
from packager._quick_dataclasses import dataclass
from packager._texts import counted
from packager.errors import MigrationError

from .draft_steps import old_template, rules_for
from .matching import (
    MOST_LETTERS,
    MOST_STEPS,
    Effort,
    Family,
    Pair,
    by_words,
    families,
    matched,
    number_free,
    single,
)
from .parts import Part, fused, fused_by_name

# Buffers that are computed, not learned; a model that lacks them makes them itself.
_COMPUTED = (
    "num_batches_tracked position_ids token_type_ids attn_mask relative_position_index relative_coords_table "
    "n_averaged inv_freq masked_bias total_ops total_params version _float_tensor"
).split()
_WRAPPERS = {"module": "DistributedDataParallel or AveragedModel", "_orig_mod": "torch.compile"}


@dataclass(frozen=True)
class SuggestedMigration:
    """A draft: the migration, a reason for each step, old keys without a place, new keys without a value.

    `guesses` are what shapes and places alone say of these: there is no step for them. `given_up` says what
    was not tried, where keys are left and too many have little in common. `beside` is what else lies in the
    file, where the migration's `unwrap` says which of several state dicts is meant.
    """

    migration: Migration
    reasons: tuple[str, ...]
    unplaced: tuple[str, ...]
    missing: tuple[str, ...]
    given_up: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every old key has a place and every new key a value."""
        return not self.unplaced and not self.missing

    def __str__(self) -> str:
        """Return the draft as a migration file, with the reasons as comments."""
        return format_migration(self.migration, self.reasons, self._remarks())

    def _remarks(self) -> str:
        lines = []
        for title, keys in (
            ("Other contents of the file (`unwrap` above names the state dict that is used):", self.beside),
            ("Old keys without a match (write a rename or a drop for each):", self.unplaced),
            ("New keys without a value (write a rename or a default for each):", self.missing),
            ("Possible pairs, by shape or order only; if they are right, write a rename:", self.guesses),
            ("Not tried, to stay within seconds:", self.given_up),
        ):
            if keys:
                lines += [title, *(f"    {key}" for key in keys)]
        return "\n".join(lines)


def suggest_migration(old: Mapping[str, Any], target: object, name: str = "suggested") -> SuggestedMigration:
    """Return a draft that takes the state dict `old` to the keys and shapes of `target`.

    `target` is a module, or a mapping as its state dict is. No values are read. Where `old` is one of several
    state dicts in a file, the draft says which, so that `migrate` opens the same one.

    >>> import numpy as np
    >>> old = {"module.fc.kernel": np.zeros((2, 3)), "module.fc.b": np.zeros(3)}
    >>> new = {"fc.weight": np.zeros((3, 2)), "fc.bias": np.zeros(3)}
    >>> draft = suggest_migration(old, new)
    >>> [step.old.text for step in draft.migration.steps], draft.is_complete
    (['module.{rest:any}', 'fc.kernel', 'fc.b'], True)
    """
    draft = _Draft(stored_values(old), headers_of(target), open_keys_of(target))
    draft.unwrap()
    draft.move_prefixes()
    draft.rename_families()
    draft.finish()
    choice = choice_of(old)
    migration = Migration(name, draft.steps, unwrap=choice)
    unplaced = tuple(key for key in draft.values if not draft.is_placed(key))
    missing = tuple(key for key in draft.target if key not in draft.values)
    given_up = tuple(draft.effort.given_up.values()) if unplaced or missing else ()
    guesses = tuple(draft.guesses(missing))
    beside = tuple(f"{part.path}: {part.what}" for part in getattr(old, "left_out", ()) if choice)
    return SuggestedMigration(migration, tuple(draft.reasons), unplaced, missing, given_up, guesses, beside)


class _Draft:
    """The steps so far, and what the old keys have become by them."""

    def __init__(
        self, values: Values, target: Mapping[str, Header | None], open_keys: frozenset[str]
    ) -> None:
        self.values = values
        self.target = target
        self._open = open_keys
        self.steps: list[Step] = []
        self.reasons: list[str] = []
        self.unsure: list[Pair] = []
        self.unsure_parts: list[Part] = []
        self.effort = Effort()

    def add(self, step: Step, reason: str) -> None:
        """Carry out one more step."""
        self.values, _ = apply_steps([step], self.values)
        self.steps.append(step)
        self.reasons.append(reason)

    def is_placed(self, key: str) -> bool:
        """Say whether a key is one of the target, with its shape."""
        wanted, found = self.target.get(key), self.values[key].header
        if wanted is None or found is None:
            return key in self.target
        return wanted.shape == found.shape

    def unplaced(self) -> dict[str, Header | None]:
        """Return the keys that are not where they belong."""
        return {key: value.header for key, value in self.values.items() if not self.is_placed(key)}

    def _order(self) -> dict[str, int]:
        return {key: at for at, key in enumerate(self.values)}

    def _headers(self) -> dict[str, Header | None]:
        return {key: value.header for key, value in self.values.items()}

    def wanted(self) -> dict[str, Header | None]:
        """Return the keys of the target that nothing has yet."""
        return {
            key: header
            for key, header in self.target.items()
            if key not in self.values or not self.is_placed(key)
        }

    # --- wrappers and prefixes ---

    def unwrap(self) -> None:
        """Take out what wrappers put into names."""
        for segment, wrapper in _WRAPPERS.items():
            if any(segment in key.split(".") for key in self.target):
                continue
            if any(key.startswith(f"{segment}.") for key in self.values):
                step = rename(f"{segment}.{{rest:any}}", "{rest}", repeat=True)
                self._try(step, f"{wrapper} puts {segment!r} before every name")
            if any(f".{segment}." in key for key in self.values):
                step = rename(f"{{a:any}}.{segment}.{{b:any}}", "{a}.{b}", repeat=True)
                self._try(step, f"{wrapper} puts {segment!r} into names")

    def move_prefixes(self) -> None:
        """Replace prefixes, as long as that brings keys to their places."""
        for _ in range(8):
            found = self._best_prefix()
            if found is None:
                return
            (old, new), count, rivals = found
            step = rename(f"{_literal(old)}{{rest:any}}", f"{_literal(new)}{{rest}}")
            what = f"prefix {old!r} becomes {new!r}" if old and new else f"prefix {old or new!r} "
            what += "" if old and new else ("goes away" if old else "is new")
            what += f": {counted(count, 'key')} of the same name and shape"
            if rivals:
                what += f"; {' and '.join(map(repr, rivals[:3]))} would fit as well: check it"
            if not self._try(step, what):
                return

    def _best_prefix(self) -> tuple[tuple[str, str], int, list[str]] | None:
        """Return what prefix becomes which, so that most keys come to their places; how many; its equals."""
        behind: dict[str, list[tuple[str, str]]] = {}
        for key in self.wanted():
            for prefix, rest in _cuts(key):
                behind.setdefault(rest, []).append((prefix, key))
        unplaced = self.unplaced()
        cost = sum(len(behind.get(rest, ())) for key in unplaced for _, rest in _cuts(key))
        many = "prefixes were not compared: too many keys end alike"
        if not self.effort.allows("prefixes", cost, many):
            return None
        gains: Counter[tuple[str, str]] = Counter()
        for key, header in unplaced.items():
            for prefix, rest in _cuts(key):
                for new, wanted in behind.get(rest, ()):
                    there = self.target[wanted]
                    if prefix and new and number_free(prefix) != prefix:
                        continue  # numbers that move are for whole families to say
                    is_open = wanted in self._open
                    if is_open or (header is not None and there is not None and header.shape == there.shape):
                        gains[prefix, new] += 1
        placed_below = Counter(
            prefix for key in self.values if key not in unplaced for prefix, _ in _cuts(key)
        )
        for (old, new), count in sorted(gains.items(), key=lambda item: (-item[1], len(item[0][0]))):
            placed = placed_below[old]
            if count > max(placed, 1) or (count == 1 == len(unplaced) and not placed):
                rivals = [
                    one for (one, to), also in gains.items() if (to, also) == (new, count) and one != old
                ]
                return (old, new), count, rivals
        return None

    def _try(self, step: Step, reason: str) -> bool:
        """Add a step, unless it makes two keys one or takes a key from its place."""
        kept, placed = self.values, sum(map(self.is_placed, self.values))
        try:
            self.values, _ = apply_steps([step], kept)
        except MigrationError:
            return False
        if sum(map(self.is_placed, self.values)) < placed:
            self.values = kept
            return False
        self.steps.append(step)
        self.reasons.append(reason)
        return True

    # --- families ---

    def rename_families(self) -> None:
        """Rename what is alike; then cut, join, and rename once more what is left of families."""
        order = self._order()
        there = {key: at for at, key in enumerate(self.target)}
        unplaced, wanted = self.unplaced(), self.wanted()
        olds = self._short([one for one in families(self._headers(), order) if _meets(one, unplaced)])
        news = self._short([one for one in families(self.target, there) if _meets(one, wanted)])
        named = fused_by_name(olds, news, self.effort)
        olds, news = _beside(olds, named), _beside(news, named)
        pairs = matched(olds, news, self.effort)
        olds, news = _without(olds, pairs), _without(news, pairs)
        parts, self.unsure_parts = fused(olds, news, self.effort)
        olds, news = _beside(olds, parts), _beside(news, parts)
        parts = [*named, *parts]
        more = matched(olds, news, self.effort)
        olds = [one for family in _without(olds, more) for one in by_words(family)]
        news = [one for family in _without(news, more) for one in by_words(family)]
        more += matched(olds, news, self.effort)
        olds = [one for family in _without(olds, more) for one in single(family) if one.pattern in unplaced]
        news = [one for family in _without(news, more) for one in single(family) if one.pattern in wanted]
        pairs += [*more, *matched(olds, news, self.effort, by_order=True)]
        self.unsure = [pair for pair in pairs if not pair.is_told_by_names]
        pairs = _turned_like_their_neighbours([pair for pair in pairs if pair.is_told_by_names])
        for part in parts if self._affords(parts, "steps would cut or join values") else ():
            self.add(part.step, part.because)
        for step, reason in rules_for(pairs, self.values, self.effort):
            self.add(step, reason)

    def guesses(self, missing: Sequence[str]) -> Iterator[str]:
        """Yield what shapes and places say of keys that are left, and the likest names for the others."""
        left = set(missing)
        for pair in self.unsure:
            for old, new in pair.keys().items():
                if new in left and old in self.values:
                    left.discard(new)
                    yield f"{old} -> {new}  ({pair.because})"
        for part in self.unsure_parts:
            if all(family.key(numbers) in self.values for family in part.olds for numbers in family.members):
                left -= {family.key(numbers) for family in part.news for numbers in family.members}
                yield f"{part.step.what}  ({part.because})"
        if left:
            wanted = {key: self.target[key] for key in missing if key in left}
            for near in near_names(self.unplaced(), wanted, self._open):
                yield f"{near.unexpected} -> {near.missing}  ({near.because})"
            yield from self._turned(wanted)

    def _turned(self, wanted: Mapping[str, Header | None]) -> Iterator[str]:
        """Yield for each key the left-over matrix with the likest name that has its shape, turned round."""
        left = self.unplaced()
        of_shape: dict[tuple[int, ...], list[str]] = {}
        for key, header in left.items():
            if header is not None and len(set(header.shape)) == 2 == len(header.shape):
                of_shape.setdefault(header.shape[::-1], []).append(key)
        found = {new: of_shape.get(header.shape, []) for new, header in wanted.items() if header is not None}
        cost = sum(map(len, found.values()))
        if not self.effort.allows(
            "turned", cost, "transposed shapes were not compared: too many matrices are left over"
        ):
            return
        similarity = NameSimilarity([*left, *wanted])
        for new, olds in found.items():
            if olds:
                old = max(olds, key=lambda one: similarity(one, new))
                yield f"{old} -> {new}  (transposed: transforms = [{{ transpose = true }}])"

    def _short(self, found: list[Family]) -> list[Family]:
        """Leave out families whose names are too long to be compared."""
        short = [family for family in found if len(family.pattern) <= MOST_LETTERS]
        if len(short) < len(found):
            many = f"names of more than {MOST_LETTERS} characters were not compared"
            self.effort.given_up["letters"] = many
        return short

    def finish(self) -> None:
        """Drop and add what is computed anyway, and drop everything once the target lacks nothing."""
        missing = [key for key in self.target if key not in self.values]
        for name in _COMPUTED:
            keys = [key for key in self.unplaced() if key.rpartition(".")[2] == name]
            if keys:
                self._drop(keys, _templates(keys, name))
            if name == "num_batches_tracked":
                self._add_counters([key for key in missing if key.rpartition(".")[2] == name])
        if any(key not in self.values for key in self.target):
            return
        left = families(self.unplaced(), self._order())
        for family in left if self._affords(left, "kinds of keys are left over") else ():
            reason = "left over: the target does not need it"
            self.add(drop(old_template(family)[0]), reason)

    def _affords(self, steps: Sequence[object], what: str) -> bool:
        """Say whether so many steps may be carried out; each carries every key."""
        many = f"{len(steps):,} {what}: too many to write a step for each"
        return self.effort.allows("steps", len(steps) * len(self.values), many, MOST_STEPS)

    def _drop(self, keys: Sequence[str], templates: Sequence[str]) -> None:
        """Drop keys by templates; by closer ones where these would take others from their places."""
        reason = f"{counted(len(keys), 'buffer')} that the model computes, and the target does not store"
        if [template for template in templates if not self._try(drop(template), reason)]:
            left = {key: self.values[key].header for key in keys if key in self.values}
            found = families(left, self._order())
            for family in found if self._affords(found, "kinds of buffers are left over") else ():
                self._try(drop(old_template(family)[0]), reason)

    def _add_counters(self, keys: list[str]) -> None:
        siblings = [key.rpartition(".")[0] + ".running_mean" for key in keys]
        if keys and all(sibling in self.values for sibling in siblings):
            step = default(
                "{p:any}.num_batches_tracked",
                0,
                shape=(),
                dtype="int64",
                like="{p:any}.running_mean",
            )
            self._try(step, f"{counted(len(keys), 'counter')} that batch norms have since version 2")


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _cuts(key: str) -> Iterator[tuple[str, str]]:
    """Yield a key cut behind none, one, two or three of its segments."""
    yield "", key
    at = -1
    for _ in range(3):
        at = key.find(".", at + 1)
        if at < 0:
            return
        yield key[: at + 1], key[at + 1 :]


def _meets(family: Family, keys: Mapping[str, object]) -> bool:
    """Say whether one of the family's keys is among these."""
    return any(family.key(numbers) in keys for numbers in family.members)


def _without(families: list[Family], pairs: list[Pair]) -> list[Family]:
    used = {id(family) for pair in pairs for family in (pair.old, pair.new)}
    return [family for family in families if id(family) not in used]


def _beside(families: list[Family], parts: Sequence[Part]) -> list[Family]:
    used = {id(family) for part in parts for family in (*part.olds, *part.news)}
    return [family for family in families if id(family) not in used]


def _templates(keys: list[str], name: str) -> list[str]:
    """Return templates for buffers of one name, at the root and below."""
    inside = any("." in key for key in keys)
    return [*([f"{{p:any}}.{name}"] if inside else []), *([name] if name in keys else [])]


def _turned_like_their_neighbours(pairs: list[Pair]) -> list[Pair]:
    """Turn square values round where those beside them are: they themselves say nothing of it."""
    votes: dict[tuple[str, ...], set[bool]] = {}
    for pair in pairs:
        if not _is_square(pair):
            for kind in _kinds(pair):
                votes.setdefault(kind, set()).add(pair.transforms == (Transpose(),))
    found = []
    for pair in pairs:
        votes_here = [votes[kind] for kind in _kinds(pair) if kind in votes] if _is_square(pair) else []
        if votes_here and votes_here[0] == {True} and not pair.transforms:
            because = "square, and transposed like its neighbours: check it"
            pair = Pair(pair.old, pair.new, pair.maps, (Transpose(),), pair.score, because)
        found.append(pair)
    return found


def _kinds(pair: Pair) -> list[tuple[str, ...]]:
    """Return what a pair has in common with its neighbours: the last two names, or the last one."""
    old, new = pair.old.pattern.split("."), pair.new.pattern.split(".")
    return [(*old[-2:], "->", *new[-2:]), (old[-1], "->", new[-1])]


def _is_square(pair: Pair) -> bool:
    return all(len(header.shape) == 2 and len(set(header.shape)) == 1 for header in pair.old.members.values())
