"""The online learner again, slowly: plain NumPy in double precision, one row at a time, written from the formulas.

It shares no code with the core but the random draws. The core works in single precision, so the two agree to about
four digits; their decisions (trees, labels, swaps) agree exactly unless a tie is closer than that.
"""

import numpy as np

from boscage import _core

MASK = 2**64 - 1
CONSTANTS = {
    "start_square": 0.1, "skip_below": 0.003, "create_above": 0.05, "average_power": 3, "leaf_size": 4,
    "router_rate": 0.5, "router_skip": 0.001, "dense_floor": 0.01, "sparse_floor": 1.0, "rebuild_until": 64,
    "regrow": 1.5, "power_rounds": 8, "halving_rounds": 6, "sparse_start": 2048, "patience": 3.0, "probes": 2,
    "note_share": 1 / 256,
}  # fmt: skip
KEEP, CLASS, ROW, PROFILE = 0x6B656570, 0x636C6173, 0x726F7773, 0x70726F66


def clusters(rng, n=300, k=12, d=6, noise=0.5):
    centres = rng.normal(size=(k, d))
    y = rng.integers(0, k, n)
    return centres[y] + noise * rng.normal(size=(n, d)), y


class Scaling:
    def __init__(self, d, centred):
        self.d, self.centred = d, centred
        self.total, self.mean, self.radius, self.squares = 0.0, np.zeros(d), np.zeros(d), np.zeros(d)
        self.measured, self.mean_square = 0.0, 0.0

    def observe(self, x, weight):
        self.total += weight
        self.mean += (x - self.mean) * (weight / self.total)
        self.radius = np.maximum(self.radius, abs(x - self.mean))
        self.squares += weight * x * x

    def scale(self, x):
        if self.centred:
            z = np.divide(x - self.mean, self.radius, out=np.zeros(self.d), where=self.radius > 0)
        else:
            z = np.divide(x, self.squares**0.25, out=np.zeros(self.d), where=self.squares > 0)
            z /= np.linalg.norm(z) or 1.0
        return np.append(z, 1.0)

    def measure(self, z, weight):
        self.measured += weight
        self.mean_square += (z @ z - self.mean_square) * weight / self.measured


def child_path(path, right):
    return 2 * path + right


