"""Children that try archives in batches, and what is learned from how they end."""

from __future__ import annotations

import gc
import json
import mmap
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from .attacking import Attack, Result, limit, several, shown, try_one
from .calls import always
from .drawing import Swap
from .harvest import Honest
from .watching import Watch

_BATCH = 400
_MEMORY = 2 << 30
_SUSPECTS, _TIMES = 12, 5
_STUCK_SECONDS, _BUSY_SECONDS = 90.0, 2.0
"""A step that takes so many seconds of the wall, or of the processor, has no end."""


class Ended(Exception):
    """A child did not come to its end: the step where, and why."""

    def __init__(self, number: int, phase: int, call: int, why: str) -> None:
        super().__init__(why)
        self.number, self.phase, self.call, self.why = number, phase, call, why


class Runner:
    """Tries archives of numbers, a batch in a child."""

    def __init__(self, attack: Attack) -> None:
        self.attack = attack
        self.folder = tempfile.mkdtemp(prefix="swapped-")
        os.mkdir(os.path.join(self.folder, "given"))
        self.guilty: dict[int, list[Swap]] = {}
        self._step = memoryview(mmap.mmap(-1, 32)).cast("q")
        gc.collect()
        gc.freeze()

    def all(self, start: int, stop: int) -> Iterator[Result]:
        """Yield what came of each number; what ended a child is tried again alone, and so is each swap."""
        number = start
        while number < stop:
            last = min(number + _BATCH, stop)
            died = None
            results: list[Result] = []
            try:
                self._in_child(number, last, None, results)
            except Ended as end:
                died = end
            for result in results:
                yield self._reduced(result)
            number = last
            if died is not None:
                yield self._of_dead(died, results)
                number = died.number + 1

    def alone(self, number: int, swaps: list[int], draw: int, times: int = 1) -> Result:
        """Try one archive, with some of its swaps, in a child of its own, several times over."""
        results: list[Result] = []
        try:
            self._in_child(number, number + 1, (swaps, draw, times), results)
        except Ended as end:
            loaded = "load" if times == 1 else "a load that follows"
            call = loaded if end.phase == 1 else self.call_name(number, draw, end.call)
            result = Result(number, outcome="died" if end.why.startswith("SIG") else "hung")
            (result.findings if end.phase == 1 or result.outcome == "died" else result.told).append(
                (call, end.why)
            )
            return result
        return results[0]

    def call_name(self, number: int, draw: int, at: int) -> str:
        """Return what the step of a number is called."""
        honest, _ = self.attack.draw(number, draw)
        names = [*always(""), *map(shown, honest.calls)]
        return names[at]

    def _of_dead(self, end: Ended, before: list[Result]) -> Result:
        draw = int(self._step[3])
        if end.why == "hangs" and end.phase == 2:  # nobody promised an end of it: told, and not tried again
            call = self.call_name(end.number, draw, end.call)
            return self._reduced(Result(end.number, outcome="hung", told=[(call, "hangs")], draw=draw))
        again = self.alone(end.number, [0, 1], draw)
        if again.outcome not in ("died", "hung"):
            again = self.alone(end.number, [0, 1], draw, _TIMES)
        again.draw = draw
        if again.outcome not in ("died", "hung"):
            call = "load" if end.phase == 1 else self.call_name(end.number, draw, end.call)
            for result in before[-_SUSPECTS:]:  # what spoils memory is seen when others use it
                suspect = self.alone(result.number, [0, 1], result.draw, _TIMES)
                suspect.draw = result.draw
                if suspect.outcome == "died":
                    return self._reduced(suspect, _TIMES)
            again.findings.append((call, f"{end.why}, not again alone"))
            return again
        return self._reduced(again)

    def _reduced(self, result: Result, times: int = 1) -> Result:
        """Say which swap alone does what two did."""
        if not result.findings and not result.told:
            return result
        _, swaps = self.attack.draw(result.number, result.draw)
        self.guilty[result.number] = swaps
        if len(swaps) > 1 and result.findings:
            whats = {what for _, what in result.findings}
            for at in range(len(swaps)):
                single = self.alone(result.number, [at], result.draw, times)
                if whats & {what for _, what in single.findings}:
                    self.guilty[result.number] = [swaps[at]]
                    break
        weight = 1.0 if result.outcome in ("died", "hung") else 0.5 if result.told else 0.0
        for swap in self.guilty[result.number]:
            key = (swap.owner, several(swap.attribute))
            self.attack.known[key] = self.attack.known.get(key, 0) + weight
        return result

    def _in_child(self, start: int, stop: int, alone: Any, results: list[Result]) -> None:
        """Try numbers in a child. Raises Ended where it dies, or is stopped as it does not come to its
        end.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as words:
            self._step[0], self._step[1], self._step[2] = start, 0, 0
            child = os.fork()
            if not child:
                self._child(start, stop, alone, out.fileno(), words.fileno())
            status = self._wait(child)
            out.seek(0)
            for line in out.read().splitlines():
                spelled = json.loads(line)
                results.append(Result(**spelled))
            if status == "done":
                return
            words.seek(max(0, words.seek(0, os.SEEK_END) - 2000))
            said = words.read().decode(errors="replace").strip().replace("\n", " ")[-1500:]
            if status == "failed":
                raise RuntimeError(said)
            raise Ended(*self._step[:3], f"{status} {_words(said)}".strip())

    def _child(self, start: int, stop: int, alone: Any, out: int, words: int) -> None:
        code = 3
        try:
            os.dup2(words, 1)
            os.dup2(words, 2)
            limit(self.folder, _MEMORY, 900)
            watch = Watch(self.folder)
            for number in range(start, stop):
                result = self._tried(watch, number, alone)
                self._step[1] = 0
                os.write(out, json.dumps(asdict(result)).encode() + b"\n")
            code = 0
        except BaseException:
            import traceback

            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(code)

    def _tried(self, watch: Watch, number: int, alone: Any) -> Result:
        """Try one archive; one that cannot be made says why."""
        try:
            honest, swaps, draw = self._drawn(number, alone)
        except Exception as error:
            return Result(number, outcome="not made", reason=repr(error)[:100])
        self._step[3] = draw
        for _ in range(1 if alone is None else alone[2]):
            result = try_one(self.attack, watch, self._step, number, honest, swaps)
        result.draw = draw
        return result

    def _drawn(self, number: int, alone: Any) -> tuple[Honest, list[Swap], int]:
        if alone is None:
            return self.attack.drawn(number)
        chosen, draw, _ = alone
        honest, swaps = self.attack.draw(number, draw)
        return honest, [swap for at, swap in enumerate(swaps) if at in chosen], draw

    def _wait(self, child: int) -> str:
        seen, since, used = -1, time.monotonic(), _cpu(child)
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            time.sleep(0.02)
            step = hash(tuple(self._step[:3]))
            if step != seen:
                seen, since, used = step, time.monotonic(), _cpu(child)
            elif _cpu(child) - used > _BUSY_SECONDS or time.monotonic() - since > _STUCK_SECONDS:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return "hangs"
        if os.WIFSIGNALED(status):
            return signal.Signals(os.WTERMSIG(status)).name
        return "done" if os.WEXITSTATUS(status) == 0 else "failed"


def _words(said: str) -> str:
    """Return what C code said when it ended the process."""
    for word in (
        "bad_alloc",
        "free()",
        "malloc",
        "double free",
        "corrupted",
        "Assertion",
        "terminate called",
    ):
        if word in said:
            return f"({word})"
    return ""


def _cpu(child: int) -> float:
    try:
        with open(f"/proc/{child}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
