"""What a page needs to write an edited tree as a model file: everything that no edit changes, ready to be copied."""

from __future__ import annotations

from typing import Any

import numpy as np

from boscage.html._encode import encode_bytes
from boscage.model.file_bytes import canonical_json

_KEPT = ("schema.", "input_map.")


def model_file_parts(model: Any) -> dict[str, Any] | None:
    """Return the metadata around the layout of the tree, its possible layouts, and the tensors that stay.

    None if the estimator cannot be saved, for example because of the type of its labels. The page changes node
    tensors only, so Python's way to write numbers and names as JSON need not be written a second time.
    """
    from boscage.files import model_content, model_of

    try:
        text, tensors = model_content(model_of(model))
    except (TypeError, ValueError):
        return None
    from boscage.model.tree_tensors import layout_of

    layout = layout_of(model.tree_)
    before, after = text.split(canonical_json(layout))
    # An edit may give the leaves values of their own, and may prune the last linear test.
    bare = "sparse" if layout["weights"] == "sparse" else None
    layouts = {
        f"{'own' if own else 'node'} values, {'some' if some else 'no'} weights": canonical_json(
            {**layout, "leaf_value": own, "weights": layout["weights"] if some else bare}
        )
        for own in (False, True)
        for some in (False, True)
    }
    kept = {name: array for name, array in tensors.items() if name.startswith(_KEPT)}
    return {
        "before": before,
        "after": after,
        "layouts": layouts,
        "sparse": layout["weights"] == "sparse",
        "tensors": {
            name: {
                "dtype": "F64" if array.dtype == np.float64 else "I64" if array.dtype == np.int64 else "BOOL",
                "shape": list(array.shape),
                "bytes": encode_bytes(array),
            }
            for name, array in kept.items()
        },
    }
