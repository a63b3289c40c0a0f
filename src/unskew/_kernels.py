"""The compiled loops of the linear models: arrays in, arrays out, nothing allocated, nothing validated.

Callers check shapes and allocate. If the weight vector has one more entry than a row, that last entry is the
intercept. Each kernel comes in two versions, for dense rows and for CSR (compressed sparse) rows. `tests/naive.py`
holds a slow, obvious version of each.

Three things keep them fast. A row is taken as a view before its inner loop. CSR positions are read as
unsigned, so that there is no test for negative indices. Each loss has its own copy of the loop, in
which nothing that is independent of w delays the next row.
"""

import math

import numpy as np
from numba import njit

SQUARED, LOGISTIC, HINGE = 0, 1, 2

# Reassociation lets the dot products use vector registers. NaN and infinity keep their meaning, but with these
# flags together the compiler drops calls of isfinite. So compare with infinity instead.
_FAST = {"reassoc", "contract", "arcp", "nsz"}
_jit = njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")


@_jit
def margin_gain(z, h):
    """How far a weight of h = v a x.x moves the margin z = y w.x under log(1 + exp(-z)).

    It is the u >= 0 with u + e^z (e^u - 1) = h, that is u = k - z - W(e^k), k = h + z + e^z. The equation is solved
    for u itself, because the difference of k and W(e^k) loses all digits at large margins.
    """
    straight = 0.0
    if z < -40.0:  # below a margin of -40 the slope is 1 to the last digit
        straight = min(h, -40.0 - z)
        z += straight
        h -= straight
    if z > 0.0:  # p u + q (e^u - 1) = p h, scaled so that neither factor overflows
        p, q = math.exp(-z), 1.0
    else:
        p, q = 1.0, math.exp(z)
    h *= p
    u = h / (p + q)
    if u < 1.0:
        u /= 1.0 + 0.5 * u * q / (p + q)  # Halley's step from 0
    else:
        u = min(u, math.log1p(h / q))  # both bound the root from above
    for _ in range(20):
        rise = q * math.expm1(u)
        f = p * u + rise - h
        bend = q + rise
        slope = p + bend
        move = 2.0 * f * slope / (2.0 * slope * slope - f * bend)  # Halley's method: each step cubes the error
        u -= move
        if abs(move) <= 1e-5 * u:
            break
    return straight + u


@_jit
def step(score, y, v, a, xx, loss):
    """The coefficient c of the importance-weight-aware update w += c x (Karampatziakis & Langford 2011).

    It is the limit of infinitely many gradient steps with total weight v: c = s(v) of their eq. 6.
    """
    h = v * a * xx
    if loss == SQUARED:  # (p - y)^2, p clipped to [-1, 1]
        gain = 2.0 * v * a if h < 1e-6 else (1.0 - math.exp(-2.0 * h)) / xx
        return gain * (y - min(1.0, max(-1.0, score)))
    if xx == 0.0:
        return 0.0
    z = y * score
    if loss == HINGE:  # max(0, 1 - z)
        return y * min(v * a, max(0.0, 1.0 - z) / xx)
    return y * margin_gain(z, h) / xx


@_jit
def _dense(w, t, X, y, v, order, eta, by_weight, loss):
    d = X.shape[1]
    intercept = w.shape[0] > d
    one, b = (1.0, w[d]) if intercept else (0.0, 0.0)
    for k in range(order.shape[0]):
        i = order[k]
        if v[i] == 0.0:
            continue
        x = X[i]
        score, xx = b, one
        for j in range(d):
            score += w[j] * x[j]
            xx += x[j] * x[j]
        t += v[i] if by_weight else 1.0
        c = step(score, y[i], v[i], math.sqrt(eta / (eta + t)), xx, loss)
        for j in range(d):
            w[j] += c * x[j]
        b += one * c
    if intercept:
        w[d] = b
    return t


@_jit
def pass_dense(w, t, X, y, v, order, eta, by_weight, loss):
    """One pass of updates over the rows of X in the given order. Changes w in place and returns the clock.

    Rows of weight 0 are skipped.
    """
    if loss == SQUARED:
        return _dense(w, t, X, y, v, order, eta, by_weight, SQUARED)
    if loss == HINGE:
        return _dense(w, t, X, y, v, order, eta, by_weight, HINGE)
    return _dense(w, t, X, y, v, order, eta, by_weight, LOGISTIC)


@_jit
def _csr(w, t, data, indices, indptr, y, v, order, eta, by_weight, loss, intercept):
    d = w.shape[0] - 1
    one, b = (1.0, w[d]) if intercept else (0.0, 0.0)
    for k in range(order.shape[0]):
        i = order[k]
        if v[i] == 0.0:
            continue
        x = data[indptr[i] : indptr[i + 1]]
        at = indices[indptr[i] : indptr[i + 1]]
        score, xx = b, one
        for j in range(x.shape[0]):
            score += w[np.uint64(at[j])] * x[j]
            xx += x[j] * x[j]
        t += v[i] if by_weight else 1.0
        c = step(score, y[i], v[i], math.sqrt(eta / (eta + t)), xx, loss)
        for j in range(x.shape[0]):
            w[np.uint64(at[j])] += c * x[j]
        b += one * c
    if intercept:
        w[d] = b
    return t


