"""Labels as people write them, and the classes they mean."""

from collections.abc import Mapping, Sequence

from unskew.errors import InputError
from unskew.labels import MOST_CLASSES

LONGEST_CLASS = 1000
"""The most characters of a class's name: as many as the page takes in an answer."""
SHOWN = 20


def canonical(said: str, classes: Sequence[str]) -> str | None:
    """The class that a text means: the same but for case and blanks around it, or the same number; None if none.

    >>> canonical("1.0", ["0", "1"]), canonical("True", ["false", "true"]), canonical("2", ["0", "1"])
    ('1', 'true', None)
    >>> canonical("2.0", ["other", "1", "2"])
    '2'
    """
    if said in classes:
        return said
    plain = [name.strip().lower() for name in classes]
    if plain.count(said.strip().lower()) == 1:
        return classes[plain.index(said.strip().lower())]
    number = _number(said)
    return None if number is None else next((name for name in classes if _number(name) == number), None)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def keys(classes: Sequence[str]) -> tuple[str, ...]:
    """The key under which people find each class; none if there are more classes than keys.

    Of two classes the positive one is under 1 and the other under 0. More are counted from 1, unless each of them is
    a digit: then that is its key, so that nobody who reads a 3 and presses 3 says something else.

    >>> keys(["no", "yes"]), keys(["cat", "dog", "owl"]), keys(["0", "1", "2"]), keys(list("abcdefghij"))
    (('0', '1'), ('1', '2', '3'), ('0', '1', '2'), ())
    """
    if len(classes) == 2:
        return "0", "1"
    if set(classes) <= set("0123456789"):
        return tuple(classes)
    return tuple(str(k) for k in range(1, len(classes) + 1)) if len(classes) < 10 else ()


def check_classes(label: str, counted: Mapping[str, int], names: Sequence[str]) -> None:
    """Refuse labels that do not show which classes there are: fewer than two, too many, or one that may be a misprint.

    >>> check_classes("sort", {"a": 5, "b": 3, "bb": 1}, ["a", "b", "bb"])
    Traceback (most recent call last):
    unskew.errors.InputError: the label 'sort' has 3 classes, and one row alone is 'bb'. Correct it if it is a misprint;
    if it is a class, name all of them: --classes a,b,bb.
    """
    if len(names) < 2:
        told = "no row has one" if not names else f"all are {names[0]!r}"
        remedy = "Add labels of both classes, or name the classes: `unskew start` takes --classes NEG,POS."
        raise InputError(f"the label {label!r} must have two classes; {told}. {remedy}")
    some = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    if len(names) > MOST_CLASSES:
        raise InputError(
            f"the label {label!r} must have at most {MOST_CLASSES} classes; got {len(names):,}: {some}. Merge rare "
            "classes, or name another column."
        )
    once = next((name for name in names if counted[name] == 1), None)
    if len(names) > 2 and once is not None:
        every = ",".join(names) if len(names) <= 8 else f"{','.join(names[:3])},..."
        raise InputError(
            f"the label {label!r} has {len(names)} classes, and one row alone is {once!r}. Correct it if it is a "
            f"misprint; if it is a class, name all of them: --classes {every}."
        )


def check_names(label: str, names: Sequence[str]) -> None:
    """Refuse the name of a class that is too long.

    >>> check_names("paid", ["no", "y" * 1001])
    Traceback (most recent call last):
    unskew.errors.InputError: the name of a class may have at most 1,000 characters; 'yyyyyyyyyyyyyyyyyyyy'... of the
    label 'paid' has 1,001. Shorten it.
    """
    for name in names:
        if len(name) > LONGEST_CLASS:
            raise InputError(
                f"the name of a class may have at most {LONGEST_CLASS:,} characters; {name[:SHOWN]!r}... of the label "
                f"{label!r} has {len(name):,}. Shorten it."
            )
