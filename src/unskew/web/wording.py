"""Messages for the page: what the command line says with its options, said with what is to be chosen on the page."""

import re
from collections.abc import Mapping

RULES = [
    (r"keep it with '?--type [^;]+?=(\w+)'?(?=$|[.,;)])", r"to keep it, choose the type \1"),
    (r"leave (it|the column) out: --type .+?=ignore", r"leave \1 out: choose the type ignore"),
    (r"keep a column with --type", r"choose another type for a column that is left out"),
    (r"Write --type .+?=ordinal:low,medium,high", r"Write the order like low, medium, high"),
    (r"Give the order: --type .+?=ordinal:low,medium,high", r"Give the order, such as low, medium, high"),
    (r"column of --type", r"column"),
    (r"Leave its --type out", r"Leave its type as it is"),
    (r"Lists of numbers are --type .+?=embedding, and others --type .+?=ignore",
     r"Choose the type embedding for lists of numbers, and ignore for others"),
    (r"leave --id out", r"choose no id"),
    (r", or name the classes: `unskew start` takes --classes NEG,POS", r", or write both under “Classes”"),
    (r"name all of them: --classes (.+?)\.(?=$| )", r"write all of them under “Classes”: \1."),
    (r"must be given with --classes", r"must be written under “Classes”"),
    (r"Name a class of that name with --classes at `start`", r"Write a class of that name under “Classes”"),
    (r"[Nn]ame (its|their) column( of ids)? with --id", r"choose \1 column\2"),
    (r"name it with --policy-column", r"choose it under “Who decided”"),
    (r"\b([Pp])ass --pool-labels (\w+)", r"choose “\2” under “Labels in the pool”"),
    (r"--pool-labels (\w+)", r"“\1” under “Labels in the pool”"),
    (r"\b([Pp])ass --(?:overlap|same-ids) (\w+)", r"choose “\2” under “Rows of both log and pool”"),
    (r"--(?:overlap|same-ids) (\w+)", r"“\1” under “Rows of both log and pool”"),
    (r"give the classes with --classes at `start`", r"write all classes under “Classes”"),
    (r"name their column with --propensity", r"choose their column"),
    (r"drop it from the file and leave --propensity out", r"choose no column of propensities"),
    (r"a sample of everyone with --pool", r"a sample of everyone as the pool"),
    (r" Leave --pool out\.", r""),
    (r"Name another column", r"Choose another column"),
    (r"Name (their|its) column", r"Choose \1 column"),
]  # fmt: skip
"""What the command line says, as a pattern, and what the page says instead."""


def on_page(message: str, files: Mapping[str, str] | None = None) -> str:
    """The message for somebody who reads it on the page. `files` are the names that uploaded files had, by path.

    >>> on_page("nearly every value differs; keep it with --type note=text")
    'nearly every value differs; to keep it, choose the type text'
    >>> on_page("/srv/.uploads/x7/log/log.csv line 3: too few cells.", {"/srv/.uploads/x7/log/log.csv": "log.csv"})
    'log.csv line 3: too few cells.'
    """
    for path, name in (files or {}).items():
        message = message.replace(path, name)
    for pattern, said in RULES:
        message = re.sub(pattern, said, message)
    return re.sub(r"(?<=[.!?] )choose", "Choose", message)
