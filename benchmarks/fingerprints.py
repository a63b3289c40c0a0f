"""Has a change moved any result, if only in its last bit? Hashes of what many small cases compute.

    python -m benchmarks.fingerprints --out before.json [--only WORD] [--jobs N]
    python -m benchmarks.fingerprints --out after.json --against before.json

A case is a method on a pool or a stream, a classifier, or a whole campaign with its report, with two classes or more.
Every number and text that it gives has a name and a hash. With `--against`, names whose hashes differ are listed.
"""

import argparse
import hashlib
import json
import os
import re
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from scipy import sparse
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from unskew import Costs, LoggedData, StoppingRule, StreamedUnskew, Unskew
from unskew.campaigns import Campaign
from unskew.campaigns.audit.log_audit import audit_log
from unskew.campaigns.exchange.export import export
from unskew.campaigns.report.audit_page import html
from unskew.campaigns.report.report import gather, render
from unskew.errors import InputError
from unskew.methods import registry
from unskew.models.bayes import BayesianLogistic
from unskew.models.team import Team

CLASSES = {2: ("no", "yes"), 3: ("ash", "beech", "oak"), 10: tuple(f"c{k}" for k in range(10))}
MEASURES = ("error", "log_loss", "precision", "recall", "f1", "balanced_error", "auc", "cost")
WHEN = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00)?")


