"""Layers by numbers worked out by hand: what they compute, keep, and refuse. See also tests/answers."""

import math

import pytest

import kellet
from kellet import nn
from kellet.errors import ShapeError
from tests.tables import one_test


def tensor(values):
    return kellet.tensor(values, dtype=kellet.float32)


def fill(module, **values):
    """Put values into parameters and buffers by name."""
    module.load_state_dict({name: kellet.tensor(value) for name, value in values.items()}, strict=False)
    return module


# Linear and embedding


def test_linear_weighs_and_adds():
    layer = fill(nn.Linear(2, 1), weight=[[2.0, 3.0]], bias=[1.0])
    assert layer(tensor([[1.0, 1.0], [0.0, 2.0]])).tolist() == [[6.0], [7.0]]


def test_linear_starts_within_its_bounds():
    kellet.manual_seed(0)
    layer = nn.Linear(100, 50)
    bound = 1 / math.sqrt(100)
    for values in (layer.weight, layer.bias):
        assert 0.9 * bound < values.abs().max().item() <= bound


def test_linear_without_bias_registers_none():
    layer = nn.Linear(2, 1, bias=False)
    assert layer.bias is None
    assert list(layer.state_dict()) == ["weight"]


def test_linear_of_another_dtype():
    assert nn.Linear(2, 1, dtype=kellet.float64)(kellet.ones(2, dtype=kellet.float64)).dtype == kellet.float64


def test_linear_refuses_another_length_and_names_both():
    with pytest.raises(
        ShapeError, match=r"linear: input of shape \(3,\) does not fit weight of shape \(1, 2\)"
    ):
        nn.Linear(2, 1)(kellet.ones(3))


def test_there_is_one_device():
    assert nn.Linear(1, 1, device="cpu").weight.device == "cpu"
    with pytest.raises(ValueError, match="there is no device 'cuda'"):
        nn.Linear(1, 1, device="cuda")


def test_embedding_looks_rows_up_and_leaves_the_padding_row_alone():
    layer = nn.Embedding(3, 2, padding_idx=-1)
    assert layer.padding_idx == 2
    assert layer.weight[2].tolist() == [0.0, 0.0]
    output = layer(kellet.tensor([0, 2, 0]))
    assert output.tolist() == [layer.weight[row].tolist() for row in (0, 2, 0)]
    output.sum().backward()
    assert layer.weight.grad.tolist() == [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]


def test_embedding_of_a_given_table_is_frozen_unless_told():
    table = tensor([[1.0, 2.0], [3.0, 4.0]])
    frozen = nn.Embedding.from_pretrained(table)
    assert frozen.weight.requires_grad is False
    assert frozen(kellet.tensor([1])).tolist() == [[3.0, 4.0]]
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad
    with pytest.raises(ValueError, match="embeddings are expected to be 2-dimensional, got 1"):
        nn.Embedding.from_pretrained(tensor([1.0]))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Embedding(3, 2, padding_idx=3), ValueError, "within num_embeddings, got 3 of 3"),
        (lambda: nn.Embedding(3, 2, sparse=True), NotImplementedError, "sparse"),
        (lambda: nn.Embedding(3, 2, _weight=kellet.ones(2, 2)), ValueError, r"\(2, 2\).*ask for \(3, 2\)"),
        (lambda: nn.Embedding(3, 2)(kellet.tensor([3])), IndexError, "index 3 is out of range"),
    ],
)
def test_embedding_refuses(make, error, message):
    with pytest.raises(error, match=message):
        make()


# Convolution and pooling


def test_convolution_slides_its_weight():
    layer = fill(nn.Conv1d(1, 1, 2), weight=[[[1.0, 10.0]]], bias=[0.5])
    assert layer(tensor([[[1.0, 2.0, 3.0]]])).tolist() == [[[21.5, 32.5]]]
    image = fill(nn.Conv2d(1, 1, 2, bias=False), weight=[[[[1.0, 2.0], [3.0, 4.0]]]])
    assert image(tensor([[[[1.0, 1.0], [1.0, 1.0]]]])).tolist() == [[[[10.0]]]]


