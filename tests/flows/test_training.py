"""Real training, from data to held-out accuracy, with fixed seeds."""

import copy

import numpy as np
import pytest
from sklearn.datasets import load_digits

import kellet
from kellet import nn
from kellet.optim import SGD, AdamW


@pytest.fixture(scope="module")
def digits():
    """Pixels from 0 to 1 and classes, (train_x, train_y, test_x, test_y), a quarter held out."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    x = (data.data[order] / 16).astype(np.float32)
    y = data.target[order].astype(np.int64)
    n = len(x) * 3 // 4
    return tuple(kellet.from_numpy(part) for part in (x[:n], y[:n], x[n:], y[n:]))


def train(net, optimizer, x, y, epochs, batch=64):
    loss_of = nn.CrossEntropyLoss()
    losses = []
    rng = np.random.default_rng(1)
    net.train()
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), batch):
            rows = kellet.from_numpy(order[start : start + batch])
            optimizer.zero_grad()
            loss = loss_of(net(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    return losses


def accuracy(net, x, y):
    net.eval()
    with kellet.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def test_mlp_reads_digits_it_has_not_seen(digits):
    train_x, train_y, test_x, test_y = digits
    kellet.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10))
    losses = train(net, SGD(net.parameters(), lr=0.2, momentum=0.9), train_x, train_y, epochs=40)
    assert losses[-1] < 0.1 < losses[0]
    assert accuracy(net, test_x, test_y) > 0.97


def test_cnn_reads_digits_it_has_not_seen(digits):
    train_x, train_y, test_x, test_y = digits
    kellet.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )
    images = train_x.reshape(-1, 1, 8, 8)
    train(net, AdamW(net.parameters(), lr=3e-3), images, train_y, epochs=10)
    assert accuracy(net, test_x.reshape(-1, 1, 8, 8), test_y) > 0.97


class Reverser(nn.Module):
    """A transformer of two layers that says at each place which symbol stands there when read backwards."""

    def __init__(self, symbols, length, width):
        super().__init__()
        self.symbols = nn.Embedding(symbols, width)
        self.places = nn.Parameter(kellet.randn(length, width) * 0.1)
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(width))
        self.head = nn.Linear(width, symbols)

    def forward(self, x):
        return self.head(self.encoder(self.symbols(x) + self.places))


@pytest.mark.long
def test_transformer_of_two_layers_reverses_sequences_exactly():
    symbols, length = 10, 8
    rng = np.random.default_rng(0)

    def batch(n):
        x = rng.integers(0, symbols, (n, length))
        return kellet.from_numpy(x), kellet.from_numpy(x[:, ::-1].copy())

    kellet.manual_seed(0)
    net = Reverser(symbols, length, width=32)
    optimizer = AdamW(net.parameters(), lr=3e-3)
    loss_of = nn.CrossEntropyLoss()
    for _ in range(400):
        x, y = batch(64)
        optimizer.zero_grad()
        loss_of(net(x).reshape(-1, symbols), y.reshape(-1)).backward()
        optimizer.step()
    net.eval()
    x, y = batch(500)
    with kellet.no_grad():
        assert (net(x).argmax(-1) == y).all().item()


def test_training_goes_on_where_a_saved_state_left_it(digits):
    train_x, train_y, _, _ = digits

    def start():
        kellet.manual_seed(0)
        net = nn.Sequential(nn.Linear(64, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 10))
        return net, AdamW(net.parameters(), lr=1e-2)

    straight, optimizer = start()
    train(straight, optimizer, train_x, train_y, epochs=1)
    # What state_dict() returns shares memory with its owner, who goes on training.
    saved, saved_optimizer = copy.deepcopy((straight.state_dict(), optimizer.state_dict()))
    resumed, other = start()
    resumed.load_state_dict(saved)
    other.load_state_dict(saved_optimizer)
    train(straight, optimizer, train_x, train_y, epochs=1)
    train(resumed, other, train_x, train_y, epochs=1)
    for name, value in straight.state_dict().items():
        assert value.tolist() == resumed.state_dict()[name].tolist(), name
