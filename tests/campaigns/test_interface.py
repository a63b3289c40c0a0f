"""The lines people write: frames in, rows by `ask`, answers by `tell`, and what a notebook shows."""

import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest

from campaign_folder import make, replayed, told, truth
from unskew.campaigns import Campaign, Rejected, Told
from unskew.campaigns.example import ID, LABEL, LOG, POOL, PROPENSITY
from unskew.errors import EmptyMeasure, InputError, NoRandomLabel


@pytest.mark.parametrize("kind", ["file", "polars", "pandas"])
def test_a_log_and_a_pool_in_files_or_frames_are_the_same_campaign(tables, tmp_path, kind):
    read = {"file": lambda path: path, "polars": pl.read_parquet, "pandas": pd.read_parquet}[kind]
    log, pool = read(tables / "log.parquet"), read(tables / "pool.parquet")
    with make(tables, tmp_path / "bank", log=log, pool=pool) as bank:
        assert list(bank.settings.kinds) == ["x0", "x1", "region", "member", "since", "seen"]
        assert (bank.settings.types["since"], bank.settings.types["seen"]) == ("Date", "Datetime")
        rows = bank.ask(20, by="ann")
        assert bank.tell({row.id: truth(row) for row in rows}, by="ann") == Told(answered=20)
        assert (
            bank.predict(pool)["prediction"].to_list() == bank.predict(tables / "pool.parquet")["prediction"].to_list()
        )


READ = {
    "file": lambda path: path,
    "polars": pl.read_csv,
    "pandas": pd.read_csv,
    "polars, all text": lambda path: pl.read_csv(path, infer_schema=False),
    "pandas, all text": lambda path: pd.read_csv(path, dtype=str),
}


@pytest.fixture(scope="module")
def of_files(tmp_path_factory):
    """The settings of the example bank, made from its files, and what its first model predicts."""
    with example_bank(tmp_path_factory.mktemp("files") / "bank", LOG, POOL) as bank:
        return bank.settings, bank.predict(POOL)


def example_bank(folder, log, pool):
    return Campaign.create(folder, log=log, pool=pool, label=LABEL, propensity=PROPENSITY, id=ID, budget=40)


@pytest.mark.parametrize(
    ("log", "pool"), [*((kind, kind) for kind in READ if kind != "file"), ("file", "pandas"), ("polars", "file")]
)
def test_csv_files_and_frames_read_from_them_are_the_same_campaign(of_files, tmp_path, log, pool):
    """Dates that pandas and Polars read as text were taken for text for people, and left out in silence."""
    settings, predicted = of_files
    with example_bank(tmp_path / "bank", READ[log](LOG), READ[pool](POOL)) as bank:
        assert (bank.settings.kinds, bank.settings.types) == (settings.kinds, settings.types)
        assert bank.settings.kinds["customer_since"] == "date" and bank.settings.types["customer_since"] == "Date"
        assert bank.predict(READ[pool](POOL)).equals(predicted)


def test_the_lines_of_the_readme(tables, tmp_path):
    bank = Campaign.create(
        tmp_path / "bank", log=pl.read_parquet(tables / "log.parquet"), pool=pl.read_parquet(tables / "pool.parquet"),
        label="paid", propensity="q0", id="loan", budget=30,
    )  # fmt: skip
    with bank:
        bank.tell({row.id: truth(row) for row in bank.ask(20, by="ann")}, by="ann")
        bank.close_due()
        assert bank.status().spent == 20
        assert 0.0 <= bank.error().low <= bank.error().high <= 1.0


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (
            pl.DataFrame({"x0": [[1], [2, 3]], "paid": [0, 1]}),
            "the log row 2: column 'x0' holds 2 numbers, and 1 in row 1",
        ),
        (pl.DataFrame({"x0": [1e300, 2.0], "paid": [0, 1]}), "the log row 1: column 'x0' holds 1e\\+300"),
        (pl.DataFrame({"x0": [], "paid": []}), "the log has 2 columns and no rows"),
        (pd.DataFrame({"x0": [1, "two"], "paid": [0, 1]}), "the log: column 'x0' must hold values of one type"),
        (pd.DataFrame([[1, 2], [3, 4]]), "the log: column names must be text and all different; got 0"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["x0", "x0"]), "column names must be text and all different; got 'x0'"),
        (pd.DataFrame({"x0": pd.to_timedelta([1, 2]), "paid": [0, 1]}), "the log: column 'x0' holds Duration"),
        ({"x0": [1, 2]}, "the log must be a file, or a Polars or pandas frame; got dict"),
    ],
)
def test_frames_are_checked_as_files_are(tables, tmp_path, frame, told):
    with pytest.raises(InputError, match=told):
        make(tables, tmp_path / "bank", log=frame)
    assert not (tmp_path / "bank").exists()


