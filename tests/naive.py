"""The slow, obvious version of every compiled function: one row, one number at a time."""

import math

import numpy as np

LOSSES = {0: "squared", 1: "logistic", 2: "hinge"}


def margin_gain(z, h):
    """The u with u + e^z (e^u - 1) = h, by bisection."""

    def above(u):
        if z > 0:  # both sides times e^-z
            return u > 700 or math.exp(-z) * u + math.expm1(u) >= math.exp(-z) * h
        if z + u > 700:
            return True
        rise = math.exp(z) * math.expm1(u) if u < 30 else math.exp(z + u)
        return u + rise >= h

    low, high = 0.0, h
    for _ in range(2000):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if above(middle) else (middle, high)
    return high


def step(score, y, v, a, xx, loss):
    h = v * a * xx
    if LOSSES[loss] == "squared":
        p = float(np.clip(score, -1, 1))
        if h < 1e-6:
            return -2 * (p - y) * v * a
        return -(p - y) * -math.expm1(-2 * h) / xx
    if xx == 0:
        return 0.0
    if LOSSES[loss] == "hinge":
        return y * min(v * a, max(0.0, 1 - y * score) / xx)
    return y * margin_gain(y * score, h) / xx


def with_one(X, intercept):
    X = X if isinstance(X, np.ndarray) else X.toarray()
    return np.hstack([X, np.ones((len(X), 1))]) if intercept else X


def one_pass(w, t, X, y, v, order, eta, by_weight, loss):
    """`pass_dense` and `pass_csr`: the new w and clock; rows in X already carry the constant feature."""
    w = w.copy()
    for i in order:
        if v[i] == 0:
            continue
        t += v[i] if by_weight else 1
        a = math.sqrt(eta / (eta + t))
        w += step(w @ X[i], y[i], v[i], a, X[i] @ X[i], loss) * X[i]
    return w, t


def look(w, X):
    """`look_dense` and `look_csr`."""
    return np.array([w @ x for x in X]), np.array([x @ x for x in X])


def weighted_errors(score, y, v):
    return sum(vi for s, yi, vi in zip(score, y, v, strict=True) if s * yi <= 0)


def mix(bits):
    mask = 2**64 - 1
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & mask
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & mask
    return bits ^ (bits >> 31)


def keys(X, salt, key):
    """`keys_dense` and `keys_csr`, on dense rows."""
    return [
        (int(k) + sum(mix(int(np.float64(x).view(np.uint64)) ^ int(s)) for x, s in zip(row, salt, strict=True) if x))
        % 2**64
        for row, k in zip(X, key, strict=True)
    ]


def judge(w, X, slope):
    """`judge_dense` and `judge_csr`."""
    y = [1.0 if w @ x >= 0 else -1.0 for x in X]
    return y, [slope == math.inf or bool(x @ x > 0 and abs(w @ x) <= slope * (x @ x)) for x in X]


def least(q0, inside):
    return min([q for q, within in zip(q0, inside, strict=True) if within], default=1.0)


def votes(X, start, nodes, value, fellows):
    """The sum of what packed trees say about each row, one row and one tree at a time."""
    largest = np.finfo(np.float32).max
    total = np.zeros(len(X))
    for i, x in enumerate(X):
        for first in start[:-1]:
            at = 0
            while (node := nodes[first + at])["threshold"] != 0xFFFFFFFF:
                bits = int(node["threshold"])
                bits = bits - 2**31 if bits >= 2**31 else 2**32 - 1 - bits  # a negative one: its size counts downwards
                threshold = np.uint32(bits).view(np.float32)
                value_here = np.float32(np.clip(x[node["column"] // fellows], -largest, largest))
                at = int(node["child"]) + int(value_here > threshold)
            total[i] += value[first + at]
    return total


def gauge(X, recipe, turns, sketch, stake, rest, weights, trees, total):
    """The log-odds of each row and what its label would settle, in double precision."""
    column, code, mean, scale = recipe
    log_odds, score = np.zeros(len(X)), np.zeros(len(X))
    for i, x in enumerate(X):
        z = np.zeros(turns.shape[1])
        z[0] = 1.0
        for j in range(len(column)):
            value = x[column[j]] if np.isnan(code[j]) else float(x[column[j]] == code[j])
            z[j + 1] = (value - mean[j]) * scale[j]
        angle = turns.astype(np.float64) @ z
        features = np.concatenate([z, np.cos(angle), np.sin(angle)])
        mu, *u = (sketch.astype(np.float64) @ features).tolist()
        seen = sum(a * a for a in u)
        variance = max(seen, rest[0] + rest[1] * seen)
        shrink = math.sqrt(1.0 + math.pi / 8.0 * variance)
        log_odds[i] = weights[0] * mu / shrink
        if weights[1]:
            p = (total[i] + 0.5) / (trees + 1.0)
            log_odds[i] += weights[1] * math.log(p / (1.0 - p))
        p = 1.0 / (1.0 + math.exp(-log_odds[i] * shrink))
        c = p * (1.0 - p)
        score[i] = c / (1.0 + c * variance) * (rest[2] + sum(m * a * a for m, a in zip(stake, u, strict=False)))
    return log_odds, score


def hash_text(content):
    """`hash_texts`, of one text."""
    bits = 0xCBF29CE484222325
    for byte in content:
        bits = ((bits ^ byte) * 0x100000001B3) % 2**64
    return mix(bits)