def test_convolution_pads_with_zeros_or_as_its_mode_says():
    x = tensor([[[1.0, 2.0, 3.0]]])
    outputs = {}
    for mode in ("zeros", "reflect", "replicate", "circular"):
        layer = nn.Conv1d(1, 1, 3, padding=1, bias=False, padding_mode=mode)
        outputs[mode] = fill(layer, weight=[[[1.0, 0.0, 0.0]]])(x).tolist()[0][0]
    assert outputs == {
        "zeros": [0.0, 1.0, 2.0],
        "reflect": [2.0, 1.0, 2.0],
        "replicate": [1.0, 1.0, 2.0],
        "circular": [3.0, 1.0, 2.0],
    }


@one_test
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "in_channels must be divisible by groups, got 3 and 2"),
        (lambda: nn.Conv2d(4, 3, 3, groups=2), "out_channels must be divisible by groups, got 3 and 2"),
        (lambda: nn.Conv2d(4, 4, 3, groups=0), "groups must be a positive integer, got 0"),
        (lambda: nn.Conv2d(1, 1, 3, padding="some"), "must be 'same' or 'valid', but got 'some'"),
        (lambda: nn.Conv2d(1, 1, 3, stride=2, padding="same"), "not supported for strided convolutions"),
        (lambda: nn.Conv2d(1, 1, 3, padding_mode="some"), "padding_mode must be one of"),
        (lambda: nn.Conv2d(1, 1, (3, 3, 3)), r"expected one number or 2, got \(3, 3, 3\)"),
    ],
)
def test_convolution_refuses(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_pooling_takes_the_largest_or_the_mean():
    x = kellet.arange(16, dtype=kellet.float32).reshape(1, 1, 4, 4)
    assert nn.MaxPool2d(2)(x).tolist() == [[[[5.0, 7.0], [13.0, 15.0]]]]
    _, places = nn.MaxPool2d(2, return_indices=True)(x)
    assert places.tolist() == [[[[5, 7], [13, 15]]]]
    assert nn.AvgPool2d(2)(x).tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]
    assert nn.AdaptiveAvgPool2d(1)(x).tolist() == [[[[7.5]]]]


# Normalization and dropout


def test_batch_norm_normalises_by_the_batch_and_remembers_it():
    layer = nn.BatchNorm1d(1)
    output = layer(tensor([[0.0], [2.0]]))
    assert output.tolist() == [[pytest.approx(-1.0, abs=1e-4)], [pytest.approx(1.0, abs=1e-4)]]
    assert layer.num_batches_tracked.item() == 1
    # A tenth of the batch's mean 1 and unbiased variance 2, nine tenths of 0 and 1.
    assert layer.running_mean.item() == pytest.approx(0.1)
    assert layer.running_var.item() == pytest.approx(1.1)


def test_batch_norm_evaluates_by_what_it_remembers():
    layer = fill(nn.BatchNorm1d(1), running_mean=[1.0], running_var=[4.0], weight=[10.0], bias=[5.0]).eval()
    assert layer(tensor([[3.0]])).tolist() == [[pytest.approx(15.0, abs=1e-4)]]
    assert layer.num_batches_tracked.item() == 0


def test_batch_norm_without_momentum_keeps_plain_means():
    layer = nn.BatchNorm1d(1, momentum=None)
    layer(tensor([[0.0], [2.0]]))
    layer(tensor([[4.0], [6.0]]))
    assert layer.running_mean.item() == pytest.approx(3.0)
    layer.reset_running_stats()
    assert (layer.running_mean.item(), layer.running_var.item(), layer.num_batches_tracked.item()) == (
        0,
        1,
        0,
    )


def test_batch_norm_without_tracking_has_no_state_for_it():
    layer = nn.BatchNorm2d(1, track_running_stats=False, affine=False).eval()
    assert list(layer.state_dict()) == []
    output = layer(tensor([[[[0.0, 2.0]]]]))
    assert output.flatten().tolist() == [pytest.approx(-1.0, abs=1e-4), pytest.approx(1.0, abs=1e-4)]


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (nn.BatchNorm1d(2), (2,), r"expected 2D or 3D input \(got 1D input\)"),
        (nn.BatchNorm2d(2), (2, 2, 2), r"expected 4D input \(got 3D input\)"),
    ],
)
def test_batch_norm_refuses_other_dimensions(layer, shape, message):
    with pytest.raises(ValueError, match=message):
        layer(kellet.ones(*shape))


