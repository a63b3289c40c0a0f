"""A campaign's pipeline as ONNX, in double precision throughout.

skl2onnx assembles the parts and converts those of scikit-learn. Our own conversions are for our own parts, and for
scikit-learn's imputer, which onnxruntime does not have in double precision.
"""

import json
import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skl2onnx import convert_sklearn, update_registered_converter
from skl2onnx.algebra import onnx_ops as ops
from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from unskew.campaigns.exchange.onnx_log_odds import DOUBLE, INT64, OPSET, VERSION, log_odds
from unskew.campaigns.tables.encoding import MISSING, PlainColumns
from unskew.errors import InputError
from unskew.models.bayes import BayesianLogistic
from unskew.models.team import Team

INPUTS = (
    f"One input for each column, of shape (rows, 1). Numbers as double, NaN where missing; booleans as 0.0 and 1.0; "
    f"dates as days since 1970-01-01; categories as text, {MISSING!r} where missing. The metadata name what each "
    "column holds, and the classes in the order of the probabilities."
)

OURS = (Team, BayesianLogistic)
"""The models that can be written."""

CONVERTED = ("number", "boolean", "date", "category")
"""What columns may hold."""


class NotConvertible(InputError):
    """A model that cannot be written as ONNX."""


def to_onnx(pipeline: Pipeline) -> bytes:
    """The pipeline as an ONNX model with the outputs `label` and `probabilities`; `INPUTS` says what it takes.

    Inputs have the very names of the columns. What cannot be written is refused before any of it is converted.

    >>> import onnxruntime, polars as pl
    >>> from unskew.campaigns.tables.encoding import encoder
    >>> log = pl.DataFrame({"income": [1.5, None, 3.0, 0.5], "region": ["north", "south", "north", "east"]})
    >>> columns = encoder(log, {"income": "number", "region": "category"})
    >>> model = BayesianLogistic(random_state=0).fit(columns.transform(log), ["paid", "late", "paid", "late"])
    >>> written = to_onnx(Pipeline([("features", columns), ("model", model)]))
    >>> session = onnxruntime.InferenceSession(written)
    >>> session.run(["label"], {"income": np.array([[2.5]]), "region": np.array([["north"]], dtype=object)})[0]
    array(['paid'], dtype=object)
    """
    features, decides = pipeline["features"], pipeline["model"]
    own = isinstance(decides, FixedThresholdClassifier)  # a threshold of its own (`unskew.models.classifiers.deciding`)
    model = decides.estimator_ if own else decides
    _check_model(model)
    _check_columns(features)
    update_registered_converter(PlainColumns, "UnskewPlainColumns", _typed_already, _columns, parser=_columns_parser)
    for kind in OURS:
        options = {"zipmap": [True, False, "columns"], "threshold": None}
        update_registered_converter(kind, f"Unskew{kind.__name__}", _model_shapes, _model, options=options)
    threshold = math.log(decides.threshold / (1.0 - decides.threshold)) if own else 0.0
    kinds = features["columns"].kinds
    outputs = [_free(name, kinds) for name in ("label", "probabilities")]
    converted = convert_sklearn(
        Pipeline([*features.steps, ("model", model)]),
        name="unskew",
        initial_types=[(name, _column_type(kind == "category")) for name, kind in kinds.items()],
        final_types=[(name, None) for name in outputs],
        target_opset=OPSET,
        options={id(model): {"zipmap": False, "threshold": threshold}},
        custom_conversion_functions={SimpleImputer: _imputer},
        custom_shape_calculators={SimpleImputer: _imputer_shape},
        doc_string=INPUTS,
    )
    _rename(converted.graph, list(kinds), outputs)
    for key, value in {"columns": dict(kinds), "classes": _classes(model).tolist()}.items():
        converted.metadata_props.add(key=key, value=json.dumps(value, ensure_ascii=False))
    return bytes(converted.SerializeToString())


def _check_model(model: Any) -> None:
    if not isinstance(model, OURS):
        got = type(model).__name__
        raise NotConvertible(f"only Team and BayesianLogistic can be written as ONNX; got {got}. Use model.joblib.")
    if isinstance(model, Team) and len(model.others):
        got = ", ".join(type(other).__name__ for other in model.others)
        raise NotConvertible(f"a team with further members cannot be written as ONNX; got {got}. Use model.joblib.")


def _check_columns(features: Pipeline) -> None:
    """Refuse a column that holds something else, or whose features are made by a step that is not known here."""
    for name, kind in features["columns"].kinds.items():
        if kind not in CONVERTED:
            raise NotConvertible(
                f"column {name!r} holds {kind}, which cannot be written as ONNX. Use model.joblib, or begin a campaign "
                f"without the column: --type {name}=ignore."
            )
    for _, part, names in features["matrix"].transformers_:
        if not isinstance(part, (SimpleImputer, OneHotEncoder, FunctionTransformer)) and part != "passthrough":
            raise NotConvertible(
                f"the features of column {names[0]!r} come from {type(part).__name__}, which cannot be written as "
                f"ONNX. Use model.joblib, or begin a campaign without the column: --type {names[0]}=ignore."
            )


