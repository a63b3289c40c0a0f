"""Paths of a page that may have others beside it: what comes before them, and what comes after that."""

from urllib.parse import quote

from fastapi import Request


def base(request: Request) -> str:
    """What comes before the paths of the pages, where several campaigns share a server."""
    return quote(str(request.scope.get("root_path", ""))).rstrip("/")


def inside(request: Request) -> str:
    """The path of a request without what comes before."""
    return str(request.scope["path"]).removeprefix(str(request.scope.get("root_path", "")))
