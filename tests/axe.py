"""What is wrong with a page in a browser: what axe-core finds, which knows the rules, and what moves or is cut."""

from functools import cache
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page as Tab

RUN = """async () => (await axe.run()).violations.map(({ id, help, nodes }) => {
    const at = nodes.map(node => `${node.target} ${node.any.map(why => why.message)}`);
    return `${id}: ${help} (${at.join('; ')})`;
})"""

SHIFTS = """
window.shifted = 0;
new PerformanceObserver(list => { for (const entry of list.getEntries()) window.shifted += entry.value; })
    .observe({ type: 'layout-shift', buffered: true });
"""
"""A script to run first. `shifted` is then the sum of all layout shifts, 0 if nothing moved."""
FORGET = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => {
    window.shifted = 0;
    done();
}, 100))))"""
CUT = """[...document.querySelectorAll('button, a.button')].filter(one => one.checkVisibility()).flatMap(node => {
    const box = node.getBoundingClientRect(), all = [node, ...node.querySelectorAll('span')];
    const inside = all.every(one => {
        const { left, right } = one.getBoundingClientRect();
        const room = Math.max(one.clientWidth, box.width);
        return left >= box.left - 1 && right <= box.right + 1 && one.scrollWidth <= room;
    });
    const seen = node.closest('.scroll, .classes')?.getBoundingClientRect();
    const whole = box.left >= 0 && box.right <= innerWidth + 1 && (!seen || box.right <= seen.right + 1);
    return inside && whole && !broken(node) ? [] : [node.textContent.trim()];
})"""
BROKEN = """const broken = (node) => { // whether one of its words goes on in another line; after - and _ it may
    const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT), word = document.createRange();
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        for (const { index, 0: { length } } of text.data.matchAll(/[^\\s_-]+/g)) {
            word.setStart(text, index);
            word.setEnd(text, index + length);
            const lines = [...word.getClientRects()].filter(line => line.width).map(line => Math.round(line.top / 4));
            if (new Set(lines).size > 1) return true;
        }
    }
    return false;
};"""


@cache
def _script() -> str:
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(tab: Tab) -> list[str]:
    """Everything that breaks one of axe's rules, the recommended ones too: a line each, with the elements at fault."""
    tab.evaluate(f"() => {{ if (!window.axe) {{ {_script()} }} }}")  # evaluated, not added: pages allow no such script
    found: list[str] = tab.evaluate(RUN)
    return found


def forget_shifts(tab: Tab) -> None:
    """What was opened took room, as whoever opened it expects: forget that, once the browser has told of it."""
    tab.evaluate(FORGET)


def cut(tab: Tab) -> list[str]:
    """The texts of buttons that cannot be seen whole, in the window or in the box they scroll in, or word by word."""
    found: list[str] = tab.evaluate(f"() => {{ {BROKEN} return {CUT}; }}")
    return found