class ClassTree:
    """Nested lists of nodes: dicts with either labels or (w, G, left, right)."""

    def __init__(self, model, seed):
        self.model, self.seed, self.root = model, seed, None

    def build(self, labels, path=1):
        model, constants = self.model, self.model.constants
        if len(labels) <= constants["leaf_size"]:
            return {"labels": list(labels)}
        M = np.array([model.class_mean(c) for c in labels])
        length = M.shape[1]
        padded = -(-length // 16) * 16 if model.scaling.centred else length
        u = np.array([_core.uniform(self.seed, path, j) - 0.5 for j in range(padded)])[:length]
        for _ in range(constants["power_rounds"]):
            u = (M - M.mean(0)).T @ (M @ u - (M @ u).mean())
            u /= np.linalg.norm(u) or 1.0
        half = len(labels) // 2
        for _ in range(constants["halving_rounds"]):
            order = np.argsort(M @ u, kind="stable")
            u = M[order[half:]].mean(0) - M[order[:half]].mean(0)
        left, right = order[:half], order[half:]
        v = model.variance()
        direction = u / v
        p = M @ direction
        low, high = p[left].mean(), p[right].mean()
        spread = (p[left].var() + p[right].var()) / 2 + direction @ (direction * v)
        factor = (high - low) / spread if spread > 0 else 0.0
        w = factor * direction
        if not model.scaling.centred:
            w[np.argsort(-abs(w), kind="stable")[constants["sparse_start"] :]] = 0
        node = {"w": np.append(w, -factor * (low + high) / 2), "G": np.zeros(length + 1)}
        node["left"] = self.build([labels[i] for i in left], child_path(path, 0))
        node["right"] = self.build([labels[i] for i in right], child_path(path, 1))
        return node

    def insert(self, label, z):
        node, path, parent = self.root, 1, None
        while "w" in node:
            side = "right" if node["w"] @ z > 0 else "left"
            parent, path, node = (node, side), child_path(path, side == "right"), node[side]
        node["labels"].append(label)
        if len(node["labels"]) > 2 * self.model.constants["leaf_size"]:
            grown = self.build(node["labels"], path)
            if parent is None:
                self.root = grown
            else:
                parent[0][parent[1]] = grown

    def path_to(self, label, node=None):
        node = self.root if node is None else node
        if "labels" in node:
            return [] if label in node["labels"] else None
        for side in ("left", "right"):
            below = self.path_to(label, node[side])
            if below is not None:
                return [(node, side == "right"), *below]
        return None

    def retrieve(self, z, width):
        beam = [(0.0, self.root)]
        while any("w" in node for _, node in beam):
            found = []
            for score, node in beam:
                if "labels" in node:
                    found.append((score, node))
                    continue
                m = node["w"] @ z
                found.append((score - np.logaddexp(0, m), node["left"]))
                found.append((score - np.logaddexp(0, -m), node["right"]))
            beam = sorted(found, key=lambda item: -item[0])[:width]
        return [label for _, node in beam for label in node["labels"]]


class Beam:
    def __init__(self, d, *, centred=True, seed=0, rate=2.0, flat_below=160, width=40, trees=1, replay=0, constants=()):
        self.constants = CONSTANTS | dict(constants)
        self.d, self.rate, self.flat_below, self.width, self.seed = d, rate, flat_below, width, seed
        self.scaling = Scaling(d, centred)
        self.trees = [ClassTree(self, seed + k) for k in range(trees)]
        self.classes, self.t, self.next_build, self.built = {}, 0, 16, 0
        self.within = np.zeros(d)
        self.length = np.zeros(d + 1, int)  # sparse rows: classes below it have an entry of the feature
        self.replay, self.seen, self.stocked, self.overdue_share = replay, 0, [], 0.0

    def add(self, label):
        d = self.d + 1
        self.classes[label] = {
            "w": np.zeros(d), "G": np.zeros(d), "V": np.zeros(d), "has": self.scaling.centred | (label < self.length),
            "n": 0.0, "mean": np.zeros(self.d), "sum": np.zeros(self.d),
            "start": self.clock(), "rows": [], "seen": 0, "last": 0,
        }  # fmt: skip

    def clock(self):
        return (self.t / 1024) ** (self.constants["average_power"] + 1)

    def class_mean(self, label):
        one = self.classes[label]
        return self.scaling.scale(one["mean"])[:-1] if self.scaling.centred else one["sum"] / one["n"]

    def variance(self):
        total = sum(one["n"] for one in self.classes.values())
        if self.scaling.centred:
            r = self.scaling.radius
            within = np.divide(self.within / total, r * r, out=np.zeros(self.d), where=r > 0)
        else:
            between = sum(one["sum"] ** 2 / one["n"] for one in self.classes.values())
            within = np.maximum(self.within - between, 0) / total
        floor = self.constants["dense_floor" if self.scaling.centred else "sparse_floor"]
        return within + floor * within.mean() + 1e-8

    def learn(self, x, label, weight=1.0, replay=False):
        new = label not in self.classes
        if new:
            self.add(label)
        self.scaling.observe(x, weight)
        z = self.scaling.scale(x)
        self.scaling.measure(z, weight)
        one = self.classes[label]
        before, one["n"] = one["n"], one["n"] + weight
        if self.scaling.centred:
            self.within += weight * before / one["n"] * (x - one["mean"]) ** 2
            one["mean"] += (x - one["mean"]) * weight / one["n"]
        else:
            self.within += weight * z[:-1] ** 2
            one["sum"] += weight * z[:-1]
        if replay:
            self.offer(label, x, weight)
        if len(self.classes) > self.flat_below:
            self.update_trees(label, z, new)
        self.train(z, label, weight)
        probes = self.constants["probes"]
        for probe in range(probes if replay else 0):
            self.replay_row(2 * (probes * self.t + probe))

    def update_trees(self, label, z, new):
        known = len(self.classes)
        grown = self.trees[0].root is None or known >= self.constants["regrow"] * self.built + 4
        due = self.next_build <= self.t <= self.constants["rebuild_until"] * known
        for tree in self.trees:
            if grown or due:
                tree.root = tree.build(sorted(self.classes))
            elif new:
                tree.insert(label, z)
        if grown or due:
            self.built = known
        while self.next_build <= self.t:
            self.next_build *= 2

    def candidates(self, z):
        if self.trees[0].root is None:
            return sorted(self.classes)
        return sorted({c for tree in self.trees for c in tree.retrieve(z, self.width)})

    def train(self, z, label, weight):
        self.t += 1
        constants, start_square = self.constants, self.constants["start_square"]
        unit = 1 / np.sqrt(self.scaling.mean_square)
        found = sorted({*self.candidates(z), label})
        for tree in self.trees if self.trees[0].root is not None else []:
            for node, right in tree.path_to(label):
                g = 1 / (1 + np.exp(-(node["w"] @ z))) - right
                if abs(g) >= constants["router_skip"]:
                    node["G"] += (weight * g * z) ** 2
                    rate = self.rate * constants["router_rate"] * unit
                    node["w"] -= rate * weight * g * z / np.sqrt(node["G"] + start_square)
        s = np.array([self.classes[c]["w"] @ z for c in found])
        if self.overdue_share > (
            0.75 if self.scaling.centred else 0.5
        ):  # a flood of few classes: what the time tells need not be learnt
            share = np.array([1 / (self.seen - self.classes[c]["last"] + 1) for c in found])
            replays = constants["probes"] * self.overdue_share
            start = np.log((len(self.stocked) * share + replays) / (1 + replays))
            s += start / 2 if self.scaling.centred else start
        p = np.exp(s - s.max())
        p /= p.sum()
        steps = [(c, g) for c, g in zip(found, p - np.equal(found, label)) if abs(g) >= constants["skip_below"]]
        if not self.scaling.centred:
            self.create([c for c, g in steps if abs(g) >= constants["create_above"]], z)
        for c, g in steps:
            one = self.classes[c]
            on = (z != 0) & one["has"]
            one["G"][on] += (weight * g * z[on]) ** 2
            move = self.rate * unit * weight * g * z[on] / np.sqrt(one["G"][on] + start_square)
            one["w"][on] -= move
            one["V"][on] -= (self.clock() - one["start"]) * move

    def create(self, labels, z):
        """Sparse rows: an entry per class and feature, all classes of a feature once half of them have one."""
        reach = max(self.classes) + 1
        for j in np.flatnonzero(z) if labels else []:
            for c in labels:
                self.classes[c]["has"][j] = True
            having, known = sum(one["has"][j] for one in self.classes.values()), len(self.classes)
            started = self.length[j] > 0
            if (started and max(labels) >= self.length[j]) or (not started and 2 * having >= known > 16):
                self.length[j] = reach
                for one in self.classes.values():
                    one["has"][j] = True

    def offer(self, label, x, weight):
        one = self.classes[label]
        self.seen += 1
        one["last"] = self.seen
        place, one["seen"] = one["seen"], one["seen"] + 1
        if place < self.replay:
            if not one["rows"]:
                self.stocked.append(label)
            one["rows"].append((x.astype(np.float32).astype(float), weight))
            return
        slot = int(_core.uniform(self.seed ^ KEEP, label, place) * (place + 1))
        if slot < self.replay:
            one["rows"][slot] = (x.astype(np.float32).astype(float), weight)

    def replay_row(self, draw):
        pick = lambda number: self.stocked[int(_core.uniform(self.seed, CLASS, number) * len(self.stocked))]  # noqa: E731
        label = pick(draw)
        one = self.classes[label]
        overdue = (self.seen - one["last"]) * one["seen"] > self.constants["patience"] * self.seen
        self.overdue_share += (overdue - self.overdue_share) * self.constants["note_share"]
        if not overdue:
            return
        source = pick(draw + 1) if self.scaling.centred and self.t % 2 == 1 else label
        rows = self.classes[source]["rows"]
        x, weight = rows[int(_core.uniform(self.seed, ROW, draw) * len(rows))]
        if source != label:
            x = x + one["mean"] - self.classes[source]["mean"]
        z = self.scaling.scale(x)
        if not self.scaling.centred and self.t % 2 == 1:
            size = abs(z[:-1][z[:-1] != 0]).mean()
            mean = one["sum"] / one["n"]
            met = np.flatnonzero(mean)
            chosen = [j for j in met if _core.uniform(self.seed ^ PROFILE, draw, int(j)) < abs(mean[j]) / size]
            z = np.zeros(self.d)
            z[chosen] = np.sign(mean[chosen]) * np.maximum(abs(mean[chosen]), size)
            z = np.append(z / (np.linalg.norm(z) or 1.0), 1.0)
        self.train(z, label, weight)

    def proba(self, x, n_classes):
        z = self.scaling.scale(x)
        found = self.candidates(z)
        s = []
        for c in found:
            one = self.classes[c]
            age = self.clock() - one["start"]
            s.append((one["w"] - (one["V"] / age if age > 0 else 0)) @ z)
        p = np.exp(np.array(s) - max(s))
        out = np.zeros(n_classes)
        out[found] = p / p.sum()
        return out


class Lomtree:
    def __init__(self, d, *, centred=True, rate=0.5, limit=None, resistance=4.0):
        self.scaling, self.rate, self.limit, self.resistance = Scaling(d, centred), rate, limit, resistance
        self.d, self.known, self.routers, self.swaps = d, set(), 0, 0
        self.root = self.leaf(None, 0)

    def leaf(self, parent, label):
        return {"parent": parent, "left": None, "C": 0.0, "label": label, "top": 0.0, "classes": {}}

    def learn(self, x, label, weight=1.0):
        self.known.add(label)
        self.scaling.observe(x, weight)
        z = self.scaling.scale(x)
        self.scaling.measure(z, weight)
        rate = self.rate / np.sqrt(self.scaling.mean_square)
        node = self.root
        if not node["classes"]:
            node["label"] = label
        while True:
            count = node["classes"].setdefault(label, [0.0, 0.0, 0.0])
            count[0] += weight
            if label == node["label"]:
                node["top"] = count[0]
            elif count[0] > node["top"]:
                node["label"], node["top"] = label, count[0]
            if node["left"] is None and not self.make_inner(node):
                break
            mean = node["S"] / node["n"] if node["n"] > 0 else 0.0
            own = count[1] / count[2] if count[2] > 0 else 0.0
            b = -1.0 if mean > own else 1.0
            h = node["router"]["w"] @ z
            error = abs(b - np.clip(h, -1, 1))
            if error > 0:
                h += b * self.step(node["router"], z, weight, b, rate, error)
            bounded = np.clip(h, -1, 1)
            node["S"] += weight * bounded
            node["n"] += weight
            count[1] += weight * bounded
            count[2] += weight
            node = node["left"] if h < 0 else node["right"]
        node["C"] += weight
        self.repair(node)

    def step(self, router, z, weight, b, rate, error):
        on = z != 0
        slope = weight * z[on]
        router["G"][on] += slope**2
        move = slope / np.sqrt(router["G"][on] + 1e-12)
        reach = rate * (z[on] @ move)
        change = min(reach, error)
        router["w"][on] += b * rate * change / reach * move
        return change

    def make_inner(self, v):
        if len(v["classes"]) < 2:
            return False
        limit = 4 * len(self.known) if self.limit is None else self.limit
        if self.routers < limit:
            self.routers += 1
            self.adopt(v, {"w": np.zeros(self.d + 1), "G": np.zeros(self.d + 1)})
            return True
        if not v["C"] - v["top"] > self.resistance * (self.root["C"] + 1):
            return False
        s = self.root
        while s["left"] is not None:
            s = s["left"] if s["left"]["C"] < s["right"]["C"] else s["right"]
        p = s["parent"]
        if s is v or p is None or p is self.root:
            return False
        g, o = p["parent"], p["right"] if p["left"] is s else p["left"]
        g["left" if g["left"] is p else "right"] = o
        o["parent"] = g
        self.repair(o)
        self.adopt(v, p["router"])
        self.swaps += 1
        return True

    def adopt(self, v, router):
        v["router"], v["S"], v["n"] = router, 0.0, 0.0
        v["left"], v["right"] = self.leaf(v, v["label"]), self.leaf(v, v["label"])
        v["left"]["C"] = np.floor(v["C"] / 2)
        v["right"]["C"] = v["C"] - v["left"]["C"]
        self.repair(v["left"])

    def repair(self, node):
        while (node := node["parent"]) is not None:
            node["C"] = min(node["left"]["C"], node["right"]["C"])

    def predict(self, x):
        z, node = self.scaling.scale(x), self.root
        while node["left"] is not None:
            node = node["left"] if node["router"]["w"] @ z < 0 else node["right"]
        return node["label"]

    def summary(self):
        """Shape, labels and class counts in prefix order."""
        out, open_ = [], [self.root]
        while open_:
            node = open_.pop()
            inner = node["left"] is not None
            counts = {c: count[0] for c, count in node["classes"].items()}
            out.append((inner, node["label"], node["C"], tuple(sorted(counts.items()))))
            open_ += [node["right"], node["left"]] if inner else []
        return out
