"""A small hand for writing ONNX graphs: operators become method calls, constants are stored once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

OPSET = 18
IR_VERSION = 8


class GraphWriter:
    """Collects nodes and constants of a graph.

    Parameters
    ----------
    real : dtype
        float32 or float64: the type of every computation.
    """

    def __init__(self, real: npt.DTypeLike) -> None:
        self.real = np.dtype(real)
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def op(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add an operator with one output and return the output's name."""
        from onnx import helper

        output = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def constant(self, name: str, array: Any) -> str:
        """Store an array under a name, or find it there; real numbers take the graph's type."""
        from onnx import numpy_helper

        if name not in self.constants:
            plain = np.asarray(array)
            plain = plain.astype(self.real) if plain.dtype.kind == "f" else plain
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(plain), name)
        return name

    def number(self, value: float) -> str:
        """Store a single real number."""
        return self.constant(f"number_{value!r}", np.array(value, np.float64))

    def gather(self, table: str, index: str, axis: int = 0) -> str:
        """Entries of a table."""
        return self.op("Gather", table, index, axis=axis)

    def choose(self, condition: str, yes: str, no: str) -> str:
        """Truth values by condition; runtimes know ``Where`` only for numbers."""
        return self.op("Or", self.op("And", condition, yes), self.op("And", self.op("Not", condition), no))

    def model(self, inputs: list[Any], outputs: list[Any], metadata: dict[str, str], about: str) -> Any:
        """Finish: a checked ModelProto."""
        import onnx
        from onnx import helper

        from boscage import __version__

        graph = helper.make_graph(self.nodes, "tree", inputs, outputs, list(self.constants.values()), about)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="boscage",
            producer_version=__version__,
        )
        helper.set_model_props(model, metadata)
        onnx.checker.check_model(model, full_check=True)
        return model
