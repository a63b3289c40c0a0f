"""The life of a campaign on the page, as a small team lives it: from the upload of two tables to predictions."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import joblib
import polars as pl
from playwright.sync_api import Browser, BrowserContext, expect
from playwright.sync_api import Page as Tab

from unskew.campaigns import Campaign
from unskew.campaigns.example import LOG, POOL, truth
from unskew.campaigns.ledger.opinions import for_two
from web_house import serving_house
from web_page import press, row, settle

QUESTION = "Did the applicant repay within a year?"
OTHER = {"yes": "no", "no": "yes"}


def some_lines(path: Path, rows: int, to: Path) -> Path:
    to.write_text("\n".join(path.read_text().splitlines()[: rows + 1]) + "\n")
    return to


def start(tab: Tab, log: Path, pool: Path) -> None:
    """Upload two tables, look at columns and audit, begin."""
    tab.get_by_label("Name").fill("bank")
    tab.get_by_role("button", name="Continue").click()
    tab.wait_for_url("**/start/*", wait_until="networkidle")  # so that the page's script is there
    tab.locator("#log-file").set_input_files(log)
    tab.locator("#pool-file").set_input_files(pool)
    expect(tab.locator("#log-files")).to_contain_text("log.csv")
    expect(tab.locator("#pool-files")).to_contain_text("pool.csv")
    tab.get_by_role("button", name="Read the tables").click()
    expect(tab.locator("#columns-title")).to_be_visible(timeout=60_000)
    expect(tab.locator("#label")).to_have_value("repaid")
    expect(tab.locator("#id")).to_have_value("application")
    expect(tab.locator("#propensity")).to_have_value("granted_with")
    expect(tab.locator("#positive")).to_have_value("yes")
    tab.get_by_role("button", name="Continue").click()
    expect(tab.locator("#audited")).to_be_visible(timeout=60_000)
    tab.get_by_role("button", name="Continue").click()
    tab.locator("#budget").fill("24")
    tab.locator("#overlap").fill("20")
    tab.locator("#question").fill(QUESTION)
    tab.locator("#guidelines").fill("Say **yes** if all was paid back.")
    tab.get_by_role("button", name="Begin the campaign").click()
    tab.wait_for_url("**/c/bank/progress", timeout=120_000)


def invite(tab: Tab, name: str) -> str:
    """A link for somebody."""
    tab.locator("#name").fill(name)
    tab.get_by_role("button", name="Make a link").click()
    expect(tab.locator("#invited-name")).to_have_text(name)
    return tab.locator("#invited-link").input_value()


def label(tab: Tab, say: Callable[[str], str], wanted: int | None = None) -> list[str]:
    """Label by keyboard, that many rows or all there are; their ids."""
    seen: list[str] = []
    while wanted is None or len(seen) < wanted:
        tab.wait_for_function(
            """before => (document.querySelector('#fields dd') && !document.getElementById('fields').hidden
                && document.getElementById('identity')?.textContent.split(' ')[1] !== before)
                || ['Thank you', 'Almost done'].includes(document.getElementById('message-title')?.textContent)""",
            arg=seen[-1] if seen else "",
            timeout=60_000,
        )
        if tab.locator("#message").is_visible():
            break
        seen.append(row(tab))
        press(tab, {"yes": "1", "no": "0"}[say(seen[-1])])
    settle(tab)
    return seen


def test_the_life_of_a_campaign(browser: Browser, tmp_path: Path) -> None:
    known = truth()
    log, pool = some_lines(LOG, 700, tmp_path / "log.csv"), some_lines(POOL, 400, tmp_path / "pool.csv")
    contexts: list[BrowserContext] = []

    def opened(link: str) -> Tab:
        contexts.append(browser.new_context(accept_downloads=True))
        contexts[-1].set_default_timeout(30_000)
        tab = contexts[-1].new_page()
        tab.on("dialog", lambda dialog: dialog.accept())
        tab.goto(link)
        return tab

    with serving_house(tmp_path / "house") as house:
        (tmp_path / "house").mkdir(exist_ok=True)
        grace = opened(house.link())
        start(grace, log, pool)
        links = {name: invite(grace, name) for name in ("ada", "bob", "eve")}
        with Campaign.open(tmp_path / "house" / "bank") as campaign:
            assert campaign.arrangement.overlap == 0.2 and campaign.status().budget == 24

            ada = opened(links["ada"])
            expect(ada.locator("h1")).to_have_text(QUESTION)
            expect(ada.locator("#guide")).to_contain_text("Say yes if all was paid back.")
            first = label(ada, known.__getitem__, 14)
            doubled = [id for id in first if for_two(id, 0.2)]
            assert len(doubled) >= 2, "of these ids, several are for two people"

            bob = opened(links["bob"])
            assert label(bob, lambda id: OTHER[known[id]], len(doubled)) == doubled, "a second opinion comes first"
            assert {one.id for one in campaign.state.conflicts()} == set(doubled)
            assert campaign.status().spent == 14, "each row counts once"

            grace.get_by_role("link", name="Conflicts").click()
            card = grace.locator("li.conflict").filter(has_text=doubled[0])
            expect(card).to_contain_text("ada said")
            expect(card).to_contain_text("bob said")
            card.get_by_label("The right answer").select_option(known[doubled[0]])
            card.get_by_role("button", name="Settle").click()
            expect(grace.locator("li.conflict").filter(has_text=doubled[0])).to_have_count(0)
            assert campaign.row(doubled[0]).settled

            eve = opened(links["eve"])
            assert label(eve, known.__getitem__, len(doubled) - 1) == doubled[1:], "a third person sees conflicts"
            assert not campaign.state.conflicts() and campaign.row(doubled[1]).label == known[doubled[1]]

            wrong = next(id for id in first if id not in doubled)
            ada.get_by_role("link", name="History").click()
            ada.locator("#search").fill(wrong)
            expect(ada.locator("#found")).to_have_text("1 answer")
            ada.locator("#answers summary").click()
            ada.get_by_label("Change the answer to").select_option(OTHER[known[wrong]])
            ada.get_by_role("button", name="Change", exact=True).click()
            expect(ada.locator("#answers .answer-is")).to_have_text(OTHER[known[wrong]])
            assert campaign.row(wrong).label == OTHER[known[wrong]]
            grace.get_by_role("link", name="History").click()
            grace.locator("#search").fill(wrong)
            expect(grace.locator("#found")).to_have_text("1 answer")
            grace.locator("#answers summary").click()
            grace.get_by_label("Change the answer to").select_option(known[wrong])
            grace.get_by_label("Why").fill("It was paid in the end")
            grace.get_by_role("button", name="Change", exact=True).click()
            expect(grace.locator("#answers .marks").first).to_contain_text("comment")
            assert campaign.row(wrong).label == known[wrong] and campaign.row(wrong).by == "grace"

            grace.get_by_role("link", name="Progress").click()
            grace.locator("#budget").fill("30")
            grace.get_by_role("button", name="Change", exact=True).click()
            expect(grace.locator("#spent")).to_have_text("14 of 30")
            ada.get_by_role("link", name="Label", exact=True).click()
            for tab in (
                eve,
                ada,
                bob,
            ) * 3:  # each holds rows, and some that one of them answered are for a second person
                if campaign.status().spent < 30 or campaign.state.again:
                    tab.reload()
                    label(tab, known.__getitem__)
            assert campaign.status().spent == 30 and not campaign.state.again
            expect(grace.locator("#two-words")).to_contain_text("Two people gave the same label to", timeout=30_000)
            expect(grace.locator("#advice")).to_contain_text("The budget is spent.", timeout=30_000)
            grace.get_by_role("button", name="End the campaign").click()
            expect(grace.locator("#advice")).to_contain_text("The campaign has ended")
            expect(eve.locator("#message-text")).to_contain_text("The campaign has ended", timeout=30_000)

            grace.get_by_role("button", name="Model and ledger").click()
            link = grace.get_by_role("link", name="Download the model")
            expect(link).to_be_visible(timeout=120_000)
            with grace.expect_download() as got:
                link.click()
            with zipfile.ZipFile(io.BytesIO(Path(got.value.path()).read_bytes())) as archive:
                archive.extractall(tmp_path / "model")
            model = joblib.load(tmp_path / "model" / "model.joblib")
            said = model.predict(pl.read_csv(pool, try_parse_dates=True))

            grace.locator("[data-what=predictions] input").set_input_files(pool)
            link = grace.get_by_role("link", name="Download the predictions")
            expect(link).to_be_visible(timeout=120_000)
            with grace.expect_download() as got:
                link.click()
            found = pl.read_csv(got.value.path())
            assert found["prediction"].to_list() == list(said) and found.height == 400
            right = sum(known[id] == one for id, one in found.select("application", "prediction").iter_rows())
            assert right / found.height > 0.6

            for what, words in (("Report", "Open the report"), ("Audit of the log", "Open the audit")):
                grace.get_by_role("button", name=what).click()
                link = grace.get_by_role("link", name=words)
                expect(link).to_be_visible(timeout=120_000)
                with grace.context.expect_page() as shown:
                    link.click()
                expect(shown.value.locator("h1")).to_be_visible()
                shown.value.close()
        for context in contexts:
            context.close()
