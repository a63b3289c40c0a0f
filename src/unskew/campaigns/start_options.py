"""What `start` takes, each option described once: a new one is a field here, and its use.

`Campaign.create`, `unskew start`, the page and its JSON interface, the ledger's record and the
reference read these descriptions. Nothing heavy is imported here, since `unskew --help` does too.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, TypedDict

from unskew.campaigns.options import Option, Page, described
from unskew.errors import InputError, exact
from unskew.estimation.costs import EQUAL, LEAST, MOST, Costs
from unskew.methods.registry import POOL_METHODS

POOL_LABELS = ("known", "logged", "ignore")
"""What becomes of labels in a pool: they stand for their own rows, are a log's, or are not used."""

SAME_IDS = ("refuse", "merge", "separate")
"""What becomes of ids in log and pool: an error, one person each, or two different ones each."""

KINDS = ("number", "category", "ordinal", "boolean", "date", "text", "embedding", "ignore")
"""What a column may be said to hold."""

COST = f"a number from {LEAST:g} to {MOST:g}"
RATIO = "Only the ratio of the two costs decides: try 10 and 1."

MOST_LABELS = 10**9

YEAR = 525_600
"""In minutes."""


def _costs(cost_false_negative: float = 1.0, cost_false_positive: float = 1.0) -> Costs:
    return Costs(cost_false_positive, cost_false_negative)


def _lease(lease: float) -> timedelta:
    if not 0 < lease <= YEAR:
        rule = f"above 0 and at most {YEAR} minutes, a year"
        raise InputError(f"--lease must be {rule}; got {exact(lease)}. Try --lease 30.")
    return timedelta(minutes=lease)


def _classes(classes: str) -> list[str]:
    """Classes as they are typed: NEG,POS."""
    names = [name.strip() for name in classes.split(",")]
    if len(names) < 2:
        remedy = "Try --classes no,yes."
        raise InputError(f"--classes must be two names or more; got {classes!r}. {remedy}")
    return names


def parsed(types: Sequence[str]) -> dict[str, str]:
    """The types of columns as they are typed.

    >>> parsed(["age=number", "size=ordinal:small,large", "a=b=text"])
    {'age': 'number', 'size': 'ordinal:small,large', 'a=b': 'text'}
    """
    kinds: dict[str, str] = {}
    for option in types:
        parts = re.fullmatch(r"(.+?)=([^=:]+)(:.*)?", option, re.DOTALL)
        if parts is None:
            remedy = f"Name a column and one of {', '.join(KINDS)}."
            raise InputError(f"--type is like age=number; got {option!r:.60}. {remedy}")
        column, word, order = parts.groups()
        if column in kinds:
            raise InputError(f"--type names {column!r} twice. Give a column one type.")
        kinds[column] = word + (order or "")
    return kinds


def _recipe(model: str | None, model_parameters: str | None) -> dict[str, Any]:
    """A classifier of the user's own, by name and parameters."""
    given = model_parameters
    if model is None:
        raise InputError(f"--model-parameters needs --model; got {given!r:.60}. Name the model.")
    example = """Try --model-parameters '{"n_estimators": 50}'."""
    try:
        parameters = json.loads(given or "{}")
    except (ValueError, RecursionError) as error:
        problem = f"got {given!r:.60}: {error}. {example}"
        raise InputError(f"--model-parameters must be JSON; {problem}") from None
    if not isinstance(parameters, dict):
        raise InputError(f"--model-parameters must be a JSON object; got {given!r:.60}. {example}")
    return {"class": model, "parameters": parameters}


