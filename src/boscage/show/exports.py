"""Methods by which an estimator writes itself for other programs; a base class of every estimator with trees."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boscage.tree import Tree


class ExportMethods:
    """Exports of a fitted estimator. It reads ``tree_``, and ``classes_`` and ``exponent_`` where there are any."""

    tree_: Tree

    def _exported_trees(self) -> Sequence[Tree]:
        """Return the trees whose predictions are averaged; an estimator of several trees overrides this."""
        return [self._fitted()]  # type: ignore[attr-defined]

    def _exported_parts(self) -> tuple[Sequence[Tree], dict[str, Any]]:
        """Return the trees of one fit, though another thread may fit meanwhile, and what goes with them."""
        snapshot = copy.copy(self)
        trees = snapshot._exported_trees()
        found: dict[str, Any] = {
            "classes": getattr(snapshot, "classes_", None),
            "exponent": getattr(snapshot, "exponent_", 1.0),
        }
        found["mean"] = "geometric" if getattr(trees, "geometric", False) else "arithmetic"
        return trees, found

    def to_onnx(
        self,
        path: str | Path | None = None,
        *,
        dtype: str | None = None,
        compute: str = "float64",
        inputs: str = "auto",
    ) -> Any:
        """Export the model to ONNX; see :func:`boscage.export.to_onnx`.

        Parameters
        ----------
        path : str or path, optional
            Where to write the model. Default: return it.
        dtype : {"float64", "float32"}, optional
            Data type of the inputs. Default: that of the training data.
        compute : {"float64", "float32"}, default="float64"
            Data type used inside the model and for its probabilities.
        inputs : {"auto", "matrix", "columns"}, default="auto"
            One input ``X``, or one input for each column; "auto" means columns if the table has text.

        Returns
        -------
        onnx.ModelProto or Path
            The model, with outputs ``label`` and ``probabilities`` (a regression model has ``prediction``); or, if it
            was written to a file, the path.
        """
        from boscage.export import to_onnx

        trees, parts = self._exported_parts()
        return to_onnx(trees, path, **parts, dtype=dtype, compute=compute, inputs=inputs)

    def to_c(self, path: str | Path | None = None, *, name: str = "tree", dtype: str | None = None) -> str | Path:
        """Export the model as a single C header without dependencies; see :func:`boscage.export.to_c`.

        Parameters
        ----------
        path : str or path, optional
            Where to write the header. Default: return it as text.
        name : str, default="tree"
            Prefix of all names in the header.
        dtype : {"float64", "float32"}, optional
            Data type of a row. Default: that of the training data.

        Returns
        -------
        str or Path
            The header; or, if it was written to a file, the path.
        """
        from boscage.export import to_c

        trees, parts = self._exported_parts()
        return to_c(trees, path, **parts, name=name, dtype=dtype)

    def to_sql(self, path: str | Path | None = None, *, table: str | None = None) -> str | Path:
        """Export the model to SQL; see :func:`boscage.export.to_sql`.

        Parameters
        ----------
        path : str or path, optional
            Where to write the text. Default: return it.
        table : str, optional
            Name of a table, to get a complete query with labels and probabilities. Default: a CASE expression for the
            label.

        Returns
        -------
        str or Path
            The text; or, if it was written to a file, the path.
        """
        from boscage.export import to_sql

        trees, parts = self._exported_parts()
        return to_sql(trees, path, **parts, table=table)

    def to_javascript(self, path: str | Path | None = None) -> str | Path:
        """Export the model as a JavaScript module; see :func:`boscage.export.to_javascript`.

        Parameters
        ----------
        path : str or path, optional
            Where to write the module. Default: return it as text.

        Returns
        -------
        str or Path
            The module; or, if it was written to a file, the path.
        """
        from boscage.export import to_javascript

        trees, parts = self._exported_parts()
        return to_javascript(trees, path, **parts)
