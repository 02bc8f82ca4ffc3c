"""ONNX models of trees and forests."""

from boscage.show.onnx._convert import ensemble_model, path_table

__all__ = ["ensemble_model", "path_table"]