@_jit
def pass_csr(w, t, data, indices, indptr, y, v, order, eta, by_weight, loss, intercept):
    """`pass_dense` for CSR rows."""
    if loss == SQUARED:
        return _csr(w, t, data, indices, indptr, y, v, order, eta, by_weight, SQUARED, intercept)
    if loss == HINGE:
        return _csr(w, t, data, indices, indptr, y, v, order, eta, by_weight, HINGE, intercept)
    return _csr(w, t, data, indices, indptr, y, v, order, eta, by_weight, LOGISTIC, intercept)


@_jit
def look_dense(w, X, score, xx):
    """Fill score = w.x and xx = x.x for every row; return the first row that is not finite, or -1."""
    d = X.shape[1]
    one, b = (1.0, w[d]) if w.shape[0] > d else (0.0, 0.0)
    bad = -1
    for i in range(X.shape[0]):
        x = X[i]
        s, n = b, one
        for j in range(d):
            s += w[j] * x[j]
            n += x[j] * x[j]
        score[i] = s
        xx[i] = n
        if bad < 0 and not n < math.inf:
            bad = i
    return bad


@_jit
def look_csr(w, data, indices, indptr, score, xx, intercept):
    """`look_dense` for CSR rows."""
    one, b = (1.0, w[w.shape[0] - 1]) if intercept else (0.0, 0.0)
    bad = -1
    for i in range(indptr.shape[0] - 1):
        x = data[indptr[i] : indptr[i + 1]]
        at = indices[indptr[i] : indptr[i + 1]]
        s, n = b, one
        for j in range(x.shape[0]):
            s += w[np.uint64(at[j])] * x[j]
            n += x[j] * x[j]
        score[i] = s
        xx[i] = n
        if bad < 0 and not n < math.inf:
            bad = i
    return bad


@_jit
def weighted_errors(score, y, v):
    """Sum of v over the rows whose score is 0 or has the wrong sign."""
    total = 0.0
    for i in range(y.shape[0]):
        if score[i] * y[i] <= 0.0:
            total += v[i]
    return total


@_jit
def judge_dense(w, X, slope, y, inside):
    """Fill y with the sign of w.x (+1 at 0) and inside with |w.x| <= slope x.x.

    Returns the first row that is not finite, or -1. A row of zeros is inside only if the slope is infinite.
    """
    d = X.shape[1]
    bad = -1
    for i in range(X.shape[0]):
        x = X[i]
        s, n = 0.0, 0.0
        for j in range(d):
            s += w[j] * x[j]
            n += x[j] * x[j]
        y[i] = 1.0 if s >= 0.0 else -1.0
        inside[i] = slope == math.inf or (n > 0.0 and abs(s) <= slope * n)
        if bad < 0 and not n < math.inf:
            bad = i
    return bad


@_jit
def judge_csr(w, data, indices, indptr, slope, y, inside):
    """`judge_dense` for CSR rows."""
    bad = -1
    for i in range(indptr.shape[0] - 1):
        x = data[indptr[i] : indptr[i + 1]]
        at = indices[indptr[i] : indptr[i + 1]]
        s, n = 0.0, 0.0
        for j in range(x.shape[0]):
            s += w[np.uint64(at[j])] * x[j]
            n += x[j] * x[j]
        y[i] = 1.0 if s >= 0.0 else -1.0
        inside[i] = slope == math.inf or (n > 0.0 and abs(s) <= slope * n)
        if bad < 0 and not n < math.inf:
            bad = i
    return bad


@_jit
def least(q0, inside):
    """The least q0 among the rows inside; 1 if there is none."""
    lowest = 1.0
    for i in range(q0.shape[0]):
        if inside[i] and q0[i] < lowest:
            lowest = q0[i]
    return lowest


@_jit
def _mix(bits):
    """The finaliser of SplitMix64: every bit of the result depends on every input bit."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@_jit
def keys_dense(bits, salt, key):
    """Add to each row's key a hash of its values, which are given as bit patterns; zeros add nothing."""
    for i in range(bits.shape[0]):
        x = bits[i]
        total = np.uint64(0)
        for j in range(x.shape[0]):
            if x[j] << np.uint64(1) != np.uint64(0):  # 0.0 and -0.0
                total += _mix(x[j] ^ salt[j])
        key[i] += total


@_jit
def keys_csr(bits, indices, indptr, salt, key):
    """`keys_dense` for CSR rows: the same rows get the same keys."""
    for i in range(indptr.shape[0] - 1):
        total = np.uint64(0)
        for j in range(indptr[i], indptr[i + 1]):
            if bits[j] << np.uint64(1) != np.uint64(0):
                total += _mix(bits[j] ^ salt[np.uint64(indices[j])])
        key[i] += total


@_jit
def hash_texts(content, lengths, key):
    """A 64-bit hash of each text; their bytes follow one another in `content` (FNV-1a, then the bits mixed)."""
    at = 0
    for i in range(lengths.shape[0]):
        bits = np.uint64(0xCBF29CE484222325)
        for j in range(at, at + lengths[i]):
            bits = (bits ^ np.uint64(content[j])) * np.uint64(0x100000001B3)
        at += lengths[i]
        key[i] = _mix(bits)
