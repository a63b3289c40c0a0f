"""A row as a person reads it: names in words, numbers with units, dates, links, pictures."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

Kind = Literal["text", "number", "boolean", "date", "link", "image", "missing"]

LONG = 80
"""A text with more characters than this gets the whole width."""
MOST = 20_000
"""The most characters of one value that are sent to the page. The number of the others is shown."""
ADDRESS = 2048
"""The most characters of an address. Longer ones are shown as text."""
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg")
UNITS = {
    "eur": "EUR", "usd": "USD", "gbp": "GBP", "chf": "CHF", "pct": "%", "percent": "%", "kg": "kg", "cm": "cm",
    "mm": "mm", "km": "km", "ms": "ms", "years": "years", "months": "months", "weeks": "weeks", "days": "days",
    "hours": "hours", "minutes": "minutes", "seconds": "seconds",
}  # fmt: skip
NOT_QUANTITIES = {"id", "year", "code", "zip", "postcode", "phone", "no"}
"""Words in names of columns whose numbers are not quantities: a year is 2026, not 2,026."""

_IMAGE_DATA = re.compile(r"data:image/(png|jpe?g|gif|webp|avif|svg\+xml)[;,]", re.I)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a row, ready to be shown. `exact` is the full value where `text` is shorter."""

    name: str
    kind: Kind
    text: str
    exact: str | None = None
    href: str | None = None
    wide: bool = False


def fields(values: Mapping[str, Any], names: Mapping[str, str] | None = None) -> list[Field]:
    """The values of a row, in the order of its columns; `names` are those that columns are shown under.

    >>> for field in fields({"income_eur": 41250.0, "yearsEmployed": 3.14159, "is_member": True, "note": None}):
    ...     print(f"{field.name}: {field.text}")
    Income: 41,250 EUR
    Years employed: 3.142
    Is member: Yes
    Note: missing
    """
    shown = [(_field(column, value), (names or {}).get(column)) for column, value in values.items()]
    return [replace(field, name=name) if name else field for field, name in shown]


class Columns(NamedTuple):
    """The columns that people see, each with the name it is shown under, "" for its own. Empty: all but the id."""

    chosen: tuple[tuple[str, str], ...]
    id: str | None

    def values(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """What people may see of a row, in order. The page shows its id elsewhere.

        >>> Columns((("debt", "Debts"),), "id").values({"id": 7, "age": 30, "debt": 0.5})
        {'debt': 0.5}
        """
        columns = [column for column, _ in self.chosen] or [column for column in row if column != self.id]
        return {column: row[column] for column in columns if column in row}

    def fields(self, row: Mapping[str, Any]) -> list[Field]:
        """The same, as a person reads it."""
        return fields(self.values(row), dict(self.chosen))


def name_of(column: str) -> str:
    """The name a column is shown under by itself.

    >>> name_of("income_eur")
    'Income'
    """
    return _name_and_unit(column)[0]


@lru_cache(maxsize=1000)
def humanise(column: str) -> str:
    """The name of a column in words.

    >>> humanise("debt_ratio"), humanise("monthlyIncome"), humanise("HIV status"), humanise("y")
    ('Debt ratio', 'Monthly income', 'HIV status', 'y')
    """
    apart = re.sub(r"(?<=[a-z\d])(?=[A-Z][a-z])", " ", column).replace("_", " ").replace("-", " ")
    words = [w if w.isupper() and len(w) > 1 else w.lower() for w in apart.split()]
    if not words or len(column) == 1:
        return column
    words[0] = words[0][0].upper() + words[0][1:]
    return " ".join(words)


def number(value: float, *, quantity: bool = True) -> str:
    """A number with thousands separators, rounded to the digits that a person reads.

    >>> number(1234567), number(1234.5), number(0.123456), number(-3.0), number(2026, quantity=False), number(3.2e-7)
    ('1,234,567', '1,234.5', '0.1235', '−3', '2026', '3.2 × 10⁻⁷')
    """
    if not math.isfinite(value):
        return "missing" if math.isnan(value) else "−∞" if value < 0 else "∞"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    if isinstance(value, int):
        text = f"{value:,}" if quantity else str(value)
    elif abs(value) < 1e-4 or abs(value) >= 1e15:
        digits, _, power = f"{value:.3e}".partition("e")
        raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        text = f"{digits.rstrip('0').rstrip('.')} × 10{raised}"
    else:
        places = max(0, 3 - math.floor(math.log10(abs(value)))) if abs(value) < 1000 else 2
        text = f"{value:,.{places}f}".rstrip("0").rstrip(".")
    return text.replace("-", "−") if value < 0 else text


def cut(value: Any) -> Any:
    """The value. Of a text with more than `MOST` characters, the beginning and the number of those left out.

    >>> cut([0.1, 0.2, 0.3])
    '3 numbers'
    """
    if isinstance(value, list):  # an embedding, which nobody reads
        return f"{len(value)} numbers"
    if not isinstance(value, str) or len(value) <= MOST:
        return value
    return f"{value[:MOST]}… and {len(value) - MOST:,} more characters"


def _field(column: str, value: Any) -> Field:
    name, unit = _name_and_unit(column)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Field(name, "missing", "missing")
    if isinstance(value, bool):
        return Field(name, "boolean", "Yes" if value else "No")
    if isinstance(value, int | float):
        quantity = NOT_QUANTITIES.isdisjoint(humanise(column).lower().split())
        text = number(value, quantity=quantity)
        shown = f"{text} %" if unit == "%" else f"{text} {unit}" if unit else text
        exact = repr(value)
        return Field(name, "number", shown, None if exact in (text, f"{text}.0") else exact)
    return _text(humanise(column), str(cut(value) if isinstance(value, list) else value))


@lru_cache(maxsize=1000)
def _name_and_unit(column: str) -> tuple[str, str | None]:
    """The name in words and, if it ends in a unit, that unit: "income_eur" is an income in EUR."""
    stem, _, last = column.rpartition("_")
    unit = UNITS.get(last.lower()) if stem else None
    return (humanise(stem), unit) if unit else (humanise(column), None)


def _text(name: str, value: str) -> Field:
    bare = value.strip()
    if _IMAGE_DATA.match(bare):
        return Field(name, "image", "a picture in the data", href=bare, wide=True)
    kind = _address(bare)
    if kind is not None:
        return Field(name, kind, bare, href=bare, wide=kind == "image" or len(bare) > LONG)
    moment = _moment(bare)
    if moment:
        return Field(name, "date", moment, bare)
    return Field(name, "text", cut(value), wide=len(value) > LONG or "\n" in value)


def _address(value: str) -> Literal["link", "image"] | None:
    """Whether the text is the address of a page or of a picture; None if it is neither."""
    if len(value) > ADDRESS or len(value.split()) != 1:
        return None
    try:
        parts = urlsplit(value)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return None
    return "image" if parts.scheme == "https" and parts.path.lower().endswith(PICTURES) else "link"


def _moment(value: str) -> str | None:
    """A date, or a date and a time, in words; None if the text is neither."""
    try:
        if _DAY.fullmatch(value):
            day = date.fromisoformat(value)
            return f"{day.day} {day:%B %Y}"
        if _MOMENT.fullmatch(value):
            at = datetime.fromisoformat(value)
            zone = f" {at.tzname()}" if at.tzinfo else ""
            if not (at.hour or at.minute or at.second or zone):
                return f"{at.day} {at:%B %Y}"
            return f"{at.day} {at:%B %Y, %H:%M}{zone}"
    except ValueError:
        return None
    return None
