"""Guidelines as HTML. Nothing in them is taken as HTML, and links lead nowhere but to web pages and mail addresses."""

from markdown_it import MarkdownIt
from markupsafe import Markup

_MARKDOWN = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")


def rendered(text: str) -> Markup:
    """The text as HTML, its headings below those of the page.

    >>> print(rendered("Say *yes* if <b>all</b> was paid.").strip())
    <p>Say <em>yes</em> if &lt;b&gt;all&lt;/b&gt; was paid.</p>
    >>> print(rendered("# When to skip").strip())
    <h3>When to skip</h3>
    >>> print(rendered("[here](javascript:alert)").strip())
    <p>[here](javascript:alert)</p>
    """
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + 2)}"
        for inner in token.children or ():
            if inner.type == "link_open":
                inner.attrSet("rel", "noopener noreferrer")
                inner.attrSet("target", "_blank")
    return Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))  # nosec B704
