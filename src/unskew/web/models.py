"""What goes over the wire: every request and answer of the JSON interface, as its schema describes them."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from unskew.campaigns.ledger.people import LONGEST_NAME, NAME_PATTERN, NAME_RULE, checked_name
from unskew.campaigns.tables.id_lengths import LONGEST_ID
from unskew.campaigns.tables.labels import LONGEST_CLASS
from unskew.web.forms import remarking

Supply = Literal["rows", "choosing", "others", "done", "ended", "paused", "skips"]
Name = Annotated[
    str,
    AfterValidator(checked_name),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_NAME,
            "pattern": f"^{NAME_PATTERN}$",
            "description": f"{NAME_RULE[0].upper()}{NAME_RULE[1:]}.",
            "examples": ["ada"],
        }
    ),
]


RowId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
"""The id of a row."""


def number(value: Any) -> Any:
    """Refuse what is no number, though it could be taken for one."""
    if isinstance(value, bool | str):
        raise ValueError(f"a whole number is wanted; got {value!r:.40}. Write it as a number.")
    return value


Some = Annotated[int, Field(ge=1, le=100), BeforeValidator(number)]
"""A number of rows."""


class Strict(BaseModel):
    """Refuses keys it does not know, so that a misspelt key is an error and not ignored."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """Why a request was refused, in one line. `problems` has one line for each answer at fault."""

    detail: str
    problems: list[str] = []
    lasting: bool = Field(default=False, description="Whether it lasts until somebody has repaired something.")


class Code(Strict):
    """The part of a link behind the #, and whether to go on if somebody else is signed in in this browser."""

    code: str = Field(min_length=1, max_length=200)
    switch: bool = Field(default=False, strict=True)


class Entered(BaseModel):
    """Who the link is for, and their page."""

    name: str
    page: Literal["/label", "/progress"]
    instead_of: str | None = Field(
        default=None,
        description="Somebody else who is signed in in this browser. Nothing was changed: send the code with `switch`.",
    )


class Ask(Strict):
    """The number of rows to hold at once, including those held already."""

    n: Some = 1


class Shown(BaseModel):
    """A value as a person reads it."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    kind: Literal["text", "number", "boolean", "date", "link", "image", "missing"]
    text: str
    exact: str | None = Field(default=None, description="The full value, where `text` is shorter.")
    href: str | None = Field(default=None, description="The address of a link or picture.")
    wide: bool = Field(default=False, description="Whether it needs the whole width.")


class RowShown(BaseModel):
    """A row to label. The probability with which it was asked for is not shown: it could influence the answer."""

    id: str
    round: int
    values: dict[str, Any] = Field(
        description="The row's columns as they are in the pool. Texts are cut after 20,000 characters, with a note."
    )
    fields: list[Shown] = Field(description="The same values, as the page shows them.")


class Left(BaseModel):
    """What is still to do."""

    budget: int = Field(description="Labels that may still be given.")
    total: int = Field(description="Labels that may be given in all.")
    round: int = Field(description="Unanswered rows in the round of the first row given.")
    mine: int = Field(description="Labels this annotator has given.")


class Hand(BaseModel):
    """The rows that an annotator holds. If there are none, `stand` says why.

    choosing: the next rows are being chosen, ask again soon. others: other people hold the last rows, ask again later.
    done: no row is left, because the budget is spent or all rows of the pool have been asked for. ended: the campaign
    has ended. paused: this person was paused. skips: this person skipped too many rows, one after the other.
    """

    stand: Supply
    rows: list[RowShown] = Field(description="At most those that fit into 1 MiB. A larger row comes alone.")
    left: Left
    last: str | None = Field(description="The id that an undo would take back.")


@remarking()
class Answer(Strict):
    """A label, written as one of the classes; null skips the row."""

    id: RowId
    label: str | None = Field(max_length=LONGEST_CLASS)


class Tell(Strict):
    """Answers, all of which are taken or none, and the number of rows to hold afterwards."""

    answers: list[Answer] = Field(min_length=1, max_length=1000)
    ask: Annotated[int, Field(ge=0, le=100), BeforeValidator(number)] = 0


class Taken(BaseModel):
    """The number of answers that were new labels, skips, or known already, and the rows held now, if asked for."""

    answered: int
    skipped: int
    repeated: int
    work: Hand | None = None


class Undo(Strict):
    """Take back your own last answer or skip, if it was to this row. You then hold the row again."""

    id: RowId
    ask: Some = 1


class Invitation(Strict):
    """Who is to label."""

    name: Name


class Link(BaseModel):
    """A link, and the token in it for scripts (Authorization: Bearer). Neither can be shown again."""

    name: str
    link: str
    token: str


class Agreed(BaseModel):
    """How far two people agree on rows that both saw: the share of rows, and Cohen's kappa, with 95 % intervals."""

    rows: int
    raw: float
    low: float
    high: float
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None