def hashed(value):
    """A hash of exactly this value."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        content = str((value.dtype, value.shape)).encode() + np.ascontiguousarray(value).tobytes()
    elif isinstance(value, bytes):
        content = value
    elif isinstance(value, str):
        content = WHEN.sub("WHEN", value).encode()
    elif isinstance(value, pl.DataFrame):
        content = value.write_csv(float_precision=17).encode()
    elif isinstance(value, np.ndarray):
        content = repr(value.tolist()).encode()
    else:
        content = WHEN.sub("WHEN", repr(value)).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def tried(compute):
    """What this computes, or the message of its refusal."""
    try:
        return compute()
    except InputError as error:
        return f"{type(error).__name__}: {error}"


def rows(K, n, seed):
    """Columns of several kinds, the class of every row, and the chance that a log has revealed it."""
    functions = np.random.default_rng(100 + K).normal(size=(2, 4, K))
    rng = np.random.default_rng([seed, K, n])
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 4, n)])
    scores = 1.5 * X @ functions[0] + np.sin(2.0 * X @ functions[1]) + rng.gumbel(size=(n, K)) / 2.0
    scores -= scores.mean(axis=0)
    return X, scores.argmax(axis=1), 0.6 * expit(1.5 * X[:, 0] - 0.3) + 0.1, rng


def shaped(X, kind, seed=5):
    """The same rows dense, sparse, or with a block of a hundred columns whose scales compare."""
    if kind == "sparse":
        return sparse.csr_array(np.where(np.abs(X) > 0.4, X, 0.0))
    if kind == "vectors":
        wide = np.random.default_rng(seed).normal(size=(X.shape[1], 100))
        return np.column_stack([X, np.tanh(X @ wide)])
    return X


def scene(K, kind="dense", n=150, pool=400, log="given"):
    X, k, q0, rng = rows(K, n, 1)
    P, truth, p0, _ = rows(K, pool, 2)
    names = np.array(CLASSES[K], dtype=object)
    z = rng.random(n) < q0
    blocks = ((X.shape[1], X.shape[1] + 100),) if kind == "vectors" else ()
    X, P = shaped(X, kind), shaped(P, kind)
    if log == "labelled":
        data = LoggedData(X[z], names[k[z]], q0=1.0, classes=list(CLASSES[K]), blocks=blocks)
        return data, P, None, names[truth]
    data = LoggedData(
        X, np.where(z, names[k], None), z, q0, classes=list(CLASSES[K]), blocks=blocks, q0_estimated=log == "estimated"
    )
    return data, P, p0, names[truth]


def seen_of(method, X, K, more=True):
    """Everything that can be asked of a method on a pool or a stream."""
    yield "predict", method.predict(X)
    yield "log_odds", tried(lambda: method.log_odds(X))
    yield "score", tried(lambda: method.score(X))
    model = method.model_
    yield "proba", model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)
    if K == 2:
        yield "infer", method.infer(X)
    for measure in MEASURES:
        yield f"error {measure}", tried(lambda m=measure: method.error(m))
    everyone = tried(method.everyone)
    if isinstance(everyone, str):
        yield "everyone", everyone
        return
    group = np.concatenate([np.asarray(p.sum(axis=1)).ravel() for p in method.observed(whole=True).parts])
    yield "error where", tried(lambda: method.error(where=group > 0.0))
    shown = len(np.unique(_names(method.log_))) > 1
    other = LogisticRegression(max_iter=200)
    if shown:
        other.fit(method.log_.revealed_X, _names(method.log_))
    for measure in ("error", "log_loss", "recall", "auc") if shown else ():
        yield f"against {measure}", tried(lambda m=measure: method.error(m, against=other))
    if K == 2:
        for t in (0.1, 0.7):
            for measure in MEASURES:
                yield f"threshold {t} {measure}", tried(lambda m=measure, t=t: method.error(m, threshold=t))
    else:
        for measure in ("error", "recall", "precision", "f1", "auc"):
            yield f"of {measure}", tried(lambda m=measure: method.error(m, of=CLASSES[K][1]))
    yield "margin", everyone.margin
    yield "trusted", str(everyone.log)
    yield "doubts", everyone.doubts(np.flatnonzero(everyone.design.labelled))
    yield "alone", tried(everyone.labelled_alone().estimate)
    yield "of_error", everyone.of_error()[2]
    if K == 2:
        yield "thresholds", tried(everyone.over_thresholds)
        yield "costs_for", everyone.costs_for(0.8)
    else:
        yield "confusion", tried(everyone.confusion)
        yield "of_class", tried(lambda: everyone.of_class(0))
    if not more:
        return
    yield "labels_for", tried(lambda: method.labels_for(0.05))
    if K == 2:
        yield "stop", tried(lambda: StoppingRule()(method))
    for member in method.members() if hasattr(method, "members") else ():
        yield f"member {member.weight!r}", tried(member.alone.error)


def _names(log):
    y = log.revealed_y
    return log.classes[(y > 0).astype(int)] if log.K == 2 else log.classes[y.astype(int) - 1]


def on_pool(method, K, kind="dense", log="given", turns=3, k=15, more=True, **sizes):
    data, pool, q0, truth = scene(K, kind, log=log, **sizes)
    method.start(data, pool, q0)
    for turn in range(turns):
        asked = method.ask(k)
        batch = method.pending
        yield f"round {turn}", (batch.positions.tolist(), batch.p.tolist(), batch.spread)
        answers = truth[np.asarray(asked)].copy()
        if turn == 1:
            answers[2] = None
        method.tell(answers)
    some = pool[:300]
    yield from seen_of(method, some, K, more)


def large(method, K):
    """A pool in which rows first get a quick look, or are sampled."""
    yield from on_pool(method, K, pool=51_000, turns=2, more=False)


def on_stream(method):
    data, X, q0, truth = scene(2)
    method.start(data, X.shape[0])
    for turn in range(6):
        at = slice(30 * turn, 30 * turn + 30)
        asked = 30 * turn + method.ask(X[at], q0[at])
        yield f"round {turn}", np.asarray(asked)
        method.tell(truth[asked])
    yield from seen_of(method, X, 2, more=False)


def classifier(model, K, kind):
    X, k, _, rng = rows(K, 200, 4)
    new = shaped(rows(K, 3_000, 6)[0], kind)
    X, v = shaped(X, kind), rng.exponential(size=200)
    model.fit(X, np.array(CLASSES[K])[k], sample_weight=v)
    yield "predict", model.predict(new)
    yield "proba", model.predict_proba(new)
    yield "decision", model.decision_function(new)
    yield "few", model.decision_function(new[:1])
    if isinstance(model, Team):
        yield "weights", model.weights_


def tables(K, folder, n=240, pool=360, text=False, vector=False):
    def frame(count, seed):
        X, k, q0, rng = rows(K, count, seed)
        made = pl.DataFrame(
            {
                "id": [f"r{seed}-{i}" for i in range(count)],
                "a": X[:, 0],
                "b": pl.Series(np.where(rng.random(count) < 0.1, np.nan, X[:, 1])).fill_nan(None),
                "region": np.array(["north", "south", "west", "east"])[X[:, 3].astype(int)],
                "member": X[:, 2] > 0,
            }
        )
        if text:
            words = np.array(["red fox", "blue whale", "green tree", "old town"])[X[:, 3].astype(int)]
            odd = rng.choice(["runs", "sleeps", "waits", "falls"], count)
            written = [f"the {w} {o} number {rng.integers(10**6)}" for w, o in zip(words, odd, strict=True)]
            made = made.with_columns(story=pl.Series(written))
        if vector:
            wide = np.tanh(X @ np.random.default_rng(5).normal(size=(4, 12)))
            made = made.with_columns(place=pl.Series(wide.tolist(), dtype=pl.List(pl.Float64)))
        return made, np.array(CLASSES[K], dtype=object)[k], q0, rng

    log, label, q0, rng = frame(n, 1)
    z = rng.random(n) < q0
    log = log.with_columns(kind=pl.Series(np.where(z, label, None).tolist()), q0=pl.Series(q0))
    log.write_parquet(folder / "log.parquet")
    rest, truth, p0, _ = frame(pool, 2)
    rest.with_columns(q0=pl.Series(p0)).write_parquet(folder / "pool.parquet")
    return folder, dict(zip(rest["id"], truth.tolist(), strict=True)), rest


def campaign(K, budget=60, text=False, vector=False, propensity="q0", extend=False, sizes=None, **how):
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_CACHE_HOME"] = os.environ["XDG_CONFIG_HOME"] = place
        folder, truth, rest = tables(K, Path(place), text=text, vector=vector, **(sizes or {}))
        if propensity is None:
            bare = pl.read_parquet(folder / "log.parquet").drop("q0")
            bare.write_parquet(folder / "log.parquet")
            rest.write_parquet(folder / "pool.parquet")
        given = {"label": "kind", "propensity": propensity, "id": "id", "budget": budget, "classes": CLASSES[K]}
        began = tried(
            lambda: Campaign.create(
                folder / "made", log=folder / "log.parquet", pool=folder / "pool.parquet", **(given | how)
            )
        )
        if isinstance(began, str):
            yield "refused", began
            return
        with began as made:
            for turn in range(3):
                asked = made.ask(15, by="ann")
                yield f"asked {turn}", [(row.id, row.reason, row.probability) for row in asked]
                if turn == 2:
                    asked = asked[:9]
                made.tell({row.id: truth[row.id] for row in asked}, by="ann")
                if extend and turn == 0:
                    grown = rest.with_columns(id=pl.lit("id") + pl.col("id"), q0=pl.Series(rows(K, len(rest), 2)[2]))
                    made.extend(grown if propensity else grown.drop("q0"))
                    truth |= {f"id{name}": label for name, label in list(truth.items())}
            made.close_due()
            status = made.status()
            yield "status", [status.told, status.prospect, status.aim, status.decision, status.noise]
            for measure in MEASURES:
                yield f"error {measure}", tried(lambda m=measure: made.error(m))
            for of in CLASSES[K][:2] if K > 2 else ():
                for measure in ("error", "recall", "precision", "f1"):
                    yield f"{measure} of {of}", tried(lambda m=measure, of=of: made.error(m, of=of))
            yield "where", tried(lambda: made.error(where="region = north"))
            for measure in ("error", "log_loss"):
                yield f"against {measure}", tried(lambda m=measure: made.error(m, against=0))
                yield f"against model {measure}", tried(lambda m=measure: made.error(m, against=made.model()))
            yield "history", made.history()
            yield "doubts", made.doubts()
            yield "measures", tried(made.measuring().measures)
            yield "members", tried(made.measuring().members)
            yield "classes", tried(made.measuring().classes) if K > 2 else None
            yield "confusion", tried(made.measuring().confusion) if K > 2 else None
            yield "importance", tried(made.importance)
            yield "why", tried(lambda: made.why(next(iter(truth))))
            new = tables(K, Path(place), text=text, vector=vector, n=20, pool=50)[2]
            yield "predict", made.predict(new.with_columns(id=pl.lit("n") + pl.col("id")))
            page = render(gather(made))
            yield "report", page.replace(made.digest(), "DIGEST")
            out = export(made, folder / "model")
            yield "onnx", str(out.no_onnx)
            if out.no_onnx is None:
                import onnxruntime

                session = onnxruntime.InferenceSession((folder / "model" / "model.onnx").read_bytes())
                named = _inputs(made.model(), new)
                label, p = session.run(None, named)
                yield "onnx label", np.asarray(label, dtype=object)
                yield "onnx p", p


def _inputs(pipeline, frame):
    plain = pipeline["features"]["columns"].transform(frame)
    kinds = pipeline["features"]["columns"].kinds
    return {
        name: plain[name].to_numpy().astype(object if kind == "category" else np.float64)[:, None]
        for name, kind in kinds.items()
    }


def audit(K, only_labelled=False):
    with tempfile.TemporaryDirectory() as place:
        folder, _, _ = tables(K, Path(place))
        log = pl.read_parquet(folder / "log.parquet")
        if only_labelled:
            log = log.drop_nulls("kind").drop("q0")
            pl.read_parquet(folder / "pool.parquet").drop("q0").write_parquet(folder / "pool.parquet")
        few = log["kind"].value_counts().filter(pl.col("count") < 2)["kind"].to_list()
        log = log.with_columns(kind=pl.when(~pl.col("kind").is_in(few)).then("kind"))
        log.write_parquet(folder / "log.parquet")
        pool = folder / "pool.parquet" if only_labelled else None
        found = audit_log(folder / "log.parquet", "kind", None if only_labelled else "q0", "id", pool=pool)
        yield "json", json.dumps(found.as_dict(), default=str)
        yield "page", html(found, "log.parquet")


def cases():
    """Every case by name, as a function that yields what it computes, with names."""
    found = {}
    own = {
        "forest": RandomForestClassifier(7),
        "svm": LinearSVC(),
        "bayes": BayesianLogistic(),
        "team": Team([LogisticRegression()]),
    }
    ours = {"bayes": BayesianLogistic(random_state=1), "team": Team(random_state=1)}
    for K in CLASSES:
        for kind in ("dense", "sparse", "vectors"):
            found[f"K{K} pool {kind}"] = partial(on_pool, Unskew(random_state=3), K, kind)
            for name, model in ours.items():
                found[f"K{K} fit {name} {kind}"] = partial(classifier, model, K, kind)
        for log in ("estimated", "labelled"):
            found[f"K{K} pool {log}"] = partial(on_pool, Unskew(random_state=3), K, log=log)
        for name in registry.POOL_METHODS[1:]:
            found[f"K{K} {name}"] = partial(on_pool, registry.method_named(name)(random_state=3), K)
        for name, model in own.items():
            found[f"K{K} own {name}"] = partial(on_pool, Unskew(model=model, random_state=3), K)
        found[f"K{K} cold"] = partial(on_pool, Unskew(random_state=3), K, n=12, turns=4)
        found[f"K{K} look"] = partial(on_pool, Unskew(look=100, random_state=3), K)
        found[f"K{K} large"] = partial(large, Unskew(random_state=3), K)
        found[f"K{K} audit"] = partial(audit, K)
        found[f"K{K} audit labelled"] = partial(audit, K, only_labelled=True)
        found[f"K{K} campaign"] = partial(campaign, K)
        found[f"K{K} campaign text"] = partial(campaign, K, text=True, propensity=None)
        found[f"K{K} campaign vector"] = partial(campaign, K, vector=True)
        found[f"K{K} campaign own"] = partial(campaign, K, model=RandomForestClassifier(5))
        found[f"K{K} campaign bayes"] = partial(campaign, K, model=BayesianLogistic())
        found[f"K{K} campaign grown"] = partial(campaign, K, extend=True)
        found[f"K{K} campaign costs"] = partial(campaign, K, costs=Costs(false_negative=4.0))
    costs = Costs(false_negative=5.0, false_positive=2.0)
    found["K2 costs"] = partial(on_pool, Unskew(costs=costs, random_state=3), 2)
    found["K2 recall"] = partial(on_pool, Unskew(recall=0.9, random_state=3), 2)
    found["K2 large costs"] = partial(large, Unskew(costs=costs, random_state=3), 2)
    found["K2 large bayes"] = partial(large, Unskew(model=BayesianLogistic(), random_state=3), 2)
    found["K2 costs forest"] = partial(on_pool, Unskew(costs=costs, model=own["forest"], random_state=3), 2)
    found["K2 campaign recall"] = partial(campaign, 2, recall=0.9)
    for name, entry in registry.REGISTRY.items():
        if entry.works_on == "stream" and name != "ExactIDBAL":
            found[f"K2 stream {name}"] = partial(on_stream, registry.method_named(name)(random_state=3))
    for name, model in own.items():
        found[f"K2 stream own {name}"] = partial(on_stream, StreamedUnskew(model=model, random_state=3))
    return found


def computed(name):
    """The hashes of one case by name, and a short form of each value."""
    found = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for what, value in cases()[name]():
                short = repr(value if not isinstance(value, str) else value[:200])
                found[f"{name}: {what}"] = [hashed(value), " ".join(short.split())[:300]]
        except Exception as error:
            found[f"{name}: failed"] = [hashed(str(error)), f"{type(error).__name__}: {error}"[:300]]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    words = parser.parse_args()
    names = [name for name in cases() if words.only in name]
    with ProcessPoolExecutor(words.jobs) as workers:
        found = {key: value for one in workers.map(computed, names) for key, value in one.items()}
    if words.out is not None:
        words.out.write_text(json.dumps(found, indent=1))
    print(f"{len(found)} results of {len(names)} cases")
    for key, (_, short) in found.items():
        if key.endswith(": failed"):
            print(f"{key}: {short}")
    if words.against is not None:
        before = {k: v for k, v in json.loads(words.against.read_text()).items() if words.only in k.split(":")[0]}
        for key in dict.fromkeys([*before, *found]):
            was, now = before.get(key, ["", "-"]), found.get(key, ["", "-"])
            if was[0] != now[0]:
                print(f"{key}\n    {was[1]}\n    {now[1]}")


if __name__ == "__main__":
    main()
