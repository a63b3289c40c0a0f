"""Report and audit in a real browser: axe-core finds nothing, and nothing is wider than the screen, light and dark."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser
from playwright.sync_api import Page as Tab

from axe import SHIFTS, violations
from paths import ROOT
from unskew.campaigns import Campaign
from unskew.campaigns.audit.log_audit import audit_log
from unskew.campaigns.example import ID, LABEL, LOG, POOL, PROPENSITY, truth
from unskew.campaigns.report import audit_page
from unskew.campaigns.report.report import gather, render

WIDTHS = (375, 768, 1280)
START = f"unskew start campaign --log log.csv --pool {'very-' * 30}long.csv --label repaid"


def labelled(folder: Path, labels: int) -> str:
    """The report of the bank's campaign after this number of labels."""
    with Campaign.create(
        folder / "bank", log=LOG, pool=POOL, label=LABEL, propensity=PROPENSITY, id=ID, budget=60
    ) as campaign:
        known = truth()
        if labels:
            campaign.tell({row.id: known[row.id] for row in campaign.ask(labels, by="ann")}, by="ann")
            campaign.close_due()
        return render(gather(campaign))


def before_any_label(folder: Path) -> str:
    return labelled(folder, 0)


def two_classes(folder: Path) -> str:
    return labelled(folder, 60)


def five_classes(folder: Path) -> str:
    """A column's name is long, a class's name too."""
    classes = np.array(["beech", "fir", "oak", "pine", "a tree that nobody could name for sure"])
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    kind = classes[np.digitize(x[:, 0], (-1.0, -0.3, 0.3, 1.0))]
    frame = pl.DataFrame({"tree": range(500), "height_above_the_ground_in_metres": x[:, 0], "girth": x[:, 1]})
    q0 = np.where(x[:200, 1] > 0, 0.8, 0.2)
    seen = [k if z else None for k, z in zip(kind[:200], rng.random(200) < q0, strict=True)]
    log = frame[:200].with_columns(q0=pl.Series(q0), kind=pl.Series(seen))
    with Campaign.create(
        folder / "forest", log=log, pool=frame[200:], label="kind", propensity="q0", id="tree", budget=40
    ) as campaign:
        rows = campaign.ask(20, by="a person with a rather long name")
        campaign.tell({row.id: str(kind[int(row.id)]) for row in rows}, by="a person with a rather long name")
        campaign.close_due()
        page = render(gather(campaign))
        assert "Which class is taken for which" in page
        return page


def given_propensities(folder: Path) -> str:
    return audit_page.html(audit_log(LOG, LABEL, PROPENSITY, ID), "log.csv", START)


def estimated_propensities(folder: Path) -> str:
    page = audit_page.html(audit_log(pl.read_csv(LOG).drop(PROPENSITY), LABEL, id=ID), "log.csv", START)
    assert "The propensities were estimated from the columns." in page
    return page


def refuted_propensities(folder: Path) -> str:
    log = pl.read_csv(LOG).with_columns(pl.lit(0.9).alias(PROPENSITY))
    return audit_page.html(audit_log(log, LABEL, PROPENSITY, ID), f"{'long' * 30}.csv")


def compared_with_a_pool(folder: Path) -> str:
    granted = pl.read_csv(LOG).filter(pl.col(LABEL).is_not_null()).drop(PROPENSITY)
    return audit_page.html(audit_log(granted, LABEL, id=ID, pool=POOL), "log.csv")


@pytest.mark.parametrize(
    "made",
    [
        before_any_label, two_classes, five_classes,
        given_propensities, estimated_propensities, refuted_propensities, compared_with_a_pool,
    ],
)  # fmt: skip
def test_nobody_is_left_out(made: Callable[[Path], str], browser: Browser, tmp_path: Path) -> None:
    page = made(tmp_path)
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    links = set(re.findall(r'href="#([\w-]+)"', page))
    assert links <= set(re.findall(r' id="([\w-]+)"', page)) and {"next", "words"} <= links
    assert re.findall(r'<h2 id="(\w+)"', page)[-2:] == ["next", "words"]
    for scheme in ("light", "dark"):
        for width in WIDTHS:
            tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            tab.add_init_script(SHIFTS)
            tab.goto(file.as_uri())
            assert violations(tab) == [], f"{scheme}, {width} pixels"
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, f"{scheme}, {width} pixels"
            aside = "node => node.scrollWidth > node.clientWidth && !node.querySelector('.matrix')"
            assert tab.evaluate(f"[...document.querySelectorAll('.scroll')].filter({aside}).length") == 0 or width > 375
            assert tab.evaluate("shifted") < 0.02, f"{scheme}, {width} pixels"
            tab.close()


def test_pictures_take_the_colours_of_the_page(browser: Browser, tmp_path: Path) -> None:
    """They name no colour of their own, and those of the page stand out from its cards in light and dark."""
    page = labelled(tmp_path, 30)
    pictures = re.findall(r"<svg .*?</svg>", page, re.S)
    used = {name for picture in pictures for name in re.findall(r"(?:fill|stroke): var\(--(\w+)\)", picture)}
    assert len(pictures) == 6 and used == {"accent", "other", "soft", "line", "edge"}
    assert not any(re.search(r"(?:fill|stroke): #", picture) for picture in pictures)
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    for scheme in ("light", "dark"):
        tab = browser.new_page(color_scheme=scheme)
        tab.goto((tmp_path / "page.html").as_uri())
        against = {name: contrast(look(tab, name), look(tab, "card")) for name in ("accent", "other", "soft")}
        assert min(against.values()) >= 4.5, (scheme, against)
        tab.close()


def look(tab: Tab, name: str) -> str:
    """A colour of the page."""
    return str(tab.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}')"))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours by WCAG 2, from 1 to 21."""
    dark, light = sorted(map(_luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    digits = colour.strip().removeprefix("#")
    whole = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    parts = [int(whole[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_look_is_that_of_the_labelling_page() -> None:
    """Colours of the same name are the same, in light and in dark."""
    own, page = (
        re.findall(r"--([\w-]+): ([^;]+);", (ROOT / "src/unskew" / path).read_text(encoding="utf-8"))
        for path in ("campaigns/report/templates/look.css", "web/static/style.css")
    )
    names = {name for name, _ in own} & {name for name, _ in page}
    assert {"paper", "card", "ink", "soft", "line", "accent", "warn", "warn-wash", "focus"} <= names
    for name in names:
        assert [value for n, value in own if n == name] == [value for n, value in page if n == name], name