class Tables(TypedDict):
    """The tables of a campaign, which every `start` names."""

    log: Annotated[
        Any,
        Option(
            "The log: rows with and without a label. CSV, Parquet, Arrow, or a folder of such "
            "files. Several logs: --log a.csv --log b.csv.",
            metavar="PATH",
            typed_as=list[str],
            about="Rows with and without a label: the path of a CSV, Parquet or Arrow file, a "
            "folder or glob of such files of one kind, or a Polars or pandas frame. Several logs "
            "are a list. Of more than 200,000 rows, some are kept (`tables.log_files`).",
            reference="The log, with labelled and unlabelled rows: .csv, .csv.gz, .tsv, .parquet, "
            ".arrow or .feather, or a folder or pattern of such files of one kind. Of more than "
            "200,000 rows, [some are kept](../scaling.md#long-logs). Give it more than once for "
            "[several logs](../howto/several-logs.md).",
        ),
    ]
    pool: Annotated[
        Any,
        Option(
            "The rows that may be asked for. CSV, Parquet, Arrow, or a folder of such files.",
            metavar="PATH",
            typed_as=str,
            about="The rows that may be asked for, as a path or frame. Its files stay where they "
            "are if they are several, or one with more than 200,000 rows. All others are copied "
            "into `dir`.",
            reference="The rows that may be asked for: a file like the log, or a folder or "
            "pattern of such files of one kind, which [stay where they "
            "are](../howto/run-a-campaign.md#a-pool-of-many-files). It has the log's columns; "
            "label and propensity may be missing. Labels that it has [are "
            "used](../howto/several-logs.md#a-pool-that-has-labels).",
        ),
    ]
    label: Annotated[
        str,
        Option(
            "The log's column of labels, empty where unknown.",
            reference="The log's column of labels, of 2 to 100 classes. The label is empty where "
            "it is not known, or `NA`, `n/a`, `null`, `NaN`, `None`, `-` or `?`.",
            recorded="label",
            pages=(
                Page(
                    step="columns",
                    kind="column",
                    label="Label",
                    hint="What is to be predicted. Empty where it is unknown.",
                    of="log",
                    none="Choose a column",
                ),
            ),
        ),
    ]


