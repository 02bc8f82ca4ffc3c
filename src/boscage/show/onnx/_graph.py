"""Writing ONNX graphs: operators become method calls, constants are stored once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

OPSET = 18
IR_VERSION = 8
ML = "ai.onnx.ml"


class GraphWriter:
    """Collects nodes and constants of a graph.

    Parameters
    ----------
    real : dtype
        float32 or float64: the type of every computation.

    Attributes
    ----------
    prefix : str
        Put before the names of constants, so that the trees of a forest have their own.
    """

    def __init__(self, real: npt.DTypeLike) -> None:
        self.real = np.dtype(real)
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.prefix = ""
        self._ml_opset = 0

    def op(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add an operator with one output and return the output's name."""
        from onnx import helper

        output = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def named(self, output: str, name: str) -> str:
        """Give the output of the last operator a name; others cannot have used it yet."""
        assert self.nodes[-1].output[0] == output
        self.nodes[-1].output[0] = name
        return name

    def ml_op(self, kind: str, *inputs: str, opset: int = 3, **attributes: Any) -> str:
        """Add an operator of the machine-learning domain, which the model then needs in that version."""
        self._ml_opset = max(self._ml_opset, opset)
        return self.op(kind, *inputs, domain=ML, **attributes)

    def constant(self, name: str, array: Any) -> str:
        """Store an array under a name, or find it there; real numbers take the graph's type."""
        return self._stored(self.prefix + name, array)

    def _stored(self, name: str, array: Any) -> str:
        from onnx import numpy_helper

        if name not in self.constants:
            plain = np.asarray(array)
            plain = plain.astype(self.real) if plain.dtype.kind == "f" else plain
            # Not np.ascontiguousarray, which gives a single number a dimension.
            self.constants[name] = numpy_helper.from_array(np.asarray(plain, order="C"), name)
        return name

    def number(self, value: float) -> str:
        """Store a single real number."""
        return self._stored(f"number_{value!r}", np.array(value, np.float64))

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

        opsets = [helper.make_opsetid("", OPSET)]
        if self._ml_opset:
            opsets.append(helper.make_opsetid(ML, self._ml_opset))
        graph = helper.make_graph(self.nodes, "tree", inputs, outputs, list(self.constants.values()), about)
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="boscage",
            producer_version=__version__,
        )
        helper.set_model_props(model, metadata)
        onnx.checker.check_model(model, full_check=True)
        return model
