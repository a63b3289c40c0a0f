"""The refusal of a whole file of answers, every problem listed by line."""

from collections.abc import Sequence

from unskew.errors import UnskewError


class Rejected(UnskewError):  # noqa: N818  # a file was rejected: said as a person says it
    """Answers that cannot all be taken, so none was. `problems` are (line, what is wrong), in order.

    >>> print(Rejected([(2, "unknown id '17'. Check it."), (5, "label 'x' is no class. Correct it.")]))
    2 problems, nothing was changed. Line 2: unknown id '17'. Check it. Line 5: label 'x' is no class. Correct it.
    """

    def __init__(self, problems: Sequence[tuple[int, str]]) -> None:
        self.problems = list(problems)
        told = " ".join(f"Line {line}: {what}" for line, what in self.problems)
        many = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        super().__init__(f"{many}, nothing was changed. {told}")