def _rename(graph: Any, inputs: list[str], outputs: list[str]) -> None:
    """Give inputs and outputs their names back: in a name such as "x y", skl2onnx replaces the blank."""
    ends = [*graph.input, *graph.output]
    names = {end.name: name for end, name in zip(ends, [*inputs, *outputs], strict=True)}
    for end in ends:
        end.name = names[end.name]
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]


def _free(name: str, taken: Collection[str]) -> str:
    """The name, followed by underscores until no column has it: otherwise skl2onnx would rename the column."""
    return _free(f"{name}_", taken) if name in taken else name


def _columns_parser(scope: Any, columns: PlainColumns, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """One variable for each column, under the name by which the next step looks for it."""
    operator = scope.declare_local_operator("UnskewPlainColumns", columns)
    operator.inputs.extend(inputs)
    for name in columns.get_feature_names_out():
        text = columns.kinds.get(name) == "category"
        operator.outputs.append(scope.declare_local_variable(name, _column_type(text)))
    return list(operator.outputs)


def _column_type(text: bool) -> Any:
    return StringTensorType([None, 1]) if text else DoubleTensorType([None, 1])


def _typed_already(operator: Any) -> None:
    """Nothing to do: `_columns_parser` gave the types along with the names."""


def _columns(scope: Any, operator: Any, container: Any) -> None:
    """`PlainColumns`, for columns that are plain already: it only adds the marks of missing values."""
    columns: PlainColumns = operator.raw_operator
    given = dict(zip(columns.kinds, operator.inputs, strict=True))
    named = [{"output_names": [output.full_name], **VERSION} for output in operator.outputs]
    for column, name in zip(given.values(), named, strict=False):
        ops.OnnxIdentity(column, **name).add_to(scope, container)
    for column, name in zip(columns.missing, named[len(given) :], strict=True):
        ops.OnnxCast(ops.OnnxIsNaN(given[column], **VERSION), to=DOUBLE, **name).add_to(scope, container)


def _imputer_shape(operator: Any) -> None:
    width = len(operator.raw_operator.statistics_)
    operator.outputs[0].type = DoubleTensorType([operator.inputs[0].get_first_dimension(), width])


def _imputer(scope: Any, operator: Any, container: Any) -> None:
    """Missing numbers become the log's medians."""
    X = operator.inputs[0]
    named = {"output_names": [operator.outputs[0].full_name], **VERSION}
    missing = ops.OnnxIsNaN(X, **VERSION)
    ops.OnnxWhere(missing, operator.raw_operator.statistics_[None, :], X, **named).add_to(scope, container)


def _classes(model: Any) -> NDArray[Any]:
    """Whole numbers stay whole numbers, everything else becomes text."""
    whole = model.classes_.dtype.kind in "iu"
    return model.classes_.astype(np.int64) if whole else np.array([str(c) for c in model.classes_])


def _model_shapes(operator: Any) -> None:
    rows = operator.inputs[0].get_first_dimension()
    classes = _classes(operator.raw_operator)
    operator.outputs[0].type = Int64TensorType([rows]) if classes.dtype.kind == "i" else StringTensorType([rows])
    operator.outputs[1].type = DoubleTensorType([rows, len(classes)])


def _model(scope: Any, operator: Any, container: Any) -> None:
    """`predict` and `predict_proba` of a team or of a logistic regression."""
    model: Team | BayesianLogistic = operator.raw_operator
    label, probabilities = ({"output_names": [output.full_name], **VERSION} for output in operator.outputs)
    X = ops.OnnxCast(operator.inputs[0], to=DOUBLE, **VERSION)  # single if all are categories
    found = log_odds(X, model)
    if len(model.classes_) > 2:
        ops.OnnxSoftmax(found, axis=1, **probabilities).add_to(scope, container)
        place = ops.OnnxArgMax(found, axis=1, keepdims=0, **VERSION)
    else:
        positive = ops.OnnxSigmoid(found, **VERSION)
        negative = ops.OnnxSub(np.array([1.0]), positive, **VERSION)
        ops.OnnxConcat(negative, positive, axis=1, **probabilities).add_to(scope, container)
        threshold = np.array([container.get_options(model)["threshold"]])
        second = ops.OnnxCast(ops.OnnxGreaterOrEqual(found, threshold, **VERSION), to=INT64, **VERSION)
        place = ops.OnnxReshape(second, np.array([-1]), **VERSION)
    ops.OnnxGather(_classes(model), place, **label).add_to(scope, container)
