"""What goes over the wire: every request and answer of the JSON interface, as its schema shows them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Stand = Literal["rows", "choosing", "others", "done"]
# Letters by their ranges, without two that are spaces: what \w means, each reader of a schema decides for itself.
_LETTERS = r"0-9A-Z_a-z\u00c0-\u167f\u1681-\u1fff\u2c00-\u2fff\u3001-\ud7ff"
Name = Annotated[
    str,
    Field(min_length=1, max_length=40, pattern=rf"^[{_LETTERS}][{_LETTERS} .@'-]*$", examples=["ada"]),
]


class Strict(BaseModel):
    """Refuses what it does not know, so that a misspelt key is an error and not silence."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """Why a request was refused, in one line; `problems` has one line for each answer at fault."""

    detail: str
    problems: list[str] = []


class Entry(Strict):
    """What stands behind the # of a link."""

    code: str = Field(min_length=1, max_length=200)


class Entered(BaseModel):
    """Who the link was for, and the page that is theirs."""

    name: str
    page: Literal["/label", "/progress"]


class Ask(Strict):
    """How many rows to hold at once; those held already count."""

    n: int = Field(default=1, ge=1, le=100)


class Shown(BaseModel):
    """A value as a person reads it."""

    name: str
    kind: Literal["text", "number", "boolean", "date", "link", "image", "missing"]
    text: str
    exact: str | None = Field(default=None, description="The value in full, where `text` is shorter.")
    href: str | None = Field(default=None, description="Where a link leads, or what a picture is.")
    wide: bool = Field(default=False, description="Needs the whole width.")


class Row(BaseModel):
    """A row to label. With which probability it was asked for is not shown: it could sway the answer."""

    id: str
    round: int
    values: dict[str, Any] = Field(
        description="The row's columns as they stand in the pool; texts end after 20,000 characters and say so."
    )
    fields: list[Shown] = Field(description="The same, as the page shows them.")


class Left(BaseModel):
    """What is still to do."""

    budget: int = Field(description="Labels that may still be given.")
    round: int = Field(description="Unanswered rows in the round of the first row given.")
    mine: int = Field(description="Labels this annotator has given.")


class Work(BaseModel):
    """The rows an annotator holds. With none, `stand` says why.

    choosing: the next rows are being chosen, ask again. others: the last rows are with others, ask again later.
    done: no row is left, since the budget is spent or the pool is at its end.
    """

    stand: Stand
    rows: list[Row]
    left: Left
    last: str | None = Field(description="The id that an undo would take back.")


class Answer(Strict):
    """A label, exactly as one of the classes is written; null skips the row."""

    id: str = Field(min_length=1, max_length=1000)
    label: str | None = Field(max_length=1000)


class Tell(Strict):
    """Answers, all of them or none; and how many rows to hold afterwards."""

    answers: list[Answer] = Field(min_length=1, max_length=1000)
    ask: int = Field(default=0, ge=0, le=100)


class Told(BaseModel):
    """How many answers were new labels, skips, or known already; and the rows now held, if asked for."""

    answered: int
    skipped: int
    repeated: int
    work: Work | None = None


class Undo(Strict):
    """Takes back one's own last answer or skip, if it was this one. The row is held again."""

    id: str = Field(min_length=1, max_length=1000)
    ask: int = Field(default=1, ge=1, le=100)


class Invitation(Strict):
    """Who is to label."""

    name: Name


class Invited(BaseModel):
    """A link, and the token in it for scripts (Authorization: Bearer). Neither can be shown again."""

    name: str
    link: str
    token: str


class Person(BaseModel):
    """An annotator: what they did and how fast."""

    name: str
    labels: int
    skips: int
    held: int = Field(description="Rows they have before them.")
    last_seen: str | None = Field(description="ISO time.")
    median_seconds: float | None = Field(description="Half of their answers took less.")
    by_class: dict[str, int]
    invited: bool = Field(description="Has a link that works.")


class Estimate(BaseModel):
    """The model's error on the whole population with its interval, after so many labels."""

    labels: int
    value: float
    low: float
    high: float


class BlindSpot(BaseModel):
    """A region where the population is and the labels are not, as a rule on the columns.

    `before` and `now` are how many of its rows, per thousand, have a label.
    """

    rule: str
    share: float = Field(description="Of the population.")
    before: float
    now: float


class Status(BaseModel):
    """How the campaign stands."""

    name: str
    method: str
    budget: int
    spent: int
    skipped: int
    held: int
    waiting: int
    rounds: int
    closed: int
    stand: Stand
    trouble: str | None = Field(description="What keeps the next rows from being chosen.")
    error: list[Estimate]
    people: list[Person]
    blind_spots: list[BlindSpot]
