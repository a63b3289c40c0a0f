"""The scores of this package's models, step by step as ONNX operators."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from skl2onnx.algebra import onnx_ops as ops
from skl2onnx.proto import onnx_proto

from unskew.models.bayes import BayesianLogistic
from unskew.models.features import Features
from unskew.models.laplace import Posterior
from unskew.models.team import Team
from unskew.models.trees import Trees
from unskew.rows import Floats

DOUBLE, INT64 = onnx_proto.TensorProto.DOUBLE, onnx_proto.TensorProto.INT64
OPSET = {"": 18, "ai.onnx.ml": 3}
"""The oldest versions with all operators used here, so that older runtimes can read the file."""
VERSION = {"op_version": OPSET[""]}


def log_odds(X: Any, model: Team | BayesianLogistic) -> Any:
    """The log-odds of rows X, which are numbers in double precision; members of a team without weight are left out.

    Of more than two classes, scores with a column for each class, whose softmax is the probabilities.
    """
    if isinstance(model, BayesianLogistic):
        return _logistic(_columns(X, model.features_), model)
    columns = _columns(X, model.members_[0].features_)
    parts = [
        ops.OnnxMul(_of(member, columns), np.array([a]), **VERSION)
        for member, a in zip(model.members_, model.weights_, strict=True)
        if a
    ]
    return ops.OnnxSum(*parts, **VERSION)


def _of(member: BayesianLogistic | Trees, columns: Any) -> Any:
    return _trees(columns, member.trees) if isinstance(member, Trees) else _logistic(columns, member)


def _columns(X: Any, features: Features) -> Any:
    """`Features.columns`: the rows' own columns, projected if there are too many."""
    if features._project is None:
        return X
    components = features._project.components_.toarray()
    return ops.OnnxMatMul(X, np.ascontiguousarray(components.T), **VERSION)


def _logistic(columns: Any, model: BayesianLogistic) -> Any:
    """`BayesianLogistic.decision_function`, before it is normalised."""
    F = _expand(columns, model)
    scores = [_moderated(F, posterior) for posterior in model.posteriors_]
    if len(scores) == 1:
        return scores[0]
    return ops.OnnxMul(ops.OnnxConcat(*scores, axis=1, **VERSION), np.array([model.sharpness_]), **VERSION)


def _moderated(F: Any, found: Posterior) -> Any:
    """`moderated`: the log-odds of features F under a posterior."""
    mean = ops.OnnxMatMul(F, found.mode[:, None], **VERSION)
    inverse: Floats = solve_triangular(found.L, np.eye(len(found.mode)), lower=True)
    U = ops.OnnxMatMul(F, np.ascontiguousarray(inverse.T), **VERSION)  # Posterior.root, transposed
    variance = ops.OnnxReduceSumSquare(U, np.array([1]), keepdims=1, **VERSION)
    widened = ops.OnnxAdd(ops.OnnxMul(variance, np.array([np.pi / 8.0]), **VERSION), np.array([1.0]), **VERSION)
    return ops.OnnxDiv(mean, ops.OnnxSqrt(widened, **VERSION), **VERSION)


def _expand(columns: Any, model: BayesianLogistic) -> Any:
    """`Features.__call__`: a constant 1, the linear block and, where the prior has one, the Fourier block."""
    features = model.features_
    indicators = [_indicators(columns, j, values) for j, values in features._codes]
    rows = ops.OnnxConcat(columns, *indicators, axis=1, **VERSION) if indicators else columns
    centred = ops.OnnxSub(rows, features._mean, **VERSION)
    d = len(features._mean)
    one = ops.OnnxAdd(ops.OnnxMatMul(centred, np.zeros((d, 1)), **VERSION), np.array([1.0]), **VERSION)
    parts = [one, ops.OnnxDiv(centred, features._spread * np.sqrt(d), **VERSION)]
    if model.prior_.fourier:
        # Deviations are divided out here: onnxruntime rounds a constant beside a product to single precision
        directions = features._directions / (features.median * model.prior_.scale) / features._spread[:, None]
        angle = ops.OnnxMatMul(centred, directions, **VERSION)
        width = np.array([np.sqrt(directions.shape[1])])
        parts += [ops.OnnxDiv(wave(angle, **VERSION), width, **VERSION) for wave in (ops.OnnxCos, ops.OnnxSin)]
    return ops.OnnxConcat(*parts, axis=1, **VERSION)


