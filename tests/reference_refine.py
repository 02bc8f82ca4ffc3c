"""Slow and plain versions of polishing and of linear leaves: one row, one node, one formula at a time."""

import numpy as np
from scipy.optimize import minimize


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def soft_loss(children_left, children_right, theta, logits, slope, l2, X, y, weight):
    """Mean log-loss of a tree of logistic tests plus l2/2 of the squared weights; the last of theta is the bias."""
    inner = [node for node in range(len(children_left)) if children_left[node] >= 0]
    leaves = [node for node in range(len(children_left)) if children_left[node] < 0]
    total = 0.0
    for x, label, w in zip(X, y, weight):
        reach = np.zeros(len(children_left))
        reach[0] = 1
        for node in inner:
            row = theta[inner.index(node)]
            right = sigmoid(slope * (row[:-1] @ x + row[-1]))
            reach[children_right[node]] = reach[node] * right
            reach[children_left[node]] = reach[node] * (1 - right)
        total -= w * np.log(sum(reach[leaf] * softmax(logits[i])[label] for i, leaf in enumerate(leaves)))
    return total / np.sum(weight) + l2 / 2 * np.sum(theta[:, :-1] ** 2)


def leaf_model(X, y, weight, shares, deviation, l2):
    """Coefficients and intercepts of the classes, fitted on the rows of one leaf."""
    classes, d = len(shares), X.shape[1]
    intercept = np.where(shares > 0, np.log(np.where(shares > 0, shares, 1)), -1000.0)
    coef = np.zeros((classes, d))
    present = np.unique(y)
    if len(present) < 2:
        return coef, intercept
    mean = weight @ X / weight.sum()
    inverse = np.divide(1, deviation, out=np.zeros(d), where=deviation > 0)
    Z = (X - mean) * inverse

    def loss(point):
        B = np.zeros((classes, d + 1))
        B[present] = point.reshape(len(present), d + 1)
        z = intercept + B[:, -1] + Z @ B[:, :-1].T
        top = z.max(axis=1)
        fits = top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[np.arange(len(y)), y]
        return (weight @ fits + l2 / 2 * (point @ point)) / weight.sum()

    start = np.zeros(len(present) * (d + 1))
    found = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-9})
    B = found.x.reshape(len(present), d + 1)
    coef[present] = B[:, :-1] * inverse
    intercept[present] += B[:, -1] - coef[present] @ mean
    return coef, intercept
