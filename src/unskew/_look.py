"""Compiled loops that look at many rows with a model: what its trees say, and the margin and its doubt in one go.

Arrays in, arrays out, nothing allocated, nothing validated. What comes out for a row depends on that row alone, to the
last bit, however the rows are cut into blocks. So rows go through in groups of a fixed size, side by side in vector
registers, and the last group is filled up with copies of the last row. The sums of each row are in a fixed order.
The compiler may neither reorder nor contract them, so every processor gets the same bits.

`tests/naive.py` holds a slow, obvious version of each kernel.
"""

import math

import numpy as np
from numba import njit

ROWS = 32
"""The number of rows side by side. Scratch arrays have this many entries for each feature."""

FELLOWS, GROUPS = 8, 64
"""Rows of a group lie side by side. Several groups go through one tree before the next, while the tree is in the
cache."""

NODE = np.dtype([("threshold", np.uint32), ("column", np.uint16), ("child", np.uint16)])
"""A node of a tree: a threshold, a column times FELLOWS, and the first of two children, which is at an even place."""

LEAF = np.uint32(0xFFFFFFFF)
"""The threshold of leaves. It is above all numbers."""

# Positions are unsigned, so that there is no test for negative ones
_ROWS = np.uint64(ROWS)
_0, _1, _2, _3, _4, _5, _6, _7 = (np.uint64(k) for k in range(8))

_SIGN, _TOP = np.int32(31), np.uint32(0x80000000)
_LARGEST = float(np.finfo(np.float32).max)

_FAR = 1e6
"""Standardised values further out count as this: squares of much larger ones overflow in single precision."""

# Quarter turns are taken off an angle in three parts, short enough for their products to be exact up to 8192. The
# polynomials are those of Cephes.
_TURNS, _ROUND, _WIDEST = np.float32(2.0 / math.pi), np.float32(12582912.0), np.float32(8192.0)
_PART1, _PART2, _PART3 = np.float32(1.5703125), np.float32(4.837512969970703125e-4), np.float32(7.54978995489188216e-8)
_S1, _S2, _S3 = np.float32(-1.6666654611e-1), np.float32(8.3321608736e-3), np.float32(-1.9515295891e-4)
_C1, _C2, _C3 = np.float32(4.166664568298827e-2), np.float32(-1.388731625493765e-3), np.float32(2.443315711809948e-5)
_HALF, _ONE = np.float32(0.5), np.float32(1.0)

_jit = njit(cache=True, nogil=True, fastmath=False, error_model="numpy")


