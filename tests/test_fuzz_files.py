"""The model loader against mutated files: a short run of the fuzzer, and what longer runs found."""

import json

import numpy as np
import pytest

import boscage
from fuzz_files import GOLDEN, fuzz


def test_mutated_files_are_refused_or_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = fuzz(runs=400, seconds=120, seed=0)
    assert found["works"] > 40
    assert found["refused"] > 100


@pytest.mark.parametrize("name", ["online-flat-resume", "online-tree-resume"])
def test_averages_that_would_make_a_model_unreadable_are_refused(name, tmp_path):
    data = (GOLDEN / f"{name}.boscage").read_bytes()
    size = int.from_bytes(data[:8], "little")
    table, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size :])
    (entry,) = (entry for tensor, entry in table.items() if tensor.endswith("scorers.averages"))
    begin, end = entry["data_offsets"]
    body[begin:end] = np.full((end - begin) // 4, 1e30, np.float32).tobytes()
    (tmp_path / "m").write_bytes(data[: 8 + size] + body)
    with pytest.raises(boscage.ModelFileError, match="average of the state's scorers is out of range"):
        boscage.load(tmp_path / "m")
