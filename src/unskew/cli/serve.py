"""`unskew serve`: the page on which people label and the administrator follows the progress."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unskew.web.server import Links

OWN = ("127.0.0.1", "localhost", "::1")


def serve(
    dir: Annotated[Path, typer.Argument(help="A campaign's folder, or a folder for several campaigns.")] = Path("."),
    annotator: Annotated[
        list[str] | None,
        typer.Option(metavar="<name>", help="Make a link for an annotator. Repeat it for several."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 admits other machines.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free port.")] = 8000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the links as JSON.")] = False,
) -> None:
    """Serve the page: label row by row, watch the error fall. Or begin campaigns there.

    unskew serve loans --annotator ada --annotator bob

    unskew serve campaigns
    """
    from unskew.web.server import serve as run

    if host not in OWN:
        print(
            f"{host} can be reached by others, and http is not encrypted. Put a server with https in front of it.",
            file=sys.stderr,
        )

    def ready(links: "Links") -> None:
        if as_json:
            print(json.dumps(asdict(links)), flush=True)
        else:
            _say(links)

    run(dir, host=host, port=port, annotators=list(dict.fromkeys(annotator or [])), ready=ready)
    print("Stopped. Every answer is in the ledger.", file=sys.stderr)


def _say(links: "Links") -> None:
    print(f"Serving at {links.address} until you press Ctrl-C.\n")
    width = max(map(len, ["you", *links.annotators, *links.known]))
    print(f"  {'you':<{width}}  {links.admin}   (works once)")
    for name, link in links.annotators.items():
        print(f"  {name:<{width}}  {link}")
    for name in links.known:
        print(f"  {name:<{width}}  has a link, which still works; invite {name} on your page to make another")
    print(flush=True)
