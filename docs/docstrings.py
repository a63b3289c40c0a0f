"""Docstrings as the site shows them: doctests and literal blocks become fenced code.

Docstrings are written for two readers. In a terminal they are plain text, with doctests that the tests run and with
reStructuredText's `::` before a formula. The site reads Markdown, in which `>>>` is a quote inside a quote inside a
quote, and a tag in a doctest's output is a tag of the page. This extension of griffe, which collects the docstrings for
mkdocstrings, rewrites both as fences before anything else reads them. It also keeps the star of h*, the paper's best
classifier, from being read as the begin of emphasis.

A function that takes described options as `**options` is shown with each of them, as in `help`.
"""

import inspect
import pkgutil
import re
from typing import Any

import griffe

FLAGS = re.compile(r"\s*# doctest:.*$")
"""Directions to the program that runs the doctests, of no use to a reader."""

STARRED = re.compile(r"(`[^`]*`|\*\*[^*]+\*\*|(?<![\w*])\*\w[^*]*\*)|(?<=\w)\*(?![\w*])")
"""Code and emphasis, which stay as they are; or the star of a name, as in h*."""


def fenced(text: str) -> str:
    """The docstring with every doctest and every literal block as a fenced code block."""
    lines = text.splitlines()
    shown: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        indent = line[: len(line) - len(line.lstrip())]
        if line.lstrip().startswith("```"):  # a fence already: leave it as it is
            end = next((k for k in range(at + 1, len(lines)) if lines[k].strip() == "```"), len(lines) - 1)
            shown += lines[at : end + 1]
            at = end + 1
        elif line.lstrip().startswith(">>>"):
            end = _end_of_doctest(lines, at)
            shown += _fence("pycon", [FLAGS.sub("", one) for one in lines[at:end]], indent)
            at = end
        elif line.rstrip().endswith("::") and (end := _end_of_literal(lines, at, indent)) > at + 1:
            if words := line.rstrip()[:-2].rstrip():  # "as follows::" keeps one colon, "::" alone goes
                shown.append(words + ":")
            body = lines[at + 1 : end]
            while not body[0].strip():
                body.pop(0)
            shown += _fence("text", body, indent)
            at = end
        else:
            shown.append(STARRED.sub(lambda found: found[1] or r"\*", line))
            at += 1
    return "\n".join(shown)


def _end_of_doctest(lines: list[str], at: int) -> int:
    """The first line after the examples that begin here; those that follow after blank lines belong to them."""
    while True:
        while at < len(lines) and lines[at].strip():
            at += 1
        after = at
        while after < len(lines) and not lines[after].strip():
            after += 1
        if after == len(lines) or not lines[after].lstrip().startswith(">>>"):
            return at
        at = after


def _end_of_literal(lines: list[str], at: int, indent: str) -> int:
    """The first line after the block that is indented further than the line with the `::`."""
    end = at + 1
    for k in range(at + 1, len(lines)):
        if lines[k].strip():
            if not lines[k].startswith(indent + " "):
                break
            end = k + 1
    return end


def _fence(language: str, body: list[str], indent: str) -> list[str]:
    """The block between fences, with a blank line on either side."""
    margin = min(len(line) - len(line.lstrip()) for line in body if line.strip())
    code = [indent + line[margin:] if line.strip() else "" for line in body]
    return ["", f"{indent}```{language}", *code, f"{indent}```", ""]


class Fences(griffe.Extension):
    """Rewrite every docstring of a package once it is collected."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        self._visit(pkg)

    def _visit(self, found: griffe.Object) -> None:
        text = found.docstring.value if found.docstring is not None else ""
        if isinstance(found, griffe.Function) and "**options" in text:
            _with_options(found)
        if found.docstring is not None:
            found.docstring.value = fenced(found.docstring.value)
        for member in found.members.values():
            if not member.is_alias:
                self._visit(member)


def _with_options(function: griffe.Function) -> None:
    """Signature and docstring as they are once the package is imported."""
    imported = pkgutil.resolve_name(function.canonical_path)
    assert function.docstring is not None
    function.docstring.value = inspect.getdoc(imported) or ""
    function.parameters = griffe.Parameters(*map(_parameter, inspect.signature(imported).parameters.values()))


def _parameter(taken: inspect.Parameter) -> griffe.Parameter:
    kind = griffe.ParameterKind[taken.kind.name.lower()]
    default = None if taken.default is taken.empty else repr(taken.default)
    written = isinstance(taken.annotation, str)
    annotation = taken.annotation if written else inspect.formatannotation(taken.annotation)
    return griffe.Parameter(taken.name, kind=kind, annotation=annotation, default=default)