class AgreedThen(BaseModel):
    """The same in a stretch of time."""

    since: str
    until: str
    agreement: Agreed


class TwoPeople(BaseModel):
    """Rows that two people saw: how far they agree, how many are in conflict or wait for one more person."""

    share: float = Field(description="The share of new rows that a second person sees.")
    waiting: int
    conflicts: int
    all: Agreed | None
    over_time: list[AgreedThen]


class Advice(BaseModel):
    """Whether to go on, in words, and what the next labels would do."""

    stop: bool | None = Field(description="Null if there are too few labels to say.")
    words: str
    spent: bool = Field(description="Whether no label is left, so that the next ones need a larger budget.")
    labels: int | None = Field(description="The number of next labels that this is about.")
    half_width: float | None = Field(description="Half the width that the interval should have after them.")
    gain: float | None = Field(description="How much they should lower the error, as a share of all rows.")


class Annotator(BaseModel):
    """What an annotator did, and how fast."""

    name: str
    labels: int
    skips: int
    held: int = Field(description="The number of rows they hold now.")
    last_seen: str | None = Field(description="ISO time of their last answer.")
    median_seconds: float | None = Field(description="The median time for an answer.")
    by_class: dict[str, int]
    invited: bool = Field(description="Whether they have a link that works.")
    barred: Literal["ended", "paused", "skips"] | None = Field(description="Why they get no rows, if that is so.")
    agreement: Agreed | None = Field(description="Against others who saw the same rows.")


class Point(BaseModel):
    """An estimate on the whole population with its interval, and the number of labels it rests on."""

    labels: int
    rows: int = Field(description="The number of rows that the pool had then.")
    value: float
    low: float
    high: float


class ErrorPoint(Point):
    """The model's error."""

    commoner: float | None = Field(description="The error of always saying the commoner class.")
    flagged: float | None = Field(description="The share of rows that the model predicts to be positive.")


class Followed(BaseModel):
    """What the campaign aims at, and how far the model got: the error, the mean cost of a row, or the recall."""

    measure: str = Field(description="error, cost or recall; error, too, where nothing else was recorded.")
    name: str
    meaning: str
    wanted: float | None = Field(description="The wanted recall, if there is one.")
    decision: str | None = Field(description="From what probability on a row is flagged, if it is not the usual.")
    rows: int = Field(description="The number of rows that the pool has now: earlier points may be about fewer.")
    told: str = Field(description="How far the model gets, or why that is not known, as the end of a sentence.")
    rests_on: str | None = Field(description="Which labels are behind the latest number.")
    alone: bool = Field(description="Whether that is the log alone, so that one has to be careful.")
    points: list[Point]
    left_out: int = Field(description="The number of earlier estimates for which the ledger has only the error.")


class Gain(BaseModel):
    """How much the next labels are expected to lower the error, and the least that is worth them, as shares of all.

    `measure` is "cost" if it is the mean cost of a row that they lower, "false_alarms" if a recall is wanted.
    """

    labels: int
    gain: float
    least: float
    measure: str
    words: str = Field(description="The same as a sentence.")


class SpotShown(BaseModel):
    """A region with many rows and few labels, as a rule on the columns.

    `before` and `now` are the number of its rows, per thousand, that have a label.
    """

    rule: str
    share: float = Field(description="Its share of the population.")
    before: float
    now: float


class Progress(BaseModel):
    """Where the campaign stands."""

    name: str
    method: str
    budget: int
    spent: int
    skipped: int
    held: int
    waiting: int
    rounds: int
    closed: int
    stand: Supply
    trouble: str | None = Field(description="Why the next rows cannot be chosen, if that is so.")
    damage: str | None = Field(description="What is wrong with the ledger, if that is so.")
    aim: Followed
    error: list[ErrorPoint]
    prospect: Gain | None = Field(description="What the next labels are expected to gain, once that can be said.")
    words: list[str] = Field(description="What stands beside the latest estimate: other measures, log and draw.")
    ahead: str = Field(description="What more labels would do to the interval, in words.")
    ended: bool
    advice: Advice
    two_people: TwoPeople
    people: list[Annotator]
    blind_spots: list[SpotShown]
