"""A self-contained HTML page, from a template of this package."""

from typing import Any


def rendered(template: str, facts: dict[str, Any]) -> str:
    """The page with these facts. A fact that the template needs and that is missing is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("unskew.campaigns.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(facts) + "\n"
