import numpy as np
import pytest

from browser import browser  # noqa: F401, a fixture


@pytest.fixture
def rng():
    return np.random.default_rng(0)
