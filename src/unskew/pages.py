"""Self-contained HTML pages, from the templates of this package."""

import base64
from typing import Any


def rendered(package: str, template: str, facts: dict[str, Any]) -> str:
    """A page from a template of the package with these facts. A fact that the template needs must not be missing."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # takes a moment to import

    environment = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(template).render(facts) + "\n"


def png_address(content: bytes) -> str:
    """A PNG image as an address, so that a page can hold it.

    >>> png_address(b"...")
    'data:image/png;base64,Li4u'
    """
    return "data:image/png;base64," + base64.b64encode(content).decode()
