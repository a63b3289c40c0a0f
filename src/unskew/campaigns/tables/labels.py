"""Labels as people write them, and the classes they mean."""

from collections.abc import Sequence


def canonical(said: str, classes: Sequence[str]) -> str | None:
    """The class that a text means: the same but for case and blanks around it, or the same number; None if none.

    >>> canonical("1.0", ["0", "1"]), canonical("True", ["false", "true"]), canonical("2", ["0", "1"])
    ('1', 'true', None)
    """
    if said in classes:
        return said
    plain = [name.strip().lower() for name in classes]
    if plain.count(said.strip().lower()) == 1:
        return classes[plain.index(said.strip().lower())]
    try:
        return next((name for name in classes if float(name) == float(said)), None)
    except ValueError:
        return None
