"""Networks that break while trees grow on a cluster: workers in network namespaces, whose links are cut. Needs root.

``python benchmarks/cluster_partitions.py`` starts a scheduler and three workers, each in a namespace of its own behind
a bridge, and fits trees of every family while links are cut: one for ten seconds, one for good, all for good. Every fit
must end before its deadline, with the bytes of a fit in memory or with ``ClusterError``.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator

import distributed
from sklearn.base import clone

from cluster_faults import FAMILIES, collections, make_data, saved, try_fit

BRIDGE, HOST, PORT = "boscage0", "10.77.0.1", 18786
WORKERS = 3
CUTS = {"one link for 10 s": ([0], 10.0), "one link": ([0], None), "all links": (range(WORKERS), None)}


def ip(*words: str, check: bool = True) -> None:
    """Call iproute2."""
    subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


@contextlib.contextmanager
def network() -> Iterator[None]:
    """Make a bridge and a namespace for each worker; remove them at the end."""
    try:
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{HOST}/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for i in range(WORKERS):
            space, here, there = f"boscage{i}", f"bosh{i}", f"bosn{i}"
            ip("netns", "add", space)
            ip("link", "add", here, "type", "veth", "peer", "name", there)
            ip("link", "set", there, "netns", space)
            ip("link", "set", here, "master", BRIDGE, "up")
            ip("-n", space, "addr", "add", f"10.77.0.{10 + i}/24", "dev", there)
            ip("-n", space, "link", "set", there, "up")
            ip("-n", space, "link", "set", "lo", "up")
        yield
    finally:
        for i in range(WORKERS):
            ip("netns", "del", f"boscage{i}", check=False)
            ip("link", "del", f"bosh{i}", check=False)
        ip("link", "del", BRIDGE, check=False)


@contextlib.contextmanager
def cluster() -> Iterator[distributed.Client]:
    """Start a scheduler here and a worker in each namespace."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", HOST, "--port", str(PORT)]
    running = [subprocess.Popen([*scheduler, "--no-dashboard"], **quiet)]
    worker = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        f"tcp://{HOST}:{PORT}",
        "--no-nanny",
        "--no-dashboard",
    ]
    try:
        for i in range(WORKERS):
            inside = ["ip", "netns", "exec", f"boscage{i}", *worker, "--no-dashboard", "--nthreads", "1"]
            running.append(subprocess.Popen(inside, **quiet))
        with distributed.Client(f"tcp://{HOST}:{PORT}", timeout=120) as client:
            client.wait_for_workers(WORKERS, timeout=120)
            yield client
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def cut(links: list[int], seconds: float | None, after: float) -> threading.Thread:
    """Cut links a little later, for some seconds or for good."""

    def run() -> None:
        time.sleep(after)
        for i in links:
            ip("link", "set", f"bosh{i}", "down")
        if seconds is not None:
            time.sleep(seconds)
            for i in links:
                ip("link", "set", f"bosh{i}", "up")

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def main() -> None:
    """Run every cut with every family and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deadline", type=float, default=120)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    options = parser.parse_args()
    found: Counter[tuple[str, str, str]] = Counter()
    for title, (links, seconds) in CUTS.items():
        for name in options.families:
            X, y = make_data(name)
            expected = saved(clone(FAMILIES[name]).fit(X, y))
            with network(), cluster() as client:
                begin = time.monotonic()
                thread = cut(list(links), seconds, after=3.0)
                outcome = try_fit(client, name, collections(X, y, pause=0.1), expected, options.deadline)
                thread.join()
                print(f"{title}: {name}: {outcome}, {time.monotonic() - begin:.0f} s", flush=True)
                found[title, name, outcome] += 1
    bad = [outcome for _, _, outcome in found if outcome.isupper()]
    if bad:
        raise SystemExit(f"broken: {bad}")


if __name__ == "__main__":
    main()
