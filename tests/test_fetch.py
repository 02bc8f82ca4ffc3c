"""Data sets of the papers are fetched from a server, compared with fingerprints, and named where they are missing."""

import bz2
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

from boscage.cli import app
from boscage.datasets import _fetch, load_dataset
from boscage.datasets._fetch import Source, catalogue, fetch, fingerprints, how_to_get, import_libsvm
from boscage.experiments._runner import PAPERS, run, sets_of

ARFF = """@relation little
@attribute size numeric
@attribute colour {red, blue, green}
@attribute class {no, yes}
@data
1.5,red,yes
-2,green,no
0.25,blue,yes
7,red,no
"""
X = np.array([[1.5, 0], [-2, 2], [0.25, 1], [7, 0]])
ONE_HOT = np.array([[1.5, 1, 0, 0], [-2, 0, 0, 1], [0.25, 0, 1, 0], [7, 1, 0, 0]])


class Server(BaseHTTPRequestHandler):
    """As much of OpenML as scikit-learn asks for."""

    def do_GET(self):
        path = urlsplit(self.path).path
        column = {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
        features = [
            {"index": "0", "name": "size", "data_type": "numeric", "is_target": "false", **column},
            {"index": "1", "name": "colour", "data_type": "nominal", "is_target": "false", **column},
            {"index": "2", "name": "class", "data_type": "nominal", "is_target": "true", **column},
        ]
        description = {
            **{"id": "7", "name": "little", "version": "3", "format": "ARFF", "licence": "CC BY 4.0", "file_id": "9"},
            **{"description": "", "md5_checksum": hashlib.md5(ARFF.encode()).hexdigest(), "status": "active"},
            "url": "https://www.openml.org/data/v1/download/9/little.arff",
        }
        count = {"name": "NumberOfInstances", "value": "4.0"}
        listed = {"did": 7, "name": "little", "version": 3, "status": "active", "format": "ARFF"}
        answers = {
            "/api/v1/json/data/list": {"data": {"dataset": [listed]}},
            "/api/v1/json/data/features/7": {"data_features": {"feature": features}},
            "/api/v1/json/data/qualities/7": {"data_qualities": {"quality": [count]}},
            "/api/v1/json/data/7": {"data_set_description": description},
        }
        found = next((value for start, value in answers.items() if path.startswith(start)), None)
        if "data_name/little" not in path and path.startswith("/api/v1/json/data/list"):
            found = None
        body = ARFF.encode() if path.startswith("/data/v1/download/9") else json.dumps(found).encode()
        ok = found is not None or path.startswith("/data/v1/download/9")
        self.send_response(200 if ok else 412)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def openml(monkeypatch, tmp_path):
    """A server on this machine takes the place of OpenML."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    def here(request, *args, **kwargs):
        url = urlsplit(request.full_url)
        assert url.hostname.endswith("openml.org")
        address = f"http://127.0.0.1:{server.server_port}{url.path}" + (f"?{url.query}" if url.query else "")
        return urlopen(Request(address, headers=dict(request.header_items())), *args, **kwargs)

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", here)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "scikit-learn"))
    monkeypatch.delenv("BOSCAGE_DATA", raising=False)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def known(monkeypatch, rows=X, y=(1, 0, 1, 0), **changes):
    """A catalogue of one set, ``tiny``, which is ``little`` on OpenML."""
    empty = {"feature_names": (), "target_names": (), "n_train": None, "categorical_features": (), "categories": ()}
    data = _fetch.Dataset(X=rows, y=np.array(y), origin="", **empty)
    exact, any_order = fingerprints(data)
    values = {"name": "tiny", "rows": rows.shape[0], "features": rows.shape[1], "classes": 2, "exact": exact,
              "any_order": any_order, "openml": "little", "version": 3, "one_hot": False, "licence": "CC BY 4.0",
              "how": "ask for it"}  # fmt: skip
    monkeypatch.setattr(_fetch, "catalogue", lambda: {"tiny": Source(**(values | changes))})


def test_a_set_is_fetched_and_found_again(openml, monkeypatch, tmp_path):
    known(monkeypatch)
    found = fetch("tiny", tmp_path / "data")
    assert found.agreement == "the arrays of the published page"
    monkeypatch.setenv("BOSCAGE_DATA", str(tmp_path / "data"))
    data = load_dataset("tiny")
    np.testing.assert_array_equal(data.X, X)
    assert data.target_names == ("no", "yes")
    assert data.categories == (None, ("red", "blue", "green"))
    assert "little version 3" in data.origin
    assert data.origin.endswith("licence: CC BY 4.0")
    assert fingerprints(data) == fingerprints(found.data)


def test_categories_become_columns(openml, monkeypatch, tmp_path):
    known(monkeypatch, rows=ONE_HOT, one_hot=True)
    found = fetch("tiny", tmp_path)
    assert found.agreement == "the arrays of the published page"
    assert found.data.feature_names == ("size", "colour=red", "colour=blue", "colour=green")
    np.testing.assert_array_equal(load_npz(found.path), ONE_HOT)


def load_npz(path):
    with np.load(path) as arrays:
        return arrays["X"]


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (X[::-1], (0, 1, 0, 1), "in another order"),
        (X, (1, 1, 0, 0), "in another order"),
        (X + 1, (1, 0, 1, 0), "same size, other numbers"),
        (X[:3], (1, 0, 1), "4 × 2 instead of 3 × 2"),
    ],
)
def test_other_arrays_are_noticed(openml, monkeypatch, tmp_path, rows, y, message):
    known(monkeypatch, rows=rows, y=y)
    assert message in fetch("tiny", tmp_path).agreement


def test_what_cannot_be_fetched(openml, monkeypatch, tmp_path):
    known(monkeypatch, openml="unheard-of")
    with pytest.raises(LookupError, match="'unheard-of' is not embedded"):
        fetch("tiny", tmp_path)
    known(monkeypatch, openml=None)
    with pytest.raises(LookupError, match=r"'tiny' cannot be fetched \(CC BY 4.0\). By hand: ask for it"):
        fetch("tiny", tmp_path)
    with pytest.raises(LookupError, match="'other' is in no paper"):
        fetch("other", tmp_path)
    assert list(tmp_path.glob("*.npz")) == []


def test_the_commands(openml, monkeypatch, tmp_path):
    known(monkeypatch)
    result = CliRunner().invoke(app, ["data", "fetch", "tiny", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert result.stdout.strip() == str(tmp_path / "tiny.npz")
    assert "the arrays of the published page" in result.stderr
    assert CliRunner().invoke(app, ["data", "fetch", "tiny"]).exit_code == 1, "no folder"
    failed = CliRunner().invoke(app, ["data", "fetch", "other", "tiny", "--out", str(tmp_path)])
    assert failed.exit_code == 1
    assert failed.stdout.strip() == str(tmp_path / "tiny.npz"), "the others are fetched all the same"
    listed = CliRunner().invoke(app, ["data", "list"])
    assert listed.stdout == "tiny\t4 × 2\tCC BY 4.0\tnot found: boscage data fetch tiny\n"
    monkeypatch.setenv("BOSCAGE_DATA", str(tmp_path))
    assert CliRunner().invoke(app, ["data", "list"]).stdout.split("\t")[-1] == "found\n"
    assert CliRunner().invoke(app, ["data", "fetch", "all"]).stdout == "", "all that are missing: none"


def test_libsvm_files_are_converted(monkeypatch, tmp_path):
    known(monkeypatch, rows=np.array([[0.5, 0], [0, 2.0], [1, 1]]), y=(0, 1, 1))
    (tmp_path / "train").write_text("-1 1:0.5\n+1 2:2\n")
    (tmp_path / "test.bz2").write_bytes(bz2.compress(b"+1 1:1 2:1\n"))
    found = import_libsvm("tiny", [tmp_path / "train", tmp_path / "test.bz2"], tmp_path)
    assert found.agreement == "the arrays of the published page"
    assert found.data.n_train == 2
    assert found.data.target_names == ("-1", "1")
    result = CliRunner().invoke(app, ["data", "import", "tiny", str(tmp_path / "train"), "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert "2 × 2 instead of 3 × 2" in result.stderr
    result = CliRunner().invoke(app, ["data", "import", "small", str(tmp_path / "train"), "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "'small' is not known; choose from tiny" in result.stderr
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    result = CliRunner().invoke(app, ["data", "import", "tiny", str(tmp_path / "table.csv"), "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "table.csv: not in LIBSVM format, lines 'label index:value ...'" in result.stderr


def test_fingerprints_do_not_depend_on_form():
    data = load_dataset("iris")
    changed = {"feature_names": data.feature_names, "target_names": data.target_names, "n_train": None,
               "categorical_features": (), "categories": data.categories, "origin": ""}  # fmt: skip
    single = _fetch.Dataset(X=data.X.astype(np.float32), y=2 - data.y, **changed)
    assert fingerprints(single) == fingerprints(data), "classes count by their first appearance"
    as_sparse = _fetch.Dataset(X=sparse.csr_array(data.X), y=data.y, **changed)
    again = _fetch.Dataset(X=sparse.csc_array(data.X), y=data.y, **changed)
    assert fingerprints(as_sparse) == fingerprints(again)
    order = np.random.default_rng(0).permutation(150)
    mixed = _fetch.Dataset(X=data.X[order], y=data.y[order], **changed)
    assert fingerprints(mixed)[0] != fingerprints(data)[0]
    assert fingerprints(mixed)[1] == fingerprints(data)[1]


def test_every_set_of_every_paper_can_be_had(monkeypatch):
    monkeypatch.delenv("BOSCAGE_DATA", raising=False)
    embedded = set(_fetch.list_datasets())
    for paper in PAPERS:
        for name in sets_of(paper):
            assert name in embedded or name in catalogue(), f"{paper} needs {name}"
    for source in catalogue().values():
        assert source.licence
        assert (
            "boscage data fetch" in source.how
            if source.openml
            else "download" in source.how.lower() or "GitHub" in source.how
        )
        assert len(source.exact) == len(source.any_order) == 16


def test_a_run_names_the_sets_it_cannot_find(monkeypatch, tmp_path):
    monkeypatch.delenv("BOSCAGE_DATA", raising=False)
    told = []
    run("lomtree", figure=2, out=tmp_path, tell=told.append)
    assert told[0] == "not found: mnist, isolet. `boscage data fetch mnist isolet` gets them from OpenML"
    assert any(line.startswith("not found: aloi. Download aloi.bz2") for line in told)
    assert how_to_get(["iris", "wine"]) == []
    page = (tmp_path / "lomtree-run.md").read_text()
    assert "`BOSCAGE_DATA=folder boscage reproduce lomtree --budget quick`" in page
    assert "`boscage data fetch lomtree` gets mnist, isolet from OpenML" in page
    assert "By hand (`boscage data list` says how): sector-scale, aloi" in page
