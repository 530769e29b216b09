"""Models without a network: rules that turn a plan into a scaffold, and code given to be judged.

The scaffold has a signature with the paper's sentences for each component, and a constant with its source for each value. It
says of itself that it is a scaffold; no test repeats a constant, and none fails once a body is written.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from phases.agent.prompt import parse_first_messages
from phases.evidence.values import write_expression
from phases.llm.model import Reachability, Reply, Request, ToolCall
from phases.planning.plan_words import steps_of

GIVEN = "given"
Row = Mapping[str, Any]
_WIDTH, _PAD = 100, "    "
_LONGEST_TITLE = 90
_DEFINED = re.compile(r"(class|def) ([A-Za-z_]\w*)")
_CONSTANT = re.compile(r"([A-Za-z_]\w*) = (.*)", re.DOTALL)


# Not an adapter of llm/: it answers by reading the agent's own prompt (decision 142).
class OfflineModel:
    """Writes one planned file a turn, in the plan's order, and then says what it did not do."""

    name = "offline"
    detail = "rules, no network"
    window = 10**9
    secrets: tuple[str, ...] = ()
    priced = True
    reports_cost = False

    def __init__(self) -> None:
        self._told = b""
        self._plan: dict[str, Any] = {}
        self._write: list[str] = []

    def ask(self, request: Request) -> Reply:
        if request.messages[1].digest != self._told:
            self._told = request.messages[1].digest
            self._plan, self._write = parse_first_messages(request.messages)
        if request.turn > len(self._write):
            return Reply("ok", "The scaffold is written. What the plan demands beyond values is a stub.")
        path = self._write[request.turn - 1]
        arguments = {"file_path": path, "content": scaffold_text(self._plan, path)}
        return Reply("ok", "", (ToolCall(f"write-{request.turn}", "Write", arguments),))

    def is_over(self, thread: str, turn: int) -> bool:
        return turn > len(self._write) + 1

    def check(self) -> Reachability:
        return Reachability(True, self.detail)

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return 0.0


class GivenCode:
    """Model that claims at once that the code is done. `name`: its author in the journal."""

    detail = "judges code that is there, no network"
    window = 10**9
    secrets: tuple[str, ...] = ()
    priced = True
    reports_cost = False

    def __init__(self, name: str = GIVEN) -> None:
        self.name = name

    def ask(self, request: Request) -> Reply:
        return Reply("ok", "The code is as it was given.")

    def is_over(self, thread: str, turn: int) -> bool:
        return turn > 1

    def check(self) -> Reachability:
        return Reachability(True, self.detail)

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return 0.0


def scaffold_text(plan: Row, path: str) -> str:
    """Return the text of one planned file."""
    row = next(row for row in plan["file_structure"] if row["path"] == path)
    if path.endswith("README.md"):
        return _readme(plan)
    if not path.endswith(".py"):
        return f"{row['purpose']}\n"
    if path.endswith("__main__.py"):
        return _entry_script(plan)
    if path.startswith("tests/") and "__init__" not in path:
        return tests_text(plan, _planned_names)
    return _module(plan, row)


def _module(plan: Row, row: Row) -> str:
    purpose = one_plain_line(row["purpose"][:1].upper() + row["purpose"][1:]).rstrip(".")
    values = {value["id"]: value for value in plan["values"]}
    components = {component["id"]: component for component in plan["components"]}
    own = [components[name] for name in row.get("components", ()) if name in components]
    constants, bodies = [], []
    ids = [name for name in row.get("implements", ()) if name in values]
    declared = [line for line in row.get("interface", ()) if _constant_name(line)]
    for identifier, line in zip_longest(ids, declared[: len(ids)], fillvalue=""):
        constants += _constant(values[identifier], line)
    lines = [line for line in row.get("interface", ()) if _defined(line)]
    definitions = [definition for line in lines if (definition := _defined(line))]
    for (word, name), line, component in zip(definitions, lines, own, strict=False):
        text = _definition(word, name, _docstring(component, plan), component["id"], _arguments(line))
        bodies.append(text)
    covered = {name for component in own[: len(definitions)] for name in component["requirements"]}
    rest = [name for name in row.get("implements", ()) if name not in covered and name not in values]
    others = definitions[len(own) :] or ([("def", "what_is_left")] if rest else [])
    for word, name in others:
        bodies.append(_definition(word, name, _doc(name.replace("_", " "), _wrapped_rows(rest, plan)), name))
        rest = []
    head = [f'"""{escape_backslashes(_title(purpose))}."""\n']
    head += ["from __future__ import annotations\n"] if bodies else []
    return "\n".join([*head, *constants, *("\n" + body for body in bodies)]).rstrip("\n") + "\n"