class Options(TypedDict, total=False):
    """What may be chosen beside the tables."""

    propensity: Annotated[
        str | None,
        Option(
            "The log's column of propensities. Default: they are estimated.",
            about="The log's column of propensities; without it, they are estimated. The pool may "
            "have it too: the log's decision, had the row been in the log. It is used in weights.",
            reference="The log's column of propensities. Every row has one, in (0, 1].",
            usual="estimated",
            recorded="propensity",
            pages=(
                Page(
                    step="columns",
                    kind="column",
                    label="Propensity",
                    hint="How likely each row of the log was to get a label.",
                    of="log",
                    none="None: estimated",
                ),
            ),
        ),
    ]
    id: Annotated[
        str | None,
        Option(
            "The pool's column of ids. Default: row-1, row-2, ...",
            reference="The pool's column of ids.",
            usual="row-1, row-2, ...",
            recorded="id",
            pages=(
                Page(
                    step="columns",
                    kind="column",
                    label="Id",
                    hint="Tells rows of the pool apart.",
                    of="pool",
                    none="None: rows are counted",
                ),
            ),
        ),
    ]
    policy: Annotated[
        str | None,
        Option(
            "The log's column of who decided. Propensities are estimated within each.",
            flag="--policy-column",
            reference="The log's column of who decided on a row. Propensities are "
            "[estimated within each](../howto/several-logs.md#one-log-several-policies).",
            recorded="policy",
            pages=(
                Page(
                    step="columns",
                    kind="column",
                    part="more",
                    label="Who decided",
                    hint="The log’s column of who or what decided on a row, if there were several.",
                    of="log",
                    none="None: one policy",
                ),
            ),
        ),
    ]
    pool_labels: Annotated[
        str,
        Option(
            "Labels in the pool: known, logged (with propensities of their own) or ignore.",
            default="known",
            choices=POOL_LABELS,
            about="What becomes of labels in the pool: known (each stands for its own row), "
            "logged (those of a second log, with propensities of their own) or ignore "
            "(`tables.pool_labels`).",
            reference="Labels in the pool: `known` (each stands for its own row), `logged` (those "
            "of a second log, with propensities of their own) or `ignore`.",
            pages=(
                Page(
                    step="columns",
                    kind="choice",
                    part="more",
                    label="Labels in the pool",
                    says={
                        "known": "known: they are used",
                        "logged": "logged: as those of the log",
                        "ignore": "ignore: rows may be asked for again",
                    },
                ),
            ),
        ),
    ]
    same_ids: Annotated[
        str,
        Option(
            "Ids in both log and pool: refuse, merge, or separate (different people).",
            default="refuse",
            choices=SAME_IDS,
            about="What becomes of ids in both tables: refuse, merge (each row is in one of them) "
            "or separate (different people).",
            reference="Ids in both log and pool: `refuse`, `merge` (each row is in one of them), "
            "or `separate` (different people).",
            pages=(
                Page(
                    step="columns",
                    kind="choice",
                    part="more",
                    label="Rows of both log and pool",
                    says={
                        "refuse": "refuse: there must be none",
                        "merge": "merge: the same people",
                        "separate": "separate: different people",
                    },
                ),
            ),
        ),
    ]
    budget: Annotated[
        int,
        Option(
            "The number of labels that may be bought.",
            default=500,
            least=1,
            most=MOST_LABELS,
            example=500,
            reference="The number of labels that may be bought. A skipped row does not count. "
            "[It can change](#unskew-budget).",
            recorded="budget",
            pages=(
                Page(
                    step="begin",
                    kind="number",
                    label="Budget",
                    hint="Labels that people may give. It can be changed later.",
                ),
            ),
        ),
    ]
    method: Annotated[
        str,
        Option(
            f"{', '.join(POOL_METHODS)}, or your own as module:Class.",
            default="Unskew",
            about="A method that works on a pool: a name in `unskew.methods.registry`, or your "
            "own as ``module:Class``.",
            reference="Unskew, MarginSampling, WeightedMarginSampling or RandomLabels, or "
            "[your own](../howto/add-a-method.md) as `module:Class`.",
            recorded="method",
        ),
    ]
    model: Annotated[
        Any,
        Option(
            "Learn with this classifier.",
            about="Learn with this classifier instead of the method's own: one that scikit-learn "
            'can clone, whose `fit` takes `sample_weight`, or ``"module:Class"``, or '
            '``{"class": "module:Class", "parameters": {...}}``.',
            recorded="model",
            parts=(
                Option(
                    "Learn with this classifier, such as lightgbm:LGBMClassifier.",
                    name="model",
                    type=str | None,
                    metavar="MODULE:CLASS",
                    reference="[Learn with this classifier](../howto/base-model.md#in-a-campaign): "
                    "`module:Class`, or a function that returns one. It takes weights.",
                    usual="the method's own",
                ),
                Option(
                    """Its parameters, such as '{"n_estimators": 50}'.""",
                    name="model_parameters",
                    type=str | None,
                    metavar="JSON",
                    reference="""Its parameters as a JSON object: `'{"n_estimators": 50}'`.""",
                    usual="its defaults",
                ),
            ),
            join=_recipe,
        ),
    ]
    drawn: Annotated[
        float,
        Option(
            "Share of the labels drawn at random, on which the error estimate rests.",
            default=0.5,
            least=0,
            most=1,
            remedy="A good first value is 0.5.",
            reference="The share of the labels that is drawn at random. The error estimate is based on them.",
            recorded="drawn",
            pages=(
                Page(
                    step="begin",
                    kind="percent",
                    label="Drawn at random, %",
                    hint="The error is measured on these. The others are chosen to learn most.",
                ),
            ),
        ),
    ]
    costs: Annotated[
        Costs,
        Option(
            "What errors cost.",
            default=EQUAL,
            about="What a missed positive and a false alarm cost. They decide who is flagged and asked for.",
            parts=(
                Option(
                    "What it costs to miss a row of the positive class.",
                    name="cost_false_negative",
                    type=float,
                    default=1.0,
                    least=LEAST,
                    most=MOST,
                    rule=COST,
                    remedy=RATIO,
                    reference="What it costs to miss a row of the positive class, from 0.000001 "
                    "to 1000000. [Say what errors cost](../howto/costs.md).",
                    recorded="cost_false_negative",
                    pages=(Page(step="begin", kind="number", part="more", label="Cost of a missed positive"),),
                ),
                Option(
                    "What it costs to flag a row of the negative class.",
                    name="cost_false_positive",
                    type=float,
                    default=1.0,
                    least=LEAST,
                    most=MOST,
                    rule=COST,
                    remedy=RATIO,
                    reference="What it costs to flag a row of the negative class. Only the ratio of the two decides.",
                    recorded="cost_false_positive",
                    pages=(Page(step="begin", kind="number", part="more", label="Cost of a false alarm"),),
                ),
            ),
            join=_costs,
        ),
    ]
    recall: Annotated[
        float | None,
        Option(
            "Share of the positive class to find, instead of costs: 0.9, for instance.",
            least=0,
            most=1,
            within=True,
            remedy="To find nine in ten positive rows, pass 0.9.",
            about="The share of all positives to find, instead of costs. The threshold then follows "
            "the scores of the model that is fitted.",
            reference="Instead of costs, the share of the positive class that is to be found, in "
            "(0, 1). [A wanted recall](../howto/costs.md#a-wanted-recall).",
            recorded="recall",
            pages=(
                Page(
                    step="begin",
                    kind="percent",
                    part="more",
                    label="Wanted recall, %",
                    hint="Instead of costs: the share of all positives to find.",
                ),
            ),
        ),
    ]
    store: Annotated[
        str | None,
        Option(
            "postgresql://user@host/database. Default: a file in DIR.",
            metavar="URL",
            about="``postgresql://user@host/database``; the password may be in ~/.pgpass. By default, "
            "the ledger is a file in `dir`.",
            reference="`postgresql://user@host/database`, for a team.",
            usual="a file in DIR",
        ),
    ]
    classes: Annotated[
        Sequence[str] | None,
        Option(
            "The classes, of two the negative one first.",
            metavar="NEG,POS",
            typed_as=str | None,
            join=_classes,
            about="(negative, positive) or more, if the log does not show every one or they are "
            "to be in another order.",
            reference="The two classes as `NEG,POS`, or all of more: `A,B,C`. Name them if the "
            "log does not show all of them, or for another order.",
            usual="from the log",
            recorded="classes",
            pages=(
                Page(
                    step="columns",
                    kind="names",
                    part="more",
                    label="Classes",
                    hint="All of them, separated by commas, if the log does not show every one.",
                ),
            ),
        ),
    ]
    lease: Annotated[
        timedelta,
        Option(
            "Minutes for which a row is kept for the person who asked.",
            default=timedelta(minutes=30),
            least=timedelta(seconds=1),
            most=timedelta(days=365),
            rule="from a second to a year",
            remedy="A good first value is half an hour.",
            typed_as=float,
            typed_default=30.0,
            join=_lease,
            about="For how long a row is kept for the person who asked.",
            reference="The number of minutes for which a row is reserved for the person who "
            "asked; at most 525600, which is a year.",
            recorded="lease_seconds",
        ),
    ]
    seed: Annotated[
        int,
        Option("Seeds everything random.", default=0, least=0, example=0, recorded="seed"),
    ]
    look: Annotated[
        int,
        Option(
            "Consider only N rows, drawn at random, in each round. 0 looks at all.",
            default=0,
            least=0,
            rule="a whole number of rows, or 0 for all of them",
            example=50000,
            metavar="N",
            about="Consider only this number of rows, drawn at random, in each round. 0 looks at all.",
            reference="Consider only this number of rows, drawn at random, in each round. "
            "0 looks at all of them, which takes longer if the pool is large.",
            recorded="look",
        ),
    ]
    types: Annotated[
        Mapping[str, str] | None,
        Option(
            "What a column holds: number, category, ordinal, boolean, date, text, embedding or "
            "ignore. Repeatable. An order is given as size=ordinal:small,medium,large.",
            flag="--type",
            metavar="COLUMN=TYPE",
            typed_as=list[str] | None,
            join=parsed,
            about="What columns hold where they look like something else: "
            '``{"zip": "category", "size": "ordinal:S,M,L"}``.',
            reference="What a column holds, as `COLUMN=TYPE`: [number, category, ordinal, "
            "boolean, date, text, embedding or "
            "ignore](../howto/audit.md#say-what-a-column-holds). Repeatable.",
            usual="as it looks",
            recorded="given",
            pages=(Page(step="columns", kind="own"),),
        ),
    ]
    hash: Annotated[
        bool,
        Option(
            "Keep a SHA-256 of each file of the pool, for `unskew status --hash`.",
            default=False,
            about="Keep the SHA-256 of every file of a pool that stays where it is, for `check_hashes`.",
            reference="Keep a SHA-256 of each file of a pool that stays where it is, for `unskew status --hash`.",
        ),
    ]


class Start(Tables, Options):
    """Everything that `Campaign.create` takes of a campaign itself."""


START = described(Start)
"""All options of `start`, by name, in their order."""