@pytest.mark.parametrize("label", [1, 1.0, "1", " 1.0 "])
def test_labels_are_matched_to_the_classes_as_in_files(campaign, label):
    (row,) = campaign.ask(1, by="ann")
    assert campaign.tell({row.id: label}, by="ann").answered == 1
    assert campaign.row(row.id).label == "1"


def test_booleans_and_skips(tables, tmp_path):
    log = pl.read_parquet(tables / "log.parquet").with_columns(pl.col("paid").cast(pl.Boolean))
    with make(tables, tmp_path / "bank", log=log) as bank:
        one, two, three = bank.ask(3, by="ann")
        assert bank.tell({one.id: True, two.id: "FALSE", three.id: None}, by="ann") == Told(answered=2, skipped=1)
        assert [bank.row(row.id).label for row in (one, two, three)] == ["true", "false", None]


def test_problems_of_a_mapping_have_no_lines_and_name_the_way_to_overwrite(campaign):
    one, two = campaign.ask(2, by="ann")
    campaign.tell({one.id: 1}, by="ann")
    with pytest.raises(Rejected) as refused:
        campaign.tell({one.id: 0, two.id: "maybe"}, by="bob")
    assert str(refused.value) == (
        f"2 problems, nothing was changed. row {one.id!r} is '0' here, but ann said '1'. "
        f"label 'maybe' of row {two.id!r} must be '0' or '1'. Correct it."
    )
    assert refused.value.__notes__ == ["To overwrite answers deliberately, pass force_correct=True."]
    assert campaign.tell({one.id: 0}, by="bob", force_correct=True).corrected == 1


def test_two_answers_to_one_row_of_a_mapping_have_no_line(campaign):
    (row,) = campaign.ask(1, by="ann")
    with pytest.raises(Rejected) as refused:
        campaign.tell({f" {row.id}": "1", row.id: "0"}, by="ann")
    assert str(refused.value) == (
        f"1 problem, nothing was changed. row {row.id!r} has two answers, '1' and '0'. Keep one."
    )


def test_answers_that_are_not_by_row_id_are_refused_in_words(campaign):
    rows = campaign.ask(2, by="ann")
    for answers, why in (
        (["1", "0"], r"answers must be a label for each row id; got list. Pass {row\.id: label}\."),
        (None, "answers must be a label for each row id; got NoneType"),
        ({rows[0]: "1"}, r"answers must be by row id; got Row in its place. Pass {row\.id: label}\."),
        ({None: "1"}, "answers must be by row id; got NoneType"),
    ):
        with pytest.raises(InputError, match=why):
            campaign.tell(answers, by="ann")
    assert campaign.tell({int(rows[0].id): 1, np.int64(rows[1].id): 0}, by="ann").answered == 2


def test_who_asks_and_for_how_many_is_checked(campaign):
    for n in (2.5, "3", None, True):
        for ask in (campaign.ask, campaign.hand_out):
            with pytest.raises(InputError, match=f"n must be a whole number of rows; got {n!r}. Ask for 20"):
                ask(n, by="ann")
    with pytest.raises(InputError, match="n must be at least 1 row; got 0. Ask for at least 1."):
        campaign.ask(0, by="ann")
    (row,) = campaign.ask(np.int64(1), by="ann")
    for act in (lambda: campaign.ask(1, by=None), lambda: campaign.tell({row.id: "1"}, by=None),
                lambda: campaign.undo(by=None), lambda: campaign.invite(None)):  # fmt: skip
        with pytest.raises(InputError, match="a name must be text; got None. Pass the name of the person"):
            act()
    with pytest.raises(InputError, match="a name must be text; got 7"):
        campaign.ask(1, by=7)


