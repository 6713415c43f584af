"""The main job: a model leaves one process and gives the same answers in another, where its code is not."""

import sys

import numpy as np
import pytest

from packager import PackageImporter, PickleRefusedError, UntrustedTypeError
from packager._cli.main import main
from tests import processes

EXPORT = """
    import warnings
    import kellet, flownet
    from packager import PackageExporter, PackagingWarning

    warnings.simplefilter("ignore", PackagingWarning)  # of pickles, gradients and names to trust
    kellet.manual_seed(0)
    net = flownet.build()
    x = kellet.arange(8, dtype=kellet.float32).reshape(2, 4)
    net(x)
    net.eval()
    with PackageExporter(r"{target}", policy="auto") as exporter:
        {saves}
    print(net(x).detach().numpy().tobytes().hex())
"""
LOAD = """
    import importlib.util
    import kellet
    from packager import PackageImporter

    assert importlib.util.find_spec("flownet") is None
    x = kellet.arange(8, dtype=kellet.float32).reshape(2, 4)
    with PackageImporter(r"{target}") as importer:
        {loads}
"""


@pytest.fixture
def target(tmp_path):
    return tmp_path / "net.kellet"


def export(run, project, target, saves, **options) -> str:
    return run(EXPORT.format(target=target, saves=saves), project, **options)


def load(run, target, loads) -> str:
    return run(LOAD.format(target=target, loads=loads))


SHOW = "print(net(x).detach().numpy().tobytes().hex())"


def test_an_object_gives_the_same_bits_in_another_process(run, project, target):
    expected = export(run, project, target, 'exporter.save_object("model", "model", net)')
    loads = (
        f'net = importer.load_object("model", "model"); {SHOW}; '
        "print(net.words, net.block.calls, net.head.tied is net.first.bias, net.training)"
    )
    # The hook that the module registered on itself came along, and counts this call as the third.
    assert load(run, target, loads) == expected + "['cat', 'dog', 'bird'] 2 True False\n"


def test_a_factory_and_its_state_give_the_same_bits(run, project, target):
    saves = 'exporter.save_object("model", "model", net, factory=flownet.build, config={"width": 6})'
    expected = export(run, project, target, saves)
    assert load(run, target, f'net = importer.load_object("model", "model"); net.eval(); {SHOW}') == expected


def test_a_state_dict_loads_into_a_module_of_the_archive(run, project, target):
    saves = 'exporter.save_module("flownet"); exporter.save_state_dict("weights", "net", net)'
    expected = export(run, project, target, saves)
    loads = (
        'net = importer.import_module("flownet").build(); '
        'net.load_state_dict(importer.load_state_dict("weights", "net", as_="kellet")); net.eval(); ' + SHOW
    )
    assert load(run, target, loads) == expected


def test_training_goes_on_bit_for_bit_with_the_optimisers_state(run, project, target):
    step = "opt.zero_grad(); net(x).sum().backward(); opt.step(); "
    saves = (
        f"net.train(); opt = kellet.optim.AdamW(net.parameters()); {step}"
        f'exporter.save_object("model", "both", (net, opt)); exporter.close(); {step} net.eval()'
    )
    expected = export(run, project, target, saves)
    assert (
        load(run, target, f'net, opt = importer.load_object("model", "both"); {step}net.eval(); {SHOW}')
        == expected
    )


def test_two_processes_and_hash_seeds_give_the_same_bytes(run, project, target, tmp_path):
    saves = 'exporter.save_object("model", "model", net); exporter.save_state_dict("w", "w", net)'
    other = tmp_path / "moved"
    project.rename(other)
    export(run, other, target, saves, seed="1")
    first = target.read_bytes()
    second = tmp_path / "another name.kellet"
    other.rename(project)
    export(run, project, second, saves, seed="2")
    assert second.read_bytes() == first


