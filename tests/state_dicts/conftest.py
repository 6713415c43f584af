"""Tests with PyTorch run where PyTorch is."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["test_state_dicts_torch.py"]
