"""What was set on an object that a factory makes anew does not come back: it is said."""

import textwrap

import numpy
import pytest

from packager import PackageExporter
from packager.proving import ProofError

pytestmark = pytest.mark.processes(share=3)


FACTORY = textwrap.dedent(
    """
    from kellet import nn
    import kellet
    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layer = nn.Linear(width, 1)
            self.drop = nn.Dropout(0.9)
            self.register_buffer("mask", kellet.ones(width), persistent=False)
            self.register_buffer("steps", kellet.zeros(1))
            self.scale, self.sizes, self.answers_cache = 1.0, [width], {}
        def forward(self, x):
            return self.drop(self.layer(x * self.mask)) * self.scale
    class Counter:
        def __init__(self, start): self.table, self.start = {}, start
        def learn(self, key): self.table[key] = self.start
    """
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("net.scale = 2.0", ".scale is 2.0 here and 1.0 there;"),
        ("net.eval()", ".training is False here and True there;"),
        ("net.mask[1] = 0", ".mask is float32 (3,) 1.0, 0.0, 1.0 #"),
        ("net.sizes.append(7)", ".sizes is [3, 7] here and [3] there;"),
        ("net.layer.note = 'x'", ".layer.note is 'x' here, and not there;"),
        ("net = Counter(2); net.learn('a')", ".table is {'a': 2} here and {} there;"),
    ],
)
def test_what_was_set_besides_a_factory_is_told(export, change, told):
    tree = {"made.py": FACTORY + f"\ndef given():\n    net = Net(3)\n    {change}\n    return net\n"}

    def more(exporter):
        import made

        net = made.given()
        config = {"width": 3} if isinstance(net, made.Net) else {"start": 2}
        exporter.save_object("model", "made", net, factory=type(net), config=config)

    with pytest.warns(UserWarning, match="does not come back") as found:
        export(tree, "made:1", more)
    text = str(found[0].message)
    assert f"does not come back: {told}" in text
    assert "; let the factory set it, by config= where it differs, or keep it in the state dict" in text
    assert "object model/made is made anew by its factory, and what was set" in text


@pytest.mark.parametrize(
    "change",
    [
        "net.steps.add_(1)",
        "net.layer.weight.detach().zero_()",
        "net.answers_cache['x'] = 1",
        "net(kellet.ones(3))",
    ],
)
def test_what_a_state_dict_brings_back_and_what_a_cache_holds_is_not(export, change):
    tree = {"made.py": FACTORY + f"\ndef given():\n    net = Net(3)\n    {change}\n    return net\n"}

    def more(exporter):
        import made

        exporter.save_object("model", "made", made.given(), factory=made.Net, config={"width": 3})

    exporter = export(tree, "made:1", more)
    assert exporter.proof.notes == ()


MADE = """
import numpy
class Net:
    def __init__(self): self.gain = numpy.ones(2)
    def __call__(self, x): return self.gain * x
def made():
    net = Net()
    net.gain = net.gain * 3
    return net
"""


def test_an_answer_that_hangs_on_what_was_set_beside_a_factory_is_refused_and_says_what(project, tmp_path):
    project({"madenew.py": MADE})
    import madenew

    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", madenew.made(), factory=madenew.Net)
    exporter.save_check("model", {"x": numpy.ones(2)})
    with pytest.raises(ProofError) as caught:
        exporter.close()
    [problem] = caught.value.problems
    assert problem.context.startswith("output: off by 2 at most")
    [told] = [one for one in problem.suspects if ".gain is float64 (2,) 3.0, 3.0 #" in one]
    assert told.startswith("in the proof, object model/model is made anew by its factory")