def _defined(line: str) -> tuple[str, str] | None:
    """ "class" or "def", and the name; None where a line of an edited plan is neither."""
    match = _DEFINED.match(line)
    return (match.group(1), match.group(2)) if match and not keyword.iskeyword(match.group(2)) else None


def _constant_name(line: str) -> str:
    match = _CONSTANT.match(line)
    return match.group(1) if match and not keyword.iskeyword(match.group(1)) else ""


def _constant(value: Row, line: str) -> list[str]:
    name = _constant_name(line) or f"VALUE_{value['id']}"
    given = value["value"] if "value" in value else tuple(value["values"])
    owner = "" if value["owner"] == "method" else f", of {one_plain_line(value['owner'])}"
    condition = f", {one_plain_line(value['condition'])}" if value.get("condition") else ""
    unit = f", in {one_plain_line(value['unit'])}" if value.get("unit") else ""
    computed = write_expression(given) if isinstance(given, str) else ""
    return [
        f"# {value['id']}: {one_plain_line(value['name'])}{unit}{owner}{condition} ({_place(value)})",
        f"{name} = {computed or repr(given)}",
    ]


def _place(row: Row) -> str:
    """Return the place in the paper: "section 3.1, page 3"."""
    source = row["source"]
    if source["section"] == "review":
        return "asked for at the review"
    section = f"section {one_plain_line(source['section'])}" if source["section"] else ""
    return ", ".join(filter(None, (section, f"page {source['page']}" if source["page"] else ""))) or "no place"


def _arguments(line: str) -> str:
    """Return the arguments that a plan names, as in "(k, id)"; else any arguments."""
    match = re.search(r"\(([A-Za-z_]\w*(?:, ?[A-Za-z_]\w*)*)\)$", line)
    names = [name.strip() for name in match.group(1).split(",")] if match else []
    if not names or len(set(names)) < len(names) or any(map(keyword.iskeyword, names)):
        return "*inputs: object, **settings: object"
    return ", ".join(f"{name}: object" for name in names)


def _definition(
    word: str, name: str, docstring: str, identifier: str, arguments: str = "*inputs: object, **settings: object"
) -> str:
    if word == "class":
        return (
            f"class {name}:\n{docstring}\n    def __init__(self, **settings: object) -> None:\n"
            f'        raise NotImplementedError("{identifier} is a stub")\n'
        )
    return f'def {name}({arguments}) -> object:\n{docstring}    raise NotImplementedError("{identifier} is a stub")\n'


def _docstring(component: Row, plan: Row) -> str:
    parts = _wrapped_rows(component["requirements"], plan)
    if not component["requirements"] and component["what"]:
        parts.append(_wrap(one_plain_line(component["what"])))
    if component.get("steps"):
        steps = [(f"{step.number:>3}  {' ' * step.depth}", step.text) for step in steps_of(component)]
        parts.append(_listed(one_plain_line(component.get("algorithm", "Algorithm")), steps))
    if component.get("equations"):
        parts.append(_listed("Equations", [("", line) for line in component["equations"]]))
    if near := _values_of(component, plan):
        parts.append(_listed("Values", [("", line) for line in near]))
    return _doc(f"{component['name']} ({component['id']}, {_place(component)})", parts)


def _doc(title: str, parts: Sequence[str]) -> str:
    body = "".join(f"\n{escape_backslashes(part)}\n" for part in parts if part)
    return f'{_PAD}"""{escape_backslashes(_title(one_plain_line(title)))}.\n{body}{_PAD}"""\n'


def _title(text: str) -> str:
    text = text[:1].upper() + text[1:] if text[1:2].islower() else text
    return text if len(text) <= _LONGEST_TITLE else f"{text[:_LONGEST_TITLE].rpartition(' ')[0]} …"


def _wrapped_rows(names: Sequence[str], plan: Row) -> list[str]:
    known = {row["id"]: row for row in plan["requirements"]}
    texts = []
    for name in names:
        if name in known:
            row = known[name]
            formula = f" {one_plain_line(row['formula'])}" if row.get("formula") else ""
            texts.append(_wrap(f"{name} ({_place(row)}): {one_plain_line(row['text'])}{formula}"))
    return texts


def _values_of(component: Row, plan: Row) -> list[str]:
    """Return the values in the sentences of a component, without their ids."""
    known = {row["id"]: row["text"] for row in plan["requirements"]}
    sentences = " ".join(known.get(name, "") for name in component["requirements"])
    values = []
    for value in plan["values"]:
        quote = value["source"]["quote"]
        if quote and (quote in sentences or quote[:60] in sentences):
            given = value["value"] if "value" in value else ", ".join(map(str, value["values"]))
            values.append(f"{value.get('symbol') or value['name']} = {given}")
    return values