def test_an_estimate_that_fails_closes_no_round(campaign, monkeypatch):
    """Version 0.1.0 took any bad input for "no label came at random", and wrote that down for good."""
    campaign.tell(told(campaign.ask(4, by="ann")), by="ann")

    def fail(*_, **__):
        raise InputError("margin must be finite; got inf at row 0. Clip the model's margins.")

    before = campaign.ledger.events(campaign.id)
    with monkeypatch.context() as patch:
        patch.setattr(campaign._rounds.fitting, "estimates", fail)
        with pytest.raises(InputError, match="margin must be finite"):
            campaign.close_due()
    assert campaign.ledger.events(campaign.id) == before
    assert campaign.close_due() == 1 and campaign.status().error is not None


def test_an_estimate_that_fails_makes_no_campaign(tables, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise InputError("margin must be finite; got inf at row 0. Clip the model's margins.")

    monkeypatch.setattr("unskew.campaigns.learning.fitting.Fitting.estimates", fail)
    with pytest.raises(InputError, match="margin must be finite"):
        make(tables, tmp_path / "bank")
    assert not (tmp_path / "bank").exists()


def test_a_log_without_any_label_closes_rounds_without_an_error(tables, tmp_path):
    """No label came at random until a row that was drawn is answered: only this is not a failure."""
    log = pl.read_parquet(tables / "log.parquet").with_columns(pl.lit(None, pl.Int64).alias("paid"))
    with make(tables, tmp_path / "bank", log=log, classes=("0", "1")) as bank:
        assert bank.status().error is None and bank.history() == []
        with pytest.raises(NoRandomLabel, match="needs labels drawn at random; got 0"):
            bank.error()
        bank.tell({row.id: None for row in bank.ask(4, by="ann")}, by="ann")
        assert bank.close_due() == 1
        assert bank.state.batches[0].closed.error is None
        assert "not known yet" in bank._repr_html_()


def test_a_measure_of_nobody_has_a_type_of_its_own():
    assert issubclass(EmptyMeasure, InputError) and issubclass(NoRandomLabel, InputError)


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words.append(data)


def test_a_notebook_shows_a_small_table(tables, tmp_path):
    with make(tables, tmp_path / "A & <b>ank") as bank:
        bank.tell(told(bank.ask(4, by="ann <i>")), by="ann <i>")
        bank.close_due()
        found = Cells(bank._repr_html_())
        assert set(found.tags) == {"table", "tbody", "tr", "th", "td"}
        facts = dict(zip(found.words[::2], found.words[1::2], strict=True))
        error = bank.error()
        low, high = 100 * error.low, 100 * error.high
        assert facts == {
            "campaign": "A & <b>ank",
            "labels": "4 of 60",
            "rounds": "1, 1 closed",
            "the model": f"wrong on {100 * error.value:.1f} % of everyone, 95 % interval {low:.1f} to {high:.1f} %",
            "people": "ann <i> (4)",
        }


def test_asking_is_one_transaction_and_rows_are_handed_out_once(campaign, monkeypatch):
    begun = []
    writing = campaign._live._ledger.writing
    monkeypatch.setattr(campaign.ledger, "writing", lambda name: begun.append(name) or writing(name))
    rows = campaign.ask(5, by="ann")
    assert len(begun) == 1
    assert [one.kind for one in campaign.ledger.events(campaign.id)] == ["started", "planned", "leased"]
    assert campaign.ask(5, by="ann") == rows
    assert len(begun) == 2 and replayed(campaign) == campaign.state


def test_work_is_counted_once_for_status_report_and_page(campaign, clock):
    rows = campaign.ask(3, by="ann")
    clock.on(seconds=4)
    campaign.answer(rows[0].id, 1, by="ann")
    clock.on(seconds=2)
    campaign.skip(rows[1].id, by="ann")
    campaign.tell({rows[0].id: 0}, by="bob", force_correct=True)
    ann, bob = (campaign.status().annotators[name] for name in ("ann", "bob"))
    assert (ann.labels, ann.answered, ann.skipped, ann.holds, ann.corrections) == ({}, 0, 1, 1, 0)
    assert (bob.labels, bob.corrections, bob.median_seconds) == ({"0": 1}, 1, None)
    assert ann.median_seconds == 3.0 and ann.first == ann.last == campaign.row(rows[1].id).at
    assert campaign.status().as_dict()["annotators"]["bob"]["answered"] == 1


def test_a_label_of_any_type_is_the_class_it_means(campaign):
    labels = [1, np.int64(1), np.float32(1.0), "1", np.str_("1"), " 1.0", np.array(1), 1.0]
    rows = campaign.ask(2 * len(labels), by="ann")
    for k, label in enumerate(labels):
        assert campaign.tell_lines([(1, rows[2 * k].id, label)], by="ann") == Told(answered=1)
        assert campaign.answer(rows[2 * k + 1].id, label, by="ann") == Told(answered=1)
    assert {campaign.row(row.id).label for row in rows} == {"1"}


def test_a_label_that_is_none_is_refused(campaign):
    (row,) = campaign.ask(1, by="ann")
    for label in (b"1", [1], {"a": 1}, np.array([1]), object(), 1j, "\ud800", 10**5000):
        for tell in (
            lambda label: campaign.tell_lines([(1, row.id, label)], by="ann"),
            lambda label: campaign.answer(row.id, label, by="ann"),
            lambda label: campaign.tell({row.id: label}, by="ann"),
        ):
            with pytest.raises(InputError, match="a label must be text|whole characters|thousands of digits"):
                tell(label)
    for label in (np.True_, True, float("nan"), "yes"):
        with pytest.raises(Rejected, match="must be '0' or '1'"):
            campaign.answer(row.id, label, by="ann")
    assert campaign.state.spent == 0


def test_a_line_that_is_none_is_refused(campaign):
    for line in ((1, "a"), ("one", "a", "1"), None, 7, (1, b"a", "1"), (1, ["a"], "1"), (1, "\ud800", "1")):
        with pytest.raises(InputError, match=r"must be \(line, id, label\)|by row id|must be whole characters"):
            campaign.tell_lines([line], by="ann")
    with pytest.raises(InputError, match="answers must be by row id; got list"):
        campaign.answer(["a"], "1", by="ann")


OWN = """
from unskew.methods.pools.unskew import Unskew


class Mine(Unskew):
    pass


class Streamed:
    works_on = "stream"

    def __init__(self, *, random_state=None):
        pass
"""


def test_a_method_of_ones_own(tables, tmp_path, monkeypatch):
    (tmp_path / "my_methods.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    with make(tables, tmp_path / "bank", method="my_methods:Mine") as bank:
        assert bank.settings.method == "my_methods:Mine"
        assert type(bank.method()).__name__ == "Mine"
        assert bank.tell(told(bank.ask(5, by="ann")), by="ann").answered == 5
    with make(tables, tmp_path / "other", method="marginsampling") as other:
        assert other.settings.method == "MarginSampling"
    for method, why in (
        ("my_methods:Streamed", "works on a stream"),
        ("my_methods:None", "method in the module my_methods 'None'"),
        ("no_such_module:Mine", "cannot be imported"),
    ):
        with pytest.raises(InputError, match=why):
            make(tables, tmp_path / "none", method=method)
    with pytest.raises(InputError, match=r"method must be a name; got the class Mine. Pass 'my_methods:Mine'\."):
        make(tables, tmp_path / "none", method=sys.modules["my_methods"].Mine)
    sys.modules.pop("my_methods")


@pytest.mark.parametrize("method", ["IDBAL", "idbal", "ExactIDBAL", "unskew.methods.streams.idbal:IDBAL"])
def test_a_method_on_a_stream_is_refused_with_those_on_a_pool(tables, tmp_path, method):
    told = (
        r"works on a stream, and a campaign needs one that works on a pool\. Name one of Unskew, RandomLabels, Margin"
    )
    with pytest.raises(InputError, match=told):
        make(tables, tmp_path / "bank", method=method)


def test_a_pools_own_propensities_are_kept_and_not_shown(tables, tmp_path):
    pool = pl.read_parquet(tables / "pool.parquet")
    pool = pool.with_columns(pl.when(pl.col("x0") > 0).then(0.9).otherwise(0.2).alias("q0"))
    with make(tables, tmp_path / "bank", pool=pool) as bank:
        assert bank.pool_frame["q0"].to_list() == pool["q0"].to_list()
        assert "q0" not in bank.settings.types and "q0" not in bank.settings.kinds
        rows = bank.ask(5, by="ann")
        assert all("q0" not in row.values for row in rows)
        assert bank.tell(told(rows), by="ann").answered == 5
    with pytest.raises(InputError, match=r"must be in \(0, 1\]"):
        make(tables, tmp_path / "none", pool=pool.with_columns(pl.lit(1.5).alias("q0")))
