import signal

import numpy as np
import pytest
from hypothesis import settings

from browser import browser  # noqa: F401, a fixture

# A busy machine is slow, and the same examples every time.
settings.register_profile("quiet", deadline=None, derandomize=True)
settings.load_profile("quiet")


def pytest_configure():
    """Tests send Ctrl-C, which a process started in the background of a shell ignores, with all its children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
