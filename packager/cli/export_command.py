"""`packager export`: build or take an object, and write it with its code into one file."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

from packager.errors import PackagingWarning
from packager.process import place_in_model
from packager.texts import counted, in_lines

from .archives import told_with_place
from .building import (
    add_find_links,
    add_loosen,
    add_policy_options,
    add_target,
    add_trace_options,
    declared_type,
    exporter_for,
    trace_and_prune,
)
from .outputs import OR_STANDARD_OUTPUT, output_of, write_output
from .screen import print_json, print_lines, print_text, stages

_EXAMPLES = """\
examples:
  packager export mypkg.models:build --kwargs '{"width": 64}' --weights old.npz -o net.kellet
  packager export mypkg:net -o net.kellet --example x.npz --example longer.npz --takes 'mask=bool[*, *]?'
  packager export --from-pretrained tiny-gpt2/ -o net.kellet
  packager export mypkg.models:build --policy policy.toml --store factory -o net.kellet
  packager export mypkg:net -o net.kellet --input x.npz --trace-policy small.toml
  packager export mypkg:net -o net.kellet --runnable --vendor-wheels here,cp312-win_amd64

The object becomes the entry `model` of the archive. Before it is put in place it is opened in a clean
process, where nothing of the project can be imported: loaded, encoded again, its golden calls repeated.
On any error nothing is written, and an old file stays as it was.
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "export",
        description="Build an object by a factory, or take one, and write it with its code into one file.",
        epilog=_EXAMPLES,
    )
    add_target(parser, or_nothing=True)
    parser.add_argument(
        "--from-pretrained",
        type=Path,
        metavar="FOLDER",
        help="in the place of a target: a folder of transformers, peft, sentence-transformers or diffusers",
    )
    parser.add_argument(
        "--remote-code", action="store_true", help="run and store the code that lies in that folder"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the archive to write" + OR_STANDARD_OUTPUT
    )
    parser.add_argument(
        "--weights", metavar="FILE", help="load this state dict first (.npz, .safetensors, .pt)"
    )
    _add_calls(parser)
    _add_forms(parser)
    parser.add_argument("--all", action="store_true", help="list what the plan only counts, too")
    parser.add_argument("--debug", action="store_true", help="show paths of imports in errors")
    parser.add_argument("--json", action="store_true", help="print what was written for machines")
    add_trace_options(parser).add_argument(
        "--trace-policy",
        metavar="FILE",
        help="trace, and write a policy file (.toml) that stores what the call used and nothing else"
        + OR_STANDARD_OUTPUT,
    )
    add_policy_options(parser)
    add_loosen(parser)
    parser.set_defaults(run=run)


def _add_calls(parser: argparse.ArgumentParser) -> None:
    """Declare what the object is called with, and what it takes and gives."""
    parser.add_argument(
        "--example",
        action="append",
        default=[],
        metavar="FILE",
        help="call the object with these inputs (.npz, .json, .txt, or - for standard input), in evaluation "
        "mode, and store call and outputs, which are then checked; repeatable: calls of several sizes show "
        "which axes are free",
    )
    parser.add_argument(
        "--trace-calls",
        action="store_true",
        help="for --example: keep a digest and a summary of what each submodule answers, so that "
        "`packager check` can name the first that differs",
    )
    parser.add_argument("--train", action="store_true", help="for --example: modules in training mode")
    parser.add_argument(
        "--callable",
        metavar="NAME",
        help="the method that is called (default: the object itself; of an estimator predict, transform or "
        "decision_function)",
    )
    for option, what in (("takes", "a parameter"), ("gives", "a part of the answer")):
        parser.add_argument(
            f"--{option}",
            type=declared_type,
            action="append",
            default=[],
            metavar="NAME=TYPE",
            help=f"declare the type of {what}, as 'x=float32[*, 3]' or 'words=list[text]'; repeatable",
        )


def _add_forms(parser: argparse.ArgumentParser) -> None:
    """Declare how the object is stored, what goes along, and how the file is written."""
    parser.add_argument(
        "--store",
        choices=("layout", "factory"),
        default="layout",
        help="layout (default): the object as it is; factory: its factory, arguments and state dict",
    )
    parser.add_argument(
        "--digests", choices=("sha256", "crc"), default="sha256", help="crc: faster, for tensors alone"
    )
    parser.add_argument(
        "--runnable", action="store_true", help="carry the loader: `python FILE --info` works without kellet"
    )
    parser.add_argument(
        "--vendor-wheels",
        action="append",
        default=[],
        metavar="TARGETS",
        help="carry the wheels of what is left to the target: here, or cp311-manylinux_2_28_x86_64,cp312-...",
    )
    add_find_links(parser)
    parser.add_argument(
        "--no-proof",
        action="store_true",
        help="do not open the archive in a clean process before it is put in place",
    )
    parser.add_argument("--no-fsync", action="store_true", help="do not wait for the disk")


def run(options: argparse.Namespace) -> int:
    """Write the archive, and say what was written."""
    with output_of(options.output, is_text=False) as output, output_of(options.trace_policy) as policy:
        return _export(options, output, policy)


