"""The released protocol written out plainly, row by row where rows matter: the twin of methods and harness."""

import math

import numpy as np

XI0 = 0.005


def fit(w, t, X, y, v, rng, eta):
    for i in rng.permutation(len(y)):
        t += v[i]
        a = math.sqrt(eta / (eta + t))
        xx = X[i] @ X[i]
        p = min(1.0, max(-1.0, w @ X[i]))
        h = v[i] * a * xx
        if h < 1e-6:
            w = w - 2.0 * (p - y[i]) * v[i] * a * X[i]
        else:
            w = w - (p - y[i]) * (1.0 - math.exp(-2.0 * h)) / xx * X[i]
    loss = sum(v[i] for i in range(len(y)) if (w @ X[i]) * y[i] <= 0.0)
    return w, t, loss


def disagree(w, X, C, V, loss, cnt, t, eta):
    if cnt <= 3:
        return np.ones(len(X), dtype=bool)
    a = math.sqrt(eta / (eta + t))
    bound = math.sqrt(C * V * loss) / cnt + C * V * math.log(cnt) / cnt
    return np.array([abs(2.0 * (w @ x)) / (a * (x @ x)) / cnt <= bound for x in X], dtype=bool)


def sign(w, X):
    return np.where(X @ w >= 0.0, 1.0, -1.0)


def everything(method, X, y, q0, z, m, C, eta, budget, rng, test_error):
    """Passive, DBALw, DBALwm; X, y, q0 are all train rows, the log first."""
    revealed = np.flatnonzero(z)
    n = len(y) - m
    w, _, loss = fit(np.zeros(X.shape[1]), 0.0, X[revealed], y[revealed], 1.0 / q0[revealed], rng, eta)
    points = [(0, 0, test_error(w))]
    known, done, size, labels = y.copy(), 0, 10, 0
    while done < n and labels <= 2 * budget:
        batch = np.arange(m + done, m + min(done + size, n))
        V = 1.0 / XI0 if method == "DBALw" else (m + done) / (m * XI0 + done)
        asked = disagree(w, X[batch], C, V, loss, m + done, m + done, eta)
        if method == "Passive":
            asked[:] = True
        known[batch[~asked]] = sign(w, X[batch[~asked]])
        labels += int(asked.sum())
        done += len(batch)
        size *= 2
        rows = np.concatenate([revealed, np.arange(m, m + done)])
        if method == "DBALwm":
            v = (m + done) / (m * q0[rows] + done)
        else:
            v = np.where(rows < m, 1.0 / q0[rows], 1.0)
        w, _, loss = fit(np.zeros(X.shape[1]), 0.0, X[rows], known[rows], v, rng, eta)
        points.append((done, labels, test_error(w)))
    return points


def idbal(X, y, q0, z, m, n, C, eta, rng):
    """IDBAL for one horizon n: the labels bought and the final w."""
    revealed = np.flatnonzero(z)
    alpha = 2.0 * m / (3.0 * n)
    third = m // 3
    rows = revealed[revealed < third]
    w, t, loss = fit(np.zeros(X.shape[1]), 0.0, X[rows], y[rows], 1.0 / q0[rows], rng, eta)
    cnt, V, xi, used, done, size, labels = third, 1.0 / XI0, XI0, third, 0, 10, 0
    while done < n:
        b = min(size, n - done)
        upto = min(m, int(third + alpha * (done + b)))
        from_log = revealed[(revealed >= used) & (revealed < upto)]
        used = upto
        Q = q0 <= xi + 1.0 / alpha
        first = np.arange(min(int((1.0 + alpha) * b), m + done + b))
        inside = disagree(w, X[first], C, V, loss, cnt, t, eta)
        xi = q0[first][inside].min() if inside.any() else 1.0
        batch = np.arange(m + done, m + done + b)
        batch = batch[Q[batch]]
        asked = disagree(w, X[batch], C, V, loss, cnt, t, eta)
        known = np.where(asked, y[batch], sign(w, X[batch]))
        labels += int(asked.sum())
        rows = np.concatenate([from_log, batch])
        v = (1.0 + alpha) / (alpha * q0[rows] + Q[rows])
        w, t, loss = fit(w, t, X[rows], np.concatenate([y[from_log], known]), v, rng, eta)
        cnt, V = (1.0 + alpha) * b, (alpha + 1.0) / (alpha * xi + 1.0)
        done += b
        size *= 2
    return labels, w
