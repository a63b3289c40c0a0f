"""What the paper says of its results, and whether its tables, and a run of ours, bear it out in the claim's scope."""

from dataclasses import dataclass

import polars as pl

from unskew.experiments.paper import paper_auc
from unskew.experiments.summary import Summary
from unskew.methods.registry import PAPER_METHODS
from unskew.sampling.policies import POLICIES

CLOSE = 1.02
"""Up to this mean ratio, one method is called close to the other. The paper gives no number."""

ALIKE = 2
"""Two counts of best cells that differ by no more are called similar."""

Pair = tuple[str, str]
UNEQUAL = POLICIES[1:]
"""The policies under which propensities vary."""


@dataclass(frozen=True)
class Claim:
    """Something that the paper says of its results, most of it in Section 5.2, in our words."""

    said: str
    pairs: tuple[Pair, ...]
    policies: tuple[str, ...]
    rule: str = "majority"
    """What must hold for every pair under every policy: "majority" (of cells won), "close" (the mean ratio), "alike"
    (each of the pair is best of all in about as many cells), or "near" (the first one's AUC is close to the least of
    all in a majority of cells)."""


CLAIMS = (
    Claim(
        "IDBAL is the best of all, or close to it, on most data sets under all policies (from the introduction)",
        (("IDBAL", "Passive"),), POLICIES, "near",
    ),
    Claim(
        "IDBAL has a lower AUC than Passive and than DBALw on a majority of data sets under all policies",
        (("IDBAL", "Passive"), ("IDBAL", "DBALw")), POLICIES,
    ),
    Claim(
        "IDBAL is better than DBALwm, or close to it, under all policies other than Identical",
        (("IDBAL", "DBALwm"),), UNEQUAL, "close",
    ),
    Claim(
        "multiple importance sampling: DBALwm has a lower AUC than DBALw on a majority of data sets under all policies",
        (("DBALwm", "DBALw"),), POLICIES,
    ),
    Claim(
        "debiasing: IDBAL has a lower AUC than DBALwm under Uniform, Uncertainty and Certainty",
        (("IDBAL", "DBALwm"),), UNEQUAL,
    ),
    Claim(
        "under Identical, IDBAL and DBALwm are best of all on about as many data sets",
        (("IDBAL", "DBALwm"),), POLICIES[:1], "alike",
    ),
    Claim(
        "under Identical, both have a lower AUC than DBALw on most data sets",
        (("IDBAL", "DBALw"), ("DBALwm", "DBALw")), POLICIES[:1],
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """A claim, what the printed tables say of it, and what the run says."""

    said: str
    printed: str
    printed_holds: bool
    found: str
    holds: bool


def verdicts(summary: Summary) -> list[Verdict]:
    """The verdict on every claim for which all cells have results."""
    return [
        Verdict(claim.said, *_judged(claim, summary, printed=True), *_judged(claim, summary, printed=False))
        for claim in CLAIMS
        if all(policy in summary.policies and _complete(claim, summary, policy) for policy in claim.policies)
    ]


def _complete(claim: Claim, summary: Summary, policy: str) -> bool:
    """Whether all data sets have the claim's methods: all four of the paper where it speaks of the best."""
    wanted = len(summary.datasets)
    if claim.rule in ("near", "alike"):
        return len(_areas(summary, policy, printed=False)) == wanted
    rows = [_row(summary, policy, pair) for pair in claim.pairs]
    return all(row is not None and row["cells"] == wanted for row in rows)


def _judged(claim: Claim, summary: Summary, *, printed: bool) -> tuple[str, bool]:
    """The figures on which a claim rests, and whether it holds."""
    before = "paper_" if printed else ""
    told, holds = [], True
    for pair in claim.pairs:
        name = f"{pair[0]} / {pair[1]}: " if len(claim.pairs) > 1 else ""
        if claim.rule == "near":
            near = [_near(summary, policy, pair[0], printed=printed) for policy in claim.policies]
            told.append(f"{', '.join(map(str, near))} of {len(summary.datasets)}")
            holds = holds and all(2 * count > len(summary.datasets) for count in near)
            continue
        if claim.rule == "alike":
            counts = [_best(summary, claim.policies[0], method, printed=printed) for method in pair]
            told.append(f"{counts[0]} and {counts[1]}")
            holds = holds and abs(counts[0] - counts[1]) <= ALIKE
            continue
        rows = [row for policy in claim.policies if (row := _row(summary, policy, pair)) is not None]
        if claim.rule == "close":
            means = [float(row[f"{before}mean_ratio"]) for row in rows]
            told.append(name + ", ".join(f"{mean:.3f}" for mean in means))
            holds = holds and max(means) <= CLOSE
        else:
            won = [int(row[f"{before}won"]) for row in rows]
            cells = int(rows[0][f"{before}cells"])
            told.append(f"{name}{', '.join(map(str, won))} of {cells}")
            holds = holds and all(2 * count > cells for count in won)
    return "; ".join(told), holds


def _row(summary: Summary, policy: str, pair: Pair) -> dict[str, float] | None:
    found = summary.by_policy.filter(policy=policy, method=pair[0], against=pair[1])
    return found.row(0, named=True) if len(found) else None


def _best(summary: Summary, policy: str, method: str, *, printed: bool) -> int:
    """The number of data sets on which a method has the least AUC of the paper's four, alone or with others."""
    return sum(auc[method] == min(auc.values()) for auc in _areas(summary, policy, printed=printed))


def _near(summary: Summary, policy: str, method: str, *, printed: bool) -> int:
    """The number of data sets on which a method's AUC is close to the least of the paper's four."""
    return sum(auc[method] <= CLOSE * min(auc.values()) for auc in _areas(summary, policy, printed=printed))


def _areas(summary: Summary, policy: str, *, printed: bool) -> list[dict[str, float]]:
    """The AUC of each of the paper's methods, for each data set that has a result of all four."""
    found = []
    for dataset in summary.datasets:
        cells = summary.cells.filter(pl.col("policy") == policy, pl.col("dataset") == dataset)
        mine = {name: auc for name, auc in cells.select("method", "auc").iter_rows() if name in PAPER_METHODS}
        if len(mine) == len(PAPER_METHODS):
            found.append({name: paper_auc()[dataset, policy, name] for name in mine} if printed else mine)
    return found
