"""`kellet export`: build or take an object, and write it with its code into one file."""

from __future__ import annotations

import argparse
import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

from packager._process import place_in_model
from packager._texts import counted, in_lines
from packager.errors import PackagingWarning

from .archives import add_signing, told_with_place
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
from .screen import print_json, print_lines, print_text, stages, with_options

EPILOG = """\
examples:
  kellet export mypkg.models:build --kwargs '{"width": 64}' --weights old.npz -o net.kellet
  kellet export mypkg:net -o net.kellet --example x.npz --example longer.npz --takes 'mask=bool[*, *]?'
  kellet export --from-pretrained tiny-gpt2/ -o net.kellet
  kellet export mypkg.models:build --policy policy.toml --store factory -o net.kellet
  kellet export mypkg:net -o net.kellet --input x.npz --trace-policy small.toml
  kellet export mypkg:net -o net.kellet --runnable --vendor-wheels here,cp312-win_amd64

The object becomes the entry `model` of the archive. Before the file appears, a clean process that cannot
import the project opens it, loads everything, compares it, and repeats the examples. On any error nothing is
written, and an old file stays as it was.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    add_target(parser, or_nothing=True)
    parser.add_argument(
        "--from-pretrained",
        type=Path,
        metavar="FOLDER",
        help="instead of TARGET: a folder of transformers, peft, sentence-transformers or diffusers",
    )
    parser.add_argument("--remote-code", action="store_true", help="run and store the code in that folder")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the archive to write" + OR_STANDARD_OUTPUT
    )
    parser.add_argument(
        "--weights", metavar="FILE", help="load this state dict first (.npz, .safetensors, .pt)"
    )
    _add_calls(parser)
    _add_forms(parser)
    parser.add_argument("--all", action="store_true", help="also list what the plan only counts")
    parser.add_argument("--debug", action="store_true", help="show paths of imports in errors")
    parser.add_argument("--json", action="store_true", help="print what was written for machines")
    add_trace_options(parser).add_argument(
        "--trace-policy",
        metavar="FILE",
        help="trace, and write a policy file (.toml) that stores only what the call used"
        + OR_STANDARD_OUTPUT,
    )
    add_policy_options(parser)
    add_loosen(parser)


def _add_calls(parser: argparse.ArgumentParser) -> None:
    """Declare what the object is called with, and what it takes and gives."""
    parser.add_argument(
        "--example",
        action="append",
        default=[],
        metavar="FILE",
        help="call the object with these inputs (.npz, .json, .txt, or - for standard input) in evaluation "
        "mode, and store inputs and outputs for `kellet check`; repeatable: several sizes show which "
        "axes are free",
    )
    parser.add_argument(
        "--trace-calls",
        action="store_true",
        help="for --example: keep a summary of the outputs of each submodule, so that `kellet check` can "
        "name the first that differs",
    )
    parser.add_argument("--train", action="store_true", help="for --example: modules in training mode")
    parser.add_argument(
        "--callable",
        metavar="NAME",
        help="the method to call (default: the object itself; of an estimator predict, transform or "
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
        "--runnable",
        action="store_true",
        help="store the loader, too: `python FILE --info` works without kellet",
    )
    parser.add_argument(
        "--vendor-wheels",
        action="append",
        default=[],
        metavar="TARGETS",
        help="store the wheels of required packages, too, for these targets: here, or "
        "cp311-manylinux_2_28_x86_64,cp312-...",
    )
    add_find_links(parser)
    add_signing(parser, "--sign")
    parser.add_argument(
        "--provenance",
        action="store_true",
        help="store author, git commit and remote in the archive; a signature always states them",
    )
    parser.add_argument(
        "--no-proof",
        action="store_true",
        help="do not open the archive in a clean process before the file appears",
    )
    parser.add_argument("--no-fsync", action="store_true", help="do not wait for the disk")


def run(options: argparse.Namespace) -> int:
    """Write the archive, and say what was written."""
    with output_of(options.output, is_text=False) as output, output_of(options.trace_policy) as policy:
        return _export(options, output, policy)


def _export(options: argparse.Namespace, output: Any, policy: Any) -> int:
    from packager._calls import load_inputs

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
            sign=_signer(options),
            by=options.by,
            provenance=options.provenance,
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
            print_text(with_options(told), to=sys.stderr)
        print_json(
            {
                "file": str(options.output),
                "identity": exporter.identity,
                "size": plan.size,
                "cost": plan.cost(),
            }
        )
    else:
        from packager._texts import size_text

        print_text(with_options(plan.text(whole=options.all)))
        stored = counted(sum(entry.kind == "source" for entry in plan.entries), "module")
        print_lines(
            f"{options.output}: {stored}, {size_text(plan.size)}",
            f"    identity {exporter.identity}",
            *(["    signed"] if options.sign else []),
        )
    return 0


def _signer(options: argparse.Namespace) -> Any:
    """Return who signs the archive, if anybody."""
    if options.sign is None:
        if options.cert or (options.by and not options.provenance):
            from packager.errors import ArgumentError

            raise ArgumentError("--by needs --sign or --provenance, and --cert needs --sign")
        return None
    from packager._signing import Signer

    return Signer.of(options.sign, cert=options.cert, by=options.by)


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
        raise ArgumentError(
            "-o - --trace-policy -: only one of them can go to standard output. Name a file for the other"
        )
    if options.remote_code and not options.from_pretrained:
        raise ArgumentError("--remote-code needs --from-pretrained FOLDER")


def _built(options: argparse.Namespace) -> Any:
    """The object to export, with its weights."""
    from packager._calls import TargetError, put_folder_on_path, resolve_target

    put_folder_on_path()
    obj = resolve_target(options.target, options.kwargs)
    if options.store == "factory" and obj is resolve_target(options.target):
        raise TargetError(
            f"--store factory: {options.target} is an object. A factory is a class or function that makes one"
        )
    if options.weights is not None:
        _load_weights(obj, options)
    return obj


def _save(exporter: Any, obj: Any, options: argparse.Namespace) -> None:
    from packager._calls import default_method

    if options.from_pretrained:
        from packager._pretrained import example_inputs

        obj = exporter.save_pretrained(options.from_pretrained, remote_code=options.remote_code)
        options.inputs = options.inputs or [one for one in [example_inputs(obj)] if one]
    elif options.store == "factory":
        exporter.save_object("model", "model", obj, factory=options.target, config=options.kwargs)
    else:
        exporter.save_object("model", "model", obj)
    method = options.callable or (default_method(obj) if options.inputs else None)
    if method is not None or options.takes or options.gives:
        declared = {"takes": dict(options.takes), "gives": dict(options.gives)}
        exporter.save_entry_point("model", "model", "model", method, **declared)
    for number, inputs in enumerate(options.inputs, start=1):
        name = "model" if number == 1 else f"model-{number}"
        exporter.save_example(name, inputs, training=options.train, entry="model", trace=options.trace_calls)


def _offer(plan: Any, obj: Any, options: argparse.Namespace, target: Any) -> str:
    """What a trace of the call found, and the policy for that call alone: as text, or in a file."""
    comparison, policy = trace_and_prune(plan, options, lambda other: _save(other, obj, options))
    if target is None:
        said = "a policy for this call alone; --trace-policy FILE writes it:"
        return in_lines(str(comparison), said, "", *policy.splitlines())
    write_output(target, [policy])
    said = f"a policy for this call alone is in {options.trace_policy}: give it to --policy"
    return in_lines(str(comparison), said)


def _load_weights(obj: Any, options: argparse.Namespace) -> None:
    from packager._calls import TargetError, load_weights
    from packager.errors import PackageError

    path = options.weights
    try:
        load_weights(obj, path)
    except PackageError:
        raise
    except Exception as error:  # what the model's own load_state_dict raises
        place = place_in_model(error)
        if isinstance(error, OSError) and not place:
            raise
        first, *rest = f"{error}{place}".splitlines()
        draft = f"kellet suggest-migration {shlex.quote(path)} {options.target} -o migration.toml"
        told = [f"--weights {path}: {first}", *(f"    {one.strip()}" for one in rest)]
        raise TargetError(in_lines(*told, f"To have the keys renamed, draft a migration: {draft}")) from error