def test_layer_norm_normalises_each_sample():
    layer = fill(nn.LayerNorm(2), weight=[1.0, 10.0], bias=[0.0, 5.0])
    output = layer(tensor([[1.0, 3.0], [50.0, 70.0]]))
    expected = [pytest.approx(-1.0, abs=1e-4), pytest.approx(15.0, abs=1e-3)]
    assert output.tolist() == [expected, expected]
    assert list(nn.LayerNorm(2, bias=False).state_dict()) == ["weight"]


def test_dropout_drops_while_training_only():
    kellet.manual_seed(0)
    layer, x = nn.Dropout(0.25), kellet.ones(10_000)
    output = layer(x)
    assert sorted(set(output.tolist())) == [0.0, pytest.approx(4 / 3)]
    assert output.mean().item() == pytest.approx(1.0, abs=0.03)
    assert layer.eval()(x).tolist() == x.tolist()
    with pytest.raises(ValueError, match=r"between 0 and 1, but got 1\.5"):
        nn.Dropout(1.5)


# Activations and shapes


def test_activations_of_a_few_values():
    x = tensor([-1.0, 0.0, 2.0])
    values = {
        type(layer).__name__: layer(x).tolist()
        for layer in (nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.SiLU(), nn.GELU())
    }
    expected = {
        "ReLU": [0.0, 0.0, 2.0],
        "Tanh": [math.tanh(-1), 0.0, math.tanh(2)],
        "Sigmoid": [1 / (1 + math.e), 0.5, 1 / (1 + math.exp(-2))],
        "SiLU": [-1 / (1 + math.e), 0.0, 2 / (1 + math.exp(-2))],
        "GELU": [-(1 + math.erf(-(0.5**0.5))) / 2, 0.0, 1 + math.erf(2**0.5)],
    }
    for name, numbers in expected.items():
        assert values[name] == pytest.approx(numbers, rel=1e-6, abs=1e-7), name


@pytest.mark.parametrize("kind", [nn.ReLU, nn.SiLU])
def test_activation_in_place_writes_into_its_input(kind):
    x = tensor([-1.0, 2.0])
    assert kind(inplace=True)(x) is x
    assert x.tolist() == pytest.approx(kind()(tensor([-1.0, 2.0])).tolist())


def test_softmax_over_the_given_dimension():
    x = tensor([[0.0, math.log(3.0)]])
    assert nn.Softmax(1)(x).tolist()[0] == pytest.approx([0.25, 0.75])
    assert nn.Softmax(0)(x).tolist() == [[1.0, 1.0]]
    assert nn.Softmin(1)(x).tolist()[0] == pytest.approx([0.75, 0.25])
    assert nn.LogSoftmax(1)(x).tolist()[0] == pytest.approx([math.log(0.25), math.log(0.75)])
    assert nn.Softmax()(x).tolist()[0] == pytest.approx([0.25, 0.75])


def test_flatten_and_unflatten_are_inverse():
    x = kellet.arange(24).reshape(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Flatten(0)(x).shape == (24,)
    assert nn.Unflatten(1, (3, -1))(nn.Flatten()(x)).tolist() == x.tolist()
    with pytest.raises(TypeError, match="dim must be an int, got str"):
        nn.Unflatten("features", (3, 4))


def test_identity_gives_back_the_very_input():
    x = kellet.ones(1)
    assert nn.Identity(1, two=2)(x) is x


# Attention


def test_attention_gives_output_and_weights():
    layer = nn.MultiheadAttention(4, 2)
    query, memory = kellet.randn(3, 2, 4), kellet.randn(5, 2, 4)
    output, weights = layer(query, memory, memory)
    assert output.shape == (3, 2, 4)
    assert weights.shape == (2, 3, 5)
    assert weights.sum(-1).allclose(kellet.ones(2, 3))
    assert layer(query, memory, memory, average_attn_weights=False)[1].shape == (2, 2, 3, 5)
    assert layer(query, memory, memory, need_weights=False)[1] is None
    assert layer(query, memory, memory, need_weights=False)[0].allclose(output, atol=1e-6)


def test_attention_looks_at_no_key_that_is_masked():
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    x = kellet.randn(1, 3, 4)
    causal = kellet.ones(3, 3, dtype=kellet.bool).triu(1)
    _, weights = layer(x, x, x, attn_mask=causal)
    assert weights[0].triu(1).tolist() == kellet.zeros(3, 3).tolist()
    _, weights = layer(x, x, x, key_padding_mask=kellet.tensor([[False, True, False]]))
    assert weights[0, :, 1].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda m, x: nn.MultiheadAttention(5, 2), ValueError, "multiple of num_heads, got 5 and 2"),
        (lambda m, x: m(x, x, x, is_causal=True), RuntimeError, "Need attn_mask"),
        (
            lambda m, x: m(x, x, x, attn_mask=kellet.zeros(2, 2)),
            RuntimeError,
            r"attn_mask has the shape \(2, 2\), but should be \(3, 3\)",
        ),
        (
            lambda m, x: m(x, x, x, key_padding_mask=kellet.zeros(1, 3)),
            RuntimeError,
            r"key_padding_mask has the shape \(1, 3\), but should be \(2, 3\)",
        ),
        (lambda m, x: m(x[0, 0], x, x), ValueError, "2 dimensions or, with a batch, 3; got 1"),
    ],
)
def test_attention_refuses(run, error, message):
    with pytest.raises(error, match=message):
        run(nn.MultiheadAttention(4, 2), kellet.randn(3, 2, 4))


