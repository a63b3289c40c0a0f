"""What goes over the wire where campaigns are listed and begun."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from unskew.web.forms import asking
from unskew.web.models import Point, Strict


class HouseEntered(BaseModel):
    """Who the link is for, and their page."""

    name: str
    page: Literal["/"] = "/"
    instead_of: None = None


class CampaignStand(BaseModel):
    """A campaign of the house, and where it stands. If it cannot be opened, `problem` says why."""

    name: str
    path: str = Field(description="The path of its pages.")
    problem: str | None = None
    spent: int = 0
    budget: int = 0
    measure: str = Field(default="", description="error, cost or recall.")
    measure_name: str = ""
    estimate: Point | None = Field(default=None, description="What the model is worth on everyone, once that is known.")
    alone: bool = Field(
        default=False, description="Whether that rests on the log alone, so that one has to be careful."
    )
    people: list[str] = Field(default=[], description="Everybody who has a link or gave an answer.")
    at_work: list[str] = Field(default=[], description="Those who hold a row now.")


class NewDraft(Strict):
    """The name of a campaign to be begun."""

    name: str = Field(max_length=400)


class Paths(Strict):
    """Tables on the server: paths of files, folders, globs or URLs, as `unskew start` takes them."""

    name: str = Field(max_length=400, description="The name of the campaign.")
    log: list[str] = Field(default=[], max_length=100)
    pool: str = Field(default="", max_length=4000)


@asking("columns")
class Choices(Strict):
    """What the columns are for. With `guess`, what is not named is guessed."""

    guess: bool = False


@asking("begin")
class Beginning(Strict):
    """How much is labelled, what for, and what people read."""


class FileShown(BaseModel):
    """An uploaded file."""

    name: str
    bytes: int


class JobShown(BaseModel):
    """Slow work on a draft. While `total` is 0, nobody knows how long it takes."""

    what: str = Field(description="understand, audit or begin.")
    state: Literal["running", "done", "failed", "cancelled"]
    words: str
    done: int
    total: int
    problem: str


class DraftShown(BaseModel):
    """A campaign that is being prepared."""

    id: str
    name: str
    log: list[FileShown]
    pool: list[FileShown]
    log_paths: list[str]
    pool_path: str
    choices: Choices
    columns: dict[str, Any] | None = Field(
        description="How the columns are understood, as `unskew columns --json` prints it."
    )
    audited: bool
    job: JobShown | None
    begun: str | None = Field(description="The path of the campaign's pages, once it was begun.")
    note: str = Field(description="What went wrong after the campaign was begun, if something did.")