def _indicators(columns: Any, j: int, values: Floats) -> Any:
    """One column for each value of column j: 1 in the rows with that value, 0 in the others."""
    column = ops.OnnxGather(columns, np.array([j]), axis=1, **VERSION)
    return ops.OnnxCast(ops.OnnxEqual(column, values[None, :], **VERSION), to=DOUBLE, **VERSION)


def _trees(columns: Any, trees: Sequence[Any]) -> Any:
    """`Trees.log_odds`: of two classes, leaves have the share of one."""
    shares = np.concatenate([t.value[:, :, 0] for t in trees])
    said = ops.OnnxGather(shares, _leaves(columns, trees), axis=0, **VERSION)
    votes, K = ops.OnnxReduceSum(said, np.array([1]), keepdims=0, **VERSION), max(shares.shape[1], 2)
    softened = ops.OnnxDiv(ops.OnnxAdd(votes, np.array([1.0 / K]), **VERSION), np.array([len(trees) + 1.0]), **VERSION)
    if shares.shape[1] > 1:
        return ops.OnnxLog(softened, **VERSION)
    return ops.OnnxLog(ops.OnnxDiv(softened, ops.OnnxSub(np.array([1.0]), softened, **VERSION), **VERSION), **VERSION)


def _leaves(columns: Any, trees: Sequence[Any]) -> Any:
    """The number of the leaf of each tree that a row falls into; nodes of all trees are numbered one after the other.

    The operator's results are in single precision. So the trees do not say the shares of classes in a leaf, but the
    leaf's number, which is exact; the shares are then looked up in double precision.
    """
    nodes = [np.arange(tree.node_count) for tree in trees]
    tree = np.repeat(np.arange(len(trees)), [len(some) for some in nodes])
    node = np.concatenate(nodes)
    feature, left, right = (
        np.concatenate([getattr(t, name) for t in trees]) for name in ("feature", "children_left", "children_right")
    )
    leaf, cut = left < 0, _rounded_down(np.concatenate([t.threshold for t in trees]))
    number = ops.OnnxTreeEnsembleRegressor_3(
        ops.OnnxCast(columns, to=onnx_proto.TensorProto.FLOAT, **VERSION),  # as scikit-learn does
        n_targets=len(trees),
        nodes_treeids=tree.tolist(),
        nodes_nodeids=node.tolist(),
        nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_featureids=np.where(leaf, 0, feature).tolist(),
        nodes_values=np.where(leaf, 0.0, cut).tolist(),
        nodes_truenodeids=np.where(leaf, 0, left).tolist(),
        nodes_falsenodeids=np.where(leaf, 0, right).tolist(),
        target_treeids=tree[leaf].tolist(),
        target_nodeids=node[leaf].tolist(),
        target_ids=tree[leaf].tolist(),
        target_weights=np.flatnonzero(leaf).astype(np.float64).tolist(),
        op_version=OPSET["ai.onnx.ml"],
    )
    return ops.OnnxCast(number, to=INT64, **VERSION)


def _rounded_down(thresholds: Floats) -> Any:
    """Thresholds in single precision, for rows in single precision: the same rows are below them as before.

    >>> _rounded_down(np.array([0.1, 0.5])).tolist()
    [0.09999999403953552, 0.5]
    """
    single = thresholds.astype(np.float32)
    return np.where(single > thresholds, np.nextafter(single, np.float32(-np.inf)), single)