def test_transformer_layer_takes_relu_gelu_or_a_function():
    x = kellet.randn(3, 2, 4)
    kellet.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, activation=lambda x: x * 0)
    with kellet.no_grad():
        layer.linear2.bias.fill_(0.0)
    assert layer(x).allclose(layer.norm2(layer.norm1(x + layer.self_attn(x, x, x)[0])), atol=1e-6)
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not tanh"):
        nn.TransformerEncoderLayer(4, 2, activation="tanh")


def test_transformer_encoder_has_layers_of_its_own():
    layer = nn.TransformerEncoderLayer(4, 2, 8)
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(4))
    first, second = encoder.layers
    assert first.linear1.weight is not second.linear1.weight
    assert first.linear1.weight.tolist() == layer.linear1.weight.tolist()
    assert [name for name in encoder.state_dict() if name.startswith("norm")] == ["norm.weight", "norm.bias"]


# Losses


def test_losses_reduce_to_mean_sum_or_nothing():
    x, y = tensor([1.0, 4.0]), tensor([0.0, 2.0])
    assert nn.MSELoss()(x, y).item() == 2.5
    assert nn.MSELoss(reduction="sum")(x, y).item() == 5.0
    assert nn.MSELoss(reduction="none")(x, y).tolist() == [1.0, 4.0]
    assert nn.L1Loss()(x, y).item() == 1.5
    assert nn.SmoothL1Loss()(x, y).item() == 1.0
    assert nn.HuberLoss(delta=2.0)(x, y).item() == 1.25


@pytest.mark.parametrize("kind", [nn.L1Loss, nn.MSELoss, nn.CrossEntropyLoss, nn.BCEWithLogitsLoss])
def test_losses_refuse_another_reduction(kind):
    with pytest.raises(ValueError, match="'batchmean' is not a valid reduction"):
        kind(reduction="batchmean")


def test_cross_entropy_of_classes():
    logits = tensor([[0.0, math.log(3.0)], [0.0, 0.0]])
    target = kellet.tensor([1, 0])
    expected = [-math.log(0.75), -math.log(0.5)]
    assert nn.CrossEntropyLoss(reduction="none")(logits, target).tolist() == pytest.approx(expected)
    assert nn.NLLLoss(reduction="none")(nn.LogSoftmax(1)(logits), target).tolist() == pytest.approx(expected)
    weighted = nn.CrossEntropyLoss(weight=tensor([1.0, 3.0]))
    assert weighted(logits, target).item() == pytest.approx((3 * expected[0] + expected[1]) / 4)
    assert list(weighted.state_dict()) == ["weight"]
    assert nn.CrossEntropyLoss(ignore_index=0)(logits, target).item() == pytest.approx(expected[0])


def test_binary_losses_agree():
    logits, target = tensor([-2.0, 0.5]), tensor([0.0, 1.0])
    expected = [math.log(1 + math.exp(-2)), math.log(1 + math.exp(-0.5))]
    assert nn.BCEWithLogitsLoss(reduction="none")(logits, target).tolist() == pytest.approx(expected)
    assert nn.BCELoss(reduction="none")(logits.sigmoid(), target).tolist() == pytest.approx(
        expected, rel=1e-5
    )
    heavy = nn.BCEWithLogitsLoss(reduction="none", pos_weight=tensor([1.0, 4.0]))
    assert heavy(logits, target).tolist() == pytest.approx([expected[0], 4 * expected[1]])
