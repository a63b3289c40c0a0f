"""Messages for the page: none of those that can reach it names an option of the command line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import unskew
from unskew.web.wording import on_page

HERE = Path(unskew.__file__).parent
MODULES = [
    *(HERE / "campaigns/tables").glob("*.py"),
    HERE / "campaigns/audit/log_audit.py",
    HERE / "campaigns/audit/findings.py",
]
OF_COMMANDS = ("--type is like", "--type names ", "--type x=x")
"""Messages about options themselves, which only the command line parses; and a part of one, which has a doctest."""


def messages(path: Path) -> Iterator[str]:
    """Every text of a module that is not a docstring, with x where a value would be."""
    tree = ast.parse(path.read_text())
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (docs | inside):
            yield node.value


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_message_names_an_option(path: Path) -> None:
    told = [one for one in messages(path) if re.search("--[a-z]", one) and not one.startswith(OF_COMMANDS)]
    assert [one for one in map(on_page, told) if re.search("--[a-z]", one)] == []


def test_there_are_such_messages() -> None:
    assert sum(bool(re.search("--[a-z]", one)) for path in MODULES for one in messages(path)) > 20
