"""scikit-learn's callbacks (1.9 and newer): what a fit tells them. Where none are set, nothing happens.

``CallbackSupport`` and ``with_callbacks`` are scikit-learn's own, or empty where it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])

_sklearn: Any = import_module("sklearn.callback") if find_spec("sklearn.callback") is not None else None
FRAMES = 0 if _sklearn is None else 1
"""Stack frames that ``with_callbacks`` puts between a fit and its caller, for warnings."""


class _NoCallbacks:
    """Nothing to support: scikit-learn before 1.9."""


CallbackSupport: Any = _NoCallbacks if _sklearn is None else _sklearn.CallbackSupportMixin


def with_callbacks(method: Method) -> Method:
    """Let a fit tear its callbacks down however it ends."""
    return method if _sklearn is None else cast("Method", _sklearn.with_callbacks(method))


class FitTask:
    """The fit of an estimator as its callbacks see it: a root task, perhaps with steps.

    Parameters
    ----------
    estimator : estimator
        With `CallbackSupport`.
    X, y, sample_weight
        What it is fitted to.
    steps : int, default=0
        Number of steps at most; 0 if they are not told apart.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any, steps: int = 0) -> None:
        self._estimator = estimator
        self._facts = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        self._context: Any = None
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=steps)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._facts)

    def step(self, name: str, work: Callable[[], Any]) -> bool:
        """Do one step of the fit; true if a callback wants it to be the last."""
        if self._context is None:
            work()
            return False
        step = self._context.subcontext(task_name=name)
        step.call_on_fit_task_begin(estimator=self._estimator, **self._facts)
        work()
        return bool(step.call_on_fit_task_end(estimator=self._estimator, **self._facts))

    def end(self) -> None:
        """Tell that the fit is done; callbacks may look at the fitted estimator."""
        if self._context is None:
            return
        self._context.call_on_fit_task_end(
            estimator=self._estimator, reconstruction_attributes=self._fitted, **self._facts
        )

    def _fitted(self) -> dict[str, Any]:
        given = self._estimator.get_params(deep=False)
        return {
            name: value
            for name, value in vars(self._estimator).items()
            if name not in given and not name.startswith(("_skl", "_callback", "_parent_callback"))
        }


@contextmanager
def fit_task(estimator: Any, X: Any, y: Any, sample_weight: Any, steps: int = 0) -> Iterator[FitTask]:
    """Announce a fit and its end, which is not announced if it fails."""
    task = FitTask(estimator, X, y, sample_weight, steps)
    yield task
    task.end()
