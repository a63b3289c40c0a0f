"""Self-contained HTML pages, from the templates of this package."""

import base64
import re
from itertools import count
from typing import Any

from markupsafe import Markup, escape


def rendered(package: str, template: str, facts: dict[str, Any]) -> str:
    """A page from a template of the package with these facts. A fact that the template needs must not be missing."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # takes a moment to import

    environment = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["named_cells"] = named_cells
    return environment.get_template(template).render(facts) + "\n"


def named_cells(table: str) -> Markup:
    """The head and body of a table, with the heading of each cell as its data-label: on a phone, rows become cards.

    The table comes from a template, which has escaped it. Headings are escaped again.

    >>> print(named_cells('<tr><th scope="col">who</th><th scope="col">rows</th></tr><tr><th>ann</th><td>7</td></tr>'))
    <tr><th scope="col">who</th><th scope="col">rows</th></tr><tr><th>ann</th><td data-label="rows">7</td></tr>
    """
    found = re.findall(r'<th scope="col">(.*?)</th>', table, re.DOTALL)
    heads = [escape(Markup(head).striptags()) for head in found]  # nosec B704

    def named(row: re.Match[str]) -> str:
        column = count(1 if "<th" in row[0] else 0)
        return re.sub("<td", lambda _: f'<td data-label="{heads[next(column)]}"', row[0])

    cells = re.sub("<tr>.*?</tr>", named, table, flags=re.DOTALL)
    return Markup(cells)  # nosec B704


def png_address(content: bytes) -> str:
    """A PNG image as an address, so that a page can hold it.

    >>> png_address(b"...")
    'data:image/png;base64,Li4u'
    """
    return "data:image/png;base64," + base64.b64encode(content).decode()