def _listed(head: str, lines: Sequence[tuple[str, str]]) -> str:
    """Return a head with lines below it, each with its prefix, wrapped."""
    wrapped = [
        textwrap.fill(
            one_plain_line(line),
            _WIDTH,
            initial_indent=f"{_PAD}  {before}",
            subsequent_indent=f"{_PAD}    {' ' * len(before)}",
            break_on_hyphens=False,
        )
        for before, line in lines
    ]
    return "\n".join([f"{_PAD}{head}:", *wrapped])


def _wrap(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=_PAD, subsequent_indent=_PAD, break_on_hyphens=False)


def one_plain_line(text: object) -> str:
    """Return text on one line, without invisible characters and double quotes."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split()).replace('"', "'")


def escape_backslashes(text: str) -> str:
    """Escape text for a docstring, after wrapping and cutting, which would split an escape."""
    return text.replace("\\", "\\\\")


def _modules(plan: Row) -> list[str]:
    return [
        row["path"][:-3].replace("/", ".")
        for row in plan["file_structure"]
        if row["path"].endswith(".py") and not row["path"].startswith("tests/") and "__" not in row["path"]
    ]


def _readme(plan: Row) -> str:
    title, package = one_plain_line(plan["paper"]["title"]), str(plan["file_structure"][0]["path"]).partition("/")[0]
    command = one_plain_line(next(iter(plan["validation_approach"]["verify_commands"]), ""))
    order = "\n".join(f"{number}. {line}" for number, line in enumerate(_order_of_work(plan), 1))
    contribution = textwrap.fill(one_plain_line(plan["paper"]["core_contribution"]), _WIDTH)
    return (
        f"# {title}: a scaffold\n\n{contribution}\n\nThis is a scaffold, written by rules and without a model. The constants in "
        f"`{package}/config.py` are what the\npaper states; every function and class is a stub that holds the sentences of the "
        f"paper and raises\nNotImplementedError. Write the files in this order: a file uses only those above it.\n\n{order}\n\n"
        f"    python -m {package}            lists what is demanded, and what of it is a stub\n    {command}\n"
    )


def _order_of_work(plan: Row) -> list[str]:
    """Return a line for each file to write: name, contents and number of requirements."""
    lines = []
    for row in plan["file_structure"]:
        names = [name for word, name in filter(None, map(_defined, row.get("interface", ())))]
        if names and row["path"].endswith(".py") and "__" not in row["path"] and not row["path"].startswith("tests/"):
            count = len(row.get("implements", ()))
            demanded = f" ({count} requirement{'s' * (count != 1)})" if count else ""
            lines.append(f"`{row['path']}`: {', '.join(names)}{demanded}")
    return [textwrap.fill(line, _WIDTH, subsequent_indent="   ", break_on_hyphens=False) for line in lines]


def _entry_script(plan: Row) -> str:
    rows = [(row["id"], row["kind"], one_plain_line(row["text"])) for row in plan["requirements"]]
    table = "\n".join(f"    {row!r}," for row in rows)
    return f'''"""Lists what the paper demands. Everything in it is a stub so far: this is a scaffold."""

from __future__ import annotations

import argparse

REQUIREMENTS = (
{table}
)


def main() -> None:
    """Prints the requirements of one kind, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", help="algorithm, model, equation, loss, dataset, metric, baseline, experiment, artifact")
    wanted = parser.parse_args().kind
    for identifier, kind, text in REQUIREMENTS:
        if wanted in (None, kind):
            print(f"{{identifier:<5}} stub   {{kind:<15}} {{text}}")


if __name__ == "__main__":
    main()
'''


def _planned_names(row: Row) -> tuple[str, ...]:
    names = ((_defined(line) or ("", _constant_name(line)))[1] for line in row.get("interface", ()))
    return tuple(filter(None, names))


def tests_text(plan: Row, names_of: Callable[[Row], tuple[str, ...]]) -> str:
    """Return the tests of a scaffold: its modules import, and have the planned names."""
    # unittest, because the scaffold must run where only Python is installed (decision 16).
    names = {
        row["path"][:-3].replace("/", "."): names_of(row)
        for row in plan["file_structure"]
        if row["path"].endswith(".py")
    }
    table = "\n".join(f"    {module!r}: {names.get(module, ())!r}," for module in _modules(plan))
    return f'''"""What the scaffold promises: it imports, and every name that the plan gives it is there. Stubs are not called."""

from __future__ import annotations

import importlib
import unittest

PLANNED: dict[str, tuple[str, ...]] = {{
{table}
}}


class Scaffold(unittest.TestCase):
    def test_every_module_imports_and_has_its_planned_names(self) -> None:
        for module, names in PLANNED.items():
            with self.subTest(module):
                found = importlib.import_module(module)
                self.assertEqual([name for name in names if not hasattr(found, name)], [])


if __name__ == "__main__":
    unittest.main()
'''
