"""The part of `benchmarks.coverage` in which propensities were not recorded and have to be estimated."""

import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.sampling.propensity import estimate

NET = MLPClassifier((8,), activation="tanh", solver="lbfgs", alpha=20.0, random_state=0)
MODELS = {
    "default": None,
    "net": make_pipeline(StandardScaler(), NET),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
}
"""What `estimate` is given as `model=`. The net is one of the five default models. It was chosen because it costs a
fifth of all five, and for its q0 on eight logs of another seed. The logistic regression is too simple on purpose: no
policy's propensities rise or fall along a single direction."""

HOW = "dr wald"
"""The default estimator and interval."""


def found_out(s, name, number):
    """The log with estimated propensities, those of the pool, and their quality; None if they cannot be estimated."""
    log = s.log
    begin = time.process_time()
    try:
        found = estimate(log.X, log.z, model=MODELS[name], random_state=number)
    except InputError:  # too few labels to estimate from
        return None
    y = np.where(log.z, log.y, np.nan)
    guessed = LoggedData(log.X, y, log.z, found.q0, classes=log.classes, q0_estimated=True)
    factor = float(np.exp(np.abs(np.log(found.q0 / log.q0)).mean()))
    return guessed, found.Q0(s.X), {"factor": factor, "seconds": time.process_time() - begin}


def tables(runs, names, policies, models, summary):
    """For given and estimated propensities: coverage by data set and policy, and overall figures, as Markdown."""
    lines = [
        "| q0 | intervals | held, pool and test | held, test alone | bias | width | factor of q0 | processor seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    given = ("given", runs)
    variants = [given, *((name, [{**r, **r["estimated"][name]} for r in runs]) for name in models)]
    for name, these in variants:
        s = summary(these, HOW)
        factor, seconds = (np.mean([r[key] for r in these if key in r] or [np.nan]) for key in ("factor", "seconds"))
        lines.append(
            f"| {name} | {s['runs']} of {len(these)} | {share(s)} | {share(s, 'on_test')} | {s['bias']:+.4f} "
            f"| {s['width']:.3f} | " + ("| |" if name == "given" else f"{factor:.2f} | {seconds:.1f} |")
        )
    for name, these in variants:
        lines += ["", f"q0 {name}" if name == "given" else f"q0 estimated, {name}", ""]
        lines += ["| held, % (width) | " + " | ".join((*policies, "all")) + " |", "|---|" + "---:|" * 5]
        for dataset in (*names, "all"):
            cells = []
            for policy in (*policies, "all"):
                chosen = [
                    r
                    for r in these
                    if dataset in (r["dataset"], "all") and policy in (r["policy"], "all") and HOW in r["found"]
                ]
                s = summary(chosen, HOW) if chosen else None
                cells.append(f"{share(s, error='all' in (dataset, policy))} ({s['width']:.2f})" if s else "")
            lines.append(f"| {dataset} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def share(s, key="coverage", error=True):
    """A coverage in percent, with its standard error."""
    p = s[key]
    return f"{100 * p:.1f}" + (f" ± {100 * np.sqrt(p * (1 - p) / s['runs']):.1f}" if error else "")