def _export(options: argparse.Namespace, output: Any, policy: Any) -> int:
    from packager.calls import load_inputs

    # Once, and before code of the model is run: a trace saves the same again.
    options.inputs = [load_inputs(file) for file in options.example]
    _require_one_source(options)
    obj = None if options.from_pretrained else _built(options)
    more: dict[str, Any] = {"prove": False} if options.no_proof else {}
    with stages() as show, warnings.catch_warnings():
        warnings.simplefilter("ignore", PackagingWarning)  # the plan that is printed says it
        exporter = exporter_for(
            options,
            output,
            debug=options.debug,
            digests=options.digests,
            fsync=not options.no_fsync,
            runnable=options.runnable,
            vendor_wheels=options.vendor_wheels,
            find_links=options.find_links,
            **more,
        )
        exporter.progress = show
        with exporter, told_with_place(options.target or f"--from-pretrained {options.from_pretrained}"):
            _save(exporter, obj, options)
            offer = ""
            if options.trace or policy:  # against what the archive will hold, served modules among it
                offer = _offer(exporter.plan(prove=not options.no_proof), obj, options, policy)
    plan = exporter.plan()
    if offer:
        print_lines(offer, to=sys.stderr)
    if options.json:
        for told in filter(None, (plan.concerns(), plan.unchecked_text())):
            print_text(told, to=sys.stderr)
        print_json(
            {
                "file": str(options.output),
                "identity": exporter.identity,
                "size": plan.size,
                "cost": plan.cost(),
            }
        )
    else:
        from packager.sizes import size_text

        print_text(plan.text(whole=options.all))
        stored = counted(sum(entry.kind == "source" for entry in plan.entries), "module")
        print_lines(
            f"{options.output}: {stored}, {size_text(plan.size)}",
            f"    identity {exporter.identity}",
        )
    return 0


def _require_one_source(options: argparse.Namespace) -> None:
    """Raise ArgumentError unless there is a target or a folder, and what goes with it."""
    from packager.errors import ArgumentError

    if (options.target is None) is (options.from_pretrained is None):
        raise ArgumentError("expected a TARGET, or --from-pretrained FOLDER, and not both")
    given = {
        "--weights": options.weights,
        "--kwargs": options.kwargs,
        "--store factory": options.store == "factory",
        "--callable": options.callable,
        "--trace": options.trace or options.trace_policy,
    }
    odd = [name for name, value in given.items() if value]
    if options.from_pretrained and odd:
        raise ArgumentError(f"--from-pretrained: found {', '.join(odd)}, which needs a target")
    if options.output == options.trace_policy == "-":
        raise ArgumentError("-o - --trace-policy -: one of them can go to standard output; name a file")
    if options.remote_code and not options.from_pretrained:
        raise ArgumentError("--remote-code: expected --from-pretrained FOLDER beside it")


def _built(options: argparse.Namespace) -> Any:
    """The object to export, with its weights."""
    from packager.calls import TargetError, put_folder_on_path, resolve_target

    put_folder_on_path()
    obj = resolve_target(options.target, options.kwargs)
    if options.store == "factory" and obj is resolve_target(options.target):
        raise TargetError(f"--store factory: {options.target} is an object, no factory")
    if options.weights is not None:
        _load_weights(obj, options.weights)
    return obj


def _save(exporter: Any, obj: Any, options: argparse.Namespace) -> None:
    from packager.calls import default_method

    if options.from_pretrained:
        from packager.pretrained import example_inputs

        obj = exporter.save_pretrained(options.from_pretrained, remote_code=options.remote_code)
        options.inputs = options.inputs or [one for one in [example_inputs(obj)] if one]
    elif options.store == "factory":
        exporter.save_object("model", "model", obj, factory=options.target, config=options.kwargs)
    else:
        exporter.save_object("model", "model", obj)
    method = options.callable or (default_method(obj) if options.inputs else None)
    if method is not None or options.takes or options.gives:
        declared = {"takes": dict(options.takes), "gives": dict(options.gives)}
        exporter.save_entry("model", "model", "model", method, **declared)
    for number, inputs in enumerate(options.inputs, start=1):
        name = "model" if number == 1 else f"model-{number}"
        exporter.save_check(name, inputs, training=options.train, entry="model", trace=options.trace_calls)


def _offer(plan: Any, obj: Any, options: argparse.Namespace, target: Any) -> str:
    """What a trace of the call found, and the policy for that call alone: as text, or in a file."""
    comparison, policy = trace_and_prune(plan, options, lambda other: _save(other, obj, options))
    if target is None:
        said = "a policy for this call alone; --trace-policy FILE writes it:"
        return in_lines(str(comparison), said, "", *policy.splitlines())
    write_output(target, [policy])
    said = f"a policy for this call alone is in {options.trace_policy}: give it to --policy"
    return in_lines(str(comparison), said)


def _load_weights(obj: Any, path: str) -> None:
    from packager.calls import TargetError, load_weights
    from packager.errors import PackageError

    try:
        load_weights(obj, path)
    except PackageError:
        raise
    except Exception as error:  # what the model's own load_state_dict raises
        place = place_in_model(error)
        if isinstance(error, OSError) and not place:
            raise
        raise TargetError(f"--weights {path}: {error}{place}") from error
