"""The released protocol in a straightforward first version: Python and NumPy, one row at a time.

It uses nothing from the package. Updates and disagreement tests run row by row with NumPy dot products;
only the test error is computed for all rows at once. `benchmarks.mean_curve` compares the package's speed with it.
"""

import math

import numpy as np

XI0 = 0.005


def train(w, t, X, y, v, eta, rng):
    """One shuffled pass from w and clock t: the new w and clock, and the total weight of misclassified rows."""
    w = w.copy()
    for i in rng.permutation(len(y)):
        x = X[i]
        t += v[i]
        a = math.sqrt(eta / (eta + t))
        p = min(1.0, max(-1.0, w.dot(x)))
        xx = x.dot(x)
        h = v[i] * a * xx
        if h < 1e-6:
            w -= 2.0 * (p - y[i]) * v[i] * a * x
        else:
            w -= (p - y[i]) * (1.0 - math.exp(-2.0 * h)) / xx * x
    loss = 0.0
    for i in range(len(y)):
        if w.dot(X[i]) * y[i] <= 0.0:
            loss += v[i]
    return w, t, loss


def in_disagreement(w, x, C, V, loss, cnt, t, eta):
    if cnt <= 3:
        return True
    a = math.sqrt(eta / (eta + t))
    left = abs(2.0 * w.dot(x)) / (a * x.dot(x)) / cnt
    return left <= math.sqrt(C * V * loss) / cnt + C * V * math.log(cnt) / cnt


def answer(w, x):
    return 1.0 if w.dot(x) >= 0.0 else -1.0


def test_error(w, X, y):
    return np.mean(np.where(X @ w >= 0.0, 1.0, -1.0) != y)


def propensities(policy, X, y, rng):
    n, d = X.shape
    if policy == "identical":
        return np.full(n, XI0)
    if policy == "uniform":
        v = rng.random(d)
        return np.array([(XI0, 0.05, 0.5)[int(1e5 * v.dot(x)) % 3] for x in X])
    w, t = np.zeros(d), 0.0
    for x, label in zip(X[: n // 10], y[: n // 10], strict=True):
        t += 1.0
        p, xx = min(1.0, max(-1.0, w.dot(x))), x.dot(x)
        w -= (p - label) * (1.0 - math.exp(-2.0 * math.sqrt(1.0 / (1.0 + t)) * xx)) / xx * x
    w /= np.linalg.norm(w)
    r2 = (X @ w) ** 2
    last = np.sort(r2[-400:])
    if policy == "uncertainty":
        return np.maximum(XI0, np.exp(math.log(0.1) * r2 / last[len(last) // 3]))
    return np.clip(0.1 * (r2 / last[len(last) - 1 - len(last) // 3]) ** 2, XI0, 1.0)


def keep_everything(method, X, y, q0, revealed, m, first, C, eta, budget, rng, error):
    """Passive, DBALw and DBALwm: retrain on the whole log and all online rows after each batch."""
    w, _, loss = first
    points = [(0, 0, error(w))]
    known = y.copy()
    done, size, labels, n = 0, 10, 0, len(y) - m
    while done < n and labels <= 2 * budget:
        cnt = m + done
        V = 1.0 / XI0 if method == "DBALw" else cnt / (m * XI0 + done)
        batch = range(m + done, m + min(n, done + size))
        for i in batch:
            if method == "Passive" or in_disagreement(w, X[i], C, V, loss, cnt, cnt, eta):
                labels += 1
            else:
                known[i] = answer(w, X[i])
        done += len(batch)
        size *= 2
        rows = np.concatenate([revealed, np.arange(m, m + done)])
        if method == "DBALwm":
            v = (m + done) / (m * q0[rows] + done)
        else:
            v = np.where(rows < m, 1.0 / q0[rows], 1.0)
        w, _, loss = train(np.zeros(X.shape[1]), 0.0, X[rows], known[rows], v, eta, rng)
        points.append((done, labels, error(w)))
    return points


def idbal(X, y, q0, revealed, m, n, C, eta, rng):
    """IDBAL on the first n online rows: the number of labels bought and the last w."""
    alpha, third = 2.0 * m / (3.0 * n), m // 3
    rows = revealed[revealed < third]
    w, t, loss = train(np.zeros(X.shape[1]), 0.0, X[rows], y[rows], 1.0 / q0[rows], eta, rng)
    cnt, V, xi = third, 1.0 / XI0, XI0
    done, size, labels, used = 0, 10, 0, third
    while done < n:
        b = min(size, n - done)
        upto = min(m, int(third + alpha * (done + b)))
        cut = xi + 1.0 / alpha
        xi = 1.0
        for i in range(min(int((1.0 + alpha) * b), m + done + b)):
            if in_disagreement(w, X[i], C, V, loss, cnt, t, eta):
                xi = min(xi, q0[i])
        rows = [i for i in revealed if used <= i < upto]
        known = [y[i] for i in rows]
        for i in range(m + done, m + done + b):
            if q0[i] <= cut:
                rows.append(i)
                if in_disagreement(w, X[i], C, V, loss, cnt, t, eta):
                    labels += 1
                    known.append(y[i])
                else:
                    known.append(answer(w, X[i]))
        v = [(1.0 + alpha) / (alpha * q0[i] + (q0[i] <= cut)) for i in rows]
        w, t, loss = train(w, t, X[rows], known, v, eta, rng)
        cnt, V = (1.0 + alpha) * b, (alpha + 1.0) / (alpha * xi + 1.0)
        used, done, size = upto, done + b, size * 2
    return labels, w


def curve(X, y, policy, method, C, eta, logged_fraction, label_budget, rng):
    """One repeat: (horizon, labels bought, test error) at each horizon."""
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    train_rows = int(0.8 * len(y))
    test_X, test_y, X, y = X[train_rows:], y[train_rows:], X[:train_rows], y[:train_rows]
    m = int(logged_fraction * train_rows)
    q0 = propensities(policy, X, y, rng)
    revealed = np.flatnonzero(rng.random(m) < q0[:m])

    def error(w):
        return test_error(w, test_X, test_y)

    first = train(np.zeros(X.shape[1]), 0.0, X[revealed], y[revealed], 1.0 / q0[revealed], eta, rng)
    if method != "IDBAL":
        return keep_everything(method, X, y, q0, revealed, m, first, C, eta, label_budget, rng, error)
    points, n, horizon = [(0, 0, error(first[0]))], train_rows - m, 10
    while True:
        labels, w = idbal(X, y, q0, revealed, m, min(horizon, n), C, eta, rng)
        points.append((min(horizon, n), labels, error(w)))
        if horizon >= n or labels > 2 * label_budget:
            return points
        horizon *= 2


def mean_curve(population, policy, method, C, eta, logged_fraction, label_budget, repeats, seed):
    """Mean (horizon, labels, error) over the repeats, and the standard errors of the last two columns.

    `population(block)` returns scaled features and labels for ten repeats.
    """
    runs = []
    for r in range(repeats):
        if r % 10 == 0:
            X, y = population(r // 10)
        rng = np.random.default_rng([seed, r])
        runs.append(curve(X, y, policy, method, C, eta, logged_fraction, label_budget, rng))
    table = np.array([run[: min(map(len, runs))] for run in runs])
    return table.mean(axis=0), table[:, :, 1:].std(axis=0, ddof=1) / math.sqrt(repeats)
