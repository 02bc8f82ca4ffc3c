"""The experiments of the papers, to run again: tables and figures with the printed numbers beside ours."""

from boscage.experiments._runner import PAPERS, run

__all__ = ["PAPERS", "run"]