def test_re_export_of_a_loaded_object_gives_the_same_bytes(run, project, target, tmp_path):
    export(run, project, target, 'exporter.save_object("model", "model", net)')
    again = tmp_path / "again.kellet"
    loads = f"""
        from packager import PackageExporter, sys_importer
        net = importer.load_object("model", "model")
        with PackageExporter(r"{again}", importer=(importer, sys_importer), policy="auto") as exporter:
            exporter.save_object("model", "model", net)
    """
    load(run, target, loads)
    assert again.read_bytes() == target.read_bytes()


def test_pickles_are_refused_unless_allowed(run, project, target):
    expected = export(run, project, target, 'exporter.save_pickle("model", "net.pkl", net)')
    with PackageImporter(target) as importer, pytest.raises(PickleRefusedError, match="allow_pickle=True"):
        importer.load_pickle("model", "net.pkl")
    loads = f"""
        with PackageImporter(r"{target}", allow_pickle=True) as trusting:
            net = trusting.load_pickle("model", "net.pkl"); {SHOW}
    """
    assert load(run, target, loads) == expected


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_a_factory_outside_the_archive_must_be_trusted(tmp_path):
    from packager import PackageExporter

    target = tmp_path / "f.kellet"
    with PackageExporter(target, policy="auto") as exporter:
        exporter.save_object("m", "m", None, factory="collections:Counter", config={"red": 2})
    with (
        PackageImporter(target) as importer,
        pytest.raises(UntrustedTypeError, match='trust=\\["collections:Counter"\\]'),
    ):
        importer.load_object("m", "m")
    with PackageImporter(target, trust=["collections:Counter"]) as importer:
        assert importer.load_object("m", "m") == {"red": 2}


def test_the_command_exports_runs_checks_and_extracts(project, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    np.savez(tmp_path / "x.npz", x=np.arange(8, dtype=np.float32).reshape(2, 4))
    target = tmp_path / "net.kellet"
    options = ["--kwargs", '{"width": 6}', "--example", str(tmp_path / "x.npz"), "-o", str(target)]
    done = processes.run(
        [sys.executable, "-m", "packager", "export", "flownet:build", *options],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert main(["check", str(target), "--tolerance", "0"]) == 0
    assert main(["run", str(target), "--input", str(tmp_path / "x.npz"), "-o", str(tmp_path / "y.npz")]) == 0
    assert main(["extract", str(target), str(tmp_path / "out")]) == 0
    assert main(["check", str(tmp_path / "out")]) == 0
    with np.load(tmp_path / "y.npz") as answer:
        assert answer["output"].shape == (2, 3)
    printed = capsys.readouterr().out
    assert "model: output: the same bits" in printed
    assert main(["extract", str(target), str(tmp_path / "out")]) == 1
    assert "not an empty folder" in capsys.readouterr().err


def test_an_optional_import_may_be_there_when_exporting_and_absent_when_loading(run, tmp_path, target):
    project, site = tmp_path / "project", tmp_path / "site"
    project.mkdir()
    (site / "extra_speed-1.0.dist-info").mkdir(parents=True)
    (site / "extra_speed-1.0.dist-info" / "METADATA").write_text("Name: extra-speed\nVersion: 1.0\n")
    (site / "extra_speed-1.0.dist-info" / "RECORD").write_text("extra_speed.py,,\n")
    (site / "extra_speed.py").write_text("FAST = True\n")
    (project / "fastnet.py").write_text(
        "try:\n    from extra_speed import FAST\nexcept ImportError:\n    FAST = False\n"
        "class Net:\n    def __call__(self):\n        return FAST\n"
    )
    export = f"""
        import sys
        sys.path.append(r"{site}")
        import fastnet
        from packager import PackageExporter

        with PackageExporter(r"{target}", policy="auto") as exporter:
            exporter.save_object("model", "model", fastnet.Net())
        print(fastnet.Net()())
    """
    assert run(export, project) == "True\n"
    load = f"""
        import warnings
        from packager import PackageImporter

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            with PackageImporter(r"{target}") as importer:
                print(importer.load_object("model", "model")())
        print(str(seen[0].message).splitlines()[1].strip())
    """
    assert run(load) == "False\nextra-speed: recorded 1.0 (extra-speed>=1.0,<2), optional, found nothing\n"
