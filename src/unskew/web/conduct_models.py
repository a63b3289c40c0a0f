"""What goes over the wire about how a campaign is conducted: answers once given, conflicts, guidelines, people."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field

from unskew.campaigns.tables.labels import LONGEST_CLASS
from unskew.web.forms import changing, showing
from unskew.web.models import Name, RowId, Shown, Strict

PAGE = 50
"""The number of answers in one reply."""


def _with_zone(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError(f"a time needs its zone; got {value.isoformat()}. Write it as {value.isoformat()}Z.")
    return value


Time = Annotated[datetime, AfterValidator(_with_zone)]


class Wanted(Strict):
    """Which answers to look for. Annotators find their own, whatever `by` says; only administrators can use `doubt`."""

    search: str = Field(default="", max_length=200, description="Words in the row as it is shown, or in its comments.")
    by: Name | None = None
    label: str | None = Field(default=None, max_length=LONGEST_CLASS, description="A class; empty for skips.")
    since: Time | None = None
    until: Time | None = None
    doubt: float | None = Field(default=None, ge=0.0, le=1.0, description="The least chance that the label is wrong.")
    after: int = Field(default=0, ge=0, le=10**9, description="The number of answers to leave out, latest first.")


class CommentShown(BaseModel):
    """What somebody wrote about a row."""

    by: str
    at: str
    text: str


class Said(BaseModel):
    """What one person said of a row; null is a skip."""

    by: str
    label: str | None
    at: str


class AnswerShown(Said):
    """An answer once given, and its row."""

    id: str
    round: int
    fields: list[Shown]
    counts: bool = Field(description="Whether this is the label that counts for the row.")
    counted: str | None = Field(description="The label that counts; for annotators, their own.")
    conflict: bool
    settled: bool = Field(description="Whether somebody who knew all opinions decided; for annotators, never.")
    mine: bool = Field(description="Whether the reader may change it without being the administrator.")
    doubt: float | None = Field(description="The chance that the label is wrong, as far as the model can say.")
    remarks: dict[str, Any] = Field(description="What was recorded with the answer, by its name in words.")
    comments: list[CommentShown]


class Answers(BaseModel):
    """The answers that were found, latest first: their number, and some of them."""

    found: int
    answers: list[AnswerShown]
    people: list[str] = Field(description="Everybody who has answered, for the administrator.")


class Conflict(BaseModel):
    """A row on which people differ, and what each of them said."""

    id: str
    round: int
    fields: list[Shown]
    said: list[Said]
    comments: list[CommentShown]


class Conflicts(BaseModel):
    """The rows on which people differ, and the number of rows that wait for one more person."""

    conflicts: list[Conflict] = Field(description="At most 50; the number of all is in `found`.")
    found: int
    waiting: int


class Correction(Strict):
    """Another label for a row that was answered; null makes it a skip. Somebody else's answer needs a reason."""

    id: RowId
    label: str | None = Field(max_length=LONGEST_CLASS)
    reason: str = Field(default="", max_length=2000)


class Corrected(BaseModel):
    """The label that counts now."""

    id: str
    label: str | None
    conflict: bool


class NewComment(Strict):
    """Something about a row."""

    id: RowId
    text: str = Field(min_length=1, max_length=2000)
    key: str = Field(default="", max_length=100, description="Any text of the sender's for this comment.")


class Person(Strict):
    """Somebody."""

    name: Name


@changing()
class Changes(Strict):
    """What to change about a campaign. What is left out stays as it is."""


@showing()
class Arranged(BaseModel):
    """What may change about a campaign, as it is now."""

    budget: int
    spent: int
    rendered: str = Field(description="The guidelines as HTML.")
    all_columns: dict[str, str] = Field(description="All that could be shown, with the names they have by themselves.")


class AdminLink(BaseModel):
    """One more link for the administrator. It works once."""

    link: str


def plain(value: BaseModel) -> dict[str, Any]:
    """What was given, without what was left out."""
    return {name: getattr(value, name) for name in value.model_fields_set if getattr(value, name) is not None}