@_jit
def votes(X, start, nodes, value, bits, single, said, total):
    """Fill total with the sum of what the trees say about each row, one tree after the other.

    The second child of a node follows the first; a leaf is its own first child, and nothing exceeds its threshold.
    Values and thresholds are compared as whole numbers in the order of the single-precision numbers that they stand
    for. `bits` and `single` are two views of the same memory.
    """
    n, d = X.shape
    size = d * FELLOWS
    for first in range(0, n, FELLOWS * GROUPS):
        groups = min(GROUPS, (n - first + FELLOWS - 1) // FELLOWS)
        for k in range(groups * FELLOWS):
            x, at = X[min(first + k, n - 1)], k // FELLOWS * size + k % FELLOWS
            for j in range(d):
                single[at + j * FELLOWS] = np.float32(min(max(x[j], -_LARGEST), _LARGEST)) + np.float32(0.0)  # no -0.0
        for j in range(groups * size):
            bits[j] ^= np.uint32(np.int32(bits[j]) >> _SIGN) | _TOP
        said[:] = 0.0
        for t in range(start.shape[0] - 1):
            tree, leaves = nodes[start[t] : start[t + 1]], value[start[t] : start[t + 1]]
            for g in range(groups):
                _descend(tree, leaves, bits[g * size :], said[g * FELLOWS :])
        for k in range(min(FELLOWS * GROUPS, n - first)):
            total[first + k] = said[k]


@_jit
def _descend(tree, leaves, bits, said):
    """Eight rows go down a tree at a time, because each step waits for memory; and three steps between tests."""
    a = b = c = d = e = f = g = h = _0
    while _shared(tree, a, b, c, d) & _shared(tree, e, f, g, h) != LEAF:
        for _ in range(3):
            a = _below(tree[a], bits, _0)
            b = _below(tree[b], bits, _1)
            c = _below(tree[c], bits, _2)
            d = _below(tree[d], bits, _3)
            e = _below(tree[e], bits, _4)
            f = _below(tree[f], bits, _5)
            g = _below(tree[g], bits, _6)
            h = _below(tree[h], bits, _7)
    said[_0] += leaves[a]
    said[_1] += leaves[b]
    said[_2] += leaves[c]
    said[_3] += leaves[d]
    said[_4] += leaves[e]
    said[_5] += leaves[f]
    said[_6] += leaves[g]
    said[_7] += leaves[h]


@_jit
def _shared(tree, a, b, c, d):
    """All bits that four thresholds share: those of a leaf if all are leaves."""
    return tree[a].threshold & tree[b].threshold & tree[c].threshold & tree[d].threshold


@_jit
def _below(node, bits, row):
    above = bits[np.uint64(node.column) + row] > node.threshold
    return np.uint64(node.child) | np.uint64(above)


@_jit
def gauge(X, recipe, turns, sketch, stake, rest, weights, trees, total, scratch, log_odds, score):
    """Fill the log-odds of each row, and what its label would settle.

    By the recipe, feature j is a column, or if code[j] is a number, whether the column is that number; mean and scale
    standardise it.
    In F, a row of ones comes first, then these features, then the cosines of the angles that `turns` makes of them,
    then the sines. The first row of `sketch` makes the margin of them all, the others the coordinates u. M is diagonal
    in these, with entries `stake`. `rest` is for what the sketch leaves out: the variance is a line of |u|^2, and u'Mu
    has a constant added. `weights` are those of this margin and of the trees, of which each says its share of `total`.
    """
    (column, code, mean, scale), (F, u, seen, at_stake) = recipe, scratch
    n, d, angles = X.shape[0], column.shape[0], turns.shape[0]
    plain, sines = turns.shape[1] * ROWS, (turns.shape[1] + angles) * ROWS
    for first in range(0, n, ROWS):
        for k in range(ROWS):
            x = X[min(first + k, n - 1)]
            for j in range(d):
                value = x[column[j]]
                if code[j] == code[j]:
                    value = 1.0 if value == code[j] else 0.0
                F[(j + 1) * ROWS + k] = np.float32(min(max((value - mean[j]) * scale[j], -_FAR), _FAR))
        product(turns, F[:plain], F[plain:sines])
        turn(F[plain:sines], F[sines:])
        product(sketch, F, u)
        seen[:] = 0.0
        at_stake[:] = rest[2]
        for j in range(stake.shape[0]):
            for k in range(ROWS):
                square = np.float64(u[(j + 1) * ROWS + k]) ** 2
                seen[k] += square
                at_stake[k] += stake[j] * square
        for k in range(ROWS):
            variance = max(seen[k], rest[0] + rest[1] * seen[k])
            shrink = math.sqrt(1.0 + math.pi / 8.0 * variance)
            odds = weights[0] * (np.float64(u[k]) / shrink)
            i = min(first + k, n - 1)
            if weights[1] != 0.0:
                p = (total[i] + 0.5) / (trees + 1.0)
                odds += weights[1] * math.log(p / (1.0 - p))
            small = math.exp(-abs(odds) * shrink)
            c = small / ((1.0 + small) * (1.0 + small))
            log_odds[i] = odds
            score[i] = c / (1.0 + c * variance) * at_stake[k]


@_jit
def product(A, F, out):
    """Fill out with A F, where F and out have ROWS entries for each feature.

    A has a multiple of four rows and an even number of columns. Sums of four rows are made side by side, since each
    addition waits for the one before it.
    """
    for i in range(np.uint64(0), np.uint64(A.shape[0]), _4):
        a, b, c, d = A[i], A[i + _1], A[i + _2], A[i + _3]
        here = out[i * _ROWS : (i + _4) * _ROWS]
        here[:] = np.float32(0.0)
        for j in range(np.uint64(0), np.uint64(A.shape[1]), _2):
            f = F[j * _ROWS : (j + _2) * _ROWS]
            a0, b0, c0, d0 = a[j], b[j], c[j], d[j]
            a1, b1, c1, d1 = a[j + _1], b[j + _1], c[j + _1], d[j + _1]
            for k in range(ROWS):
                f0, f1 = f[k], f[ROWS + k]
                here[k] = here[k] + a0 * f0 + a1 * f1
                here[ROWS + k] = here[ROWS + k] + b0 * f0 + b1 * f1
                here[2 * ROWS + k] = here[2 * ROWS + k] + c0 * f0 + c1 * f1
                here[3 * ROWS + k] = here[3 * ROWS + k] + d0 * f0 + d1 * f1


@_jit
def turn(cosine, sine):
    """Replace angles by their cosines, and fill in their sines, to about six digits; the loop has no calls."""
    for k in range(cosine.shape[0]):
        x = min(max(cosine[k], -_WIDEST), _WIDEST)
        quarters = (x * _TURNS + _ROUND) - _ROUND
        x = ((x - quarters * _PART1) - quarters * _PART2) - quarters * _PART3
        z = x * x
        s = x + x * z * (_S1 + z * (_S2 + z * _S3))
        c = _ONE - _HALF * z + z * z * (_C1 + z * (_C2 + z * _C3))
        q = np.int32(quarters)
        odd = q & np.int32(1)
        across, up = (s, c) if odd else (c, s)
        cosine[k] = -across if (q + np.int32(1)) & np.int32(2) else across
        sine[k] = -up if q & np.int32(2) else up
