"""Models as ONNX beside the pipelines that they were made of."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import polars as pl
from sklearn.pipeline import Pipeline

TOLERANCE = 1e-12
"""Between probabilities from ONNX and from scikit-learn: both are in double precision, sums in another order."""


def agree(written: bytes | Path, pipeline: Pipeline, frame: pl.DataFrame) -> Any:
    """Assert that both give the same labels, and the same probabilities up to rounding; return the labels."""
    label, probabilities = run_onnx(written, pipeline, frame)
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(frame), rtol=0.0, atol=TOLERANCE)
    expected = pipeline.predict(frame)
    assert label.tolist() == (expected if expected.dtype.kind in "iu" else expected.astype(str)).tolist()
    return label


def run_onnx(written: bytes | Path, pipeline: Pipeline, frame: pl.DataFrame) -> tuple[Any, Any]:
    """Label and probabilities, the columns given as the file's own description says."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(written, options, providers=["CPUExecutionProvider"])
    assert "One input for each column" in session.get_modelmeta().description
    columns = pipeline["features"]["columns"]
    plain = columns.transform(frame)
    types = {one.name: object if one.type == "tensor(string)" else np.float64 for one in session.get_inputs()}
    assert list(types) == list(columns.kinds)
    inputs = {name: plain[name].to_numpy().astype(kind).reshape(-1, 1) for name, kind in types.items()}
    label, probabilities = session.run(None, inputs)
    return label, probabilities
