"""Find faults of a plan that no schema can express: dangling ids, invalid packages, checks that hide their exit code."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from phases.sandbox.installs import read_requirement

_TOKEN = re.compile(
    r"""(?P<word>(?:\$\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)|[^\s'"`\\;&|()<>]|\\.|'[^']*+'|"(?:[^"\\]|\\.)*+"|`[^`]*+`)++)"""
    r"|(?P<sign>&&|\|\||\|&|&>>?|>>|>&|<<<|<<|<&|[;&|()<>\n])|[ \t\r]++",
    re.DOTALL,
)
_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*+(['\"]?)(\w{1,40})\1([^\n]*+)\n(?:.*?\n)??[ \t]*+\2(?=\n|$)", re.DOTALL)
_REDIRECTIONS = (">", ">>", "<", "<<", "<<<", ">&", "<&", "&>", "&>>")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*+\+?=")


def _words_of(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_WELL = ("true", ":", "echo", "printf", "exit 0")
"""Commands that end well whatever came before."""
_PREPARES = (
    *_WELL,
    *_words_of("cd export mkdir set unset source . rm cp mv touch umask ulimit shopt sleep cat ls trap"),
)
"""Commands in front of a check whose own end nobody needs to know."""
_CONDITIONS = _words_of("test [ [[ command which type hash grep")
_WRAPPERS = _words_of("env timeout nice time command exec nohup xvfb-run stdbuf")
_FEEDS = _words_of("echo printf cat yes")
_BLOCKS = _words_of("if while until for case select")
_FAILS = re.compile(r"\b(?:exit|return)\s+(?:[1-9]|\"?\$)|(?:^|[\s;&|({])false\b")
_SHELLS = _words_of("bash sh zsh dash ksh")
_LONGEST = 10_000
"""Characters of a command that are read."""
_DEPTH = 5
"""Of shells in shells; deeper ones are not looked into."""


@dataclass(frozen=True)
class _Rules:
    """Options of the shell that are set before a command."""

    stops: bool = False
    """`set -e`: the first command that fails ends all."""
    pipefail: bool = False
    depth: int = 0


def why_exit_hidden(command: str) -> str:
    """Return how a failure of the check could go unnoticed, for the author of the command; empty where it could not."""
    return _why_list_hides(_read_tokens(command), _Rules())


def _read_tokens(command: str) -> list[str]:
    """Return words with their quotes, and operators; without redirections, comments and here-documents."""
    text = _HERE_DOCUMENT.sub(r"\3", command[:_LONGEST].replace("\\\n", " "))
    made: list[str] = []
    skips, remark = False, False
    for found in _TOKEN.finditer(text):
        part = found.group("word") or found.group("sign") or ""
        remark = part != "\n" and (remark or part.startswith("#"))
        if not part or remark:
            continue
        if found.group("sign") in _REDIRECTIONS:
            skips = True
        elif not skips:
            made.append(part)
        else:
            skips = False
    return made


def _why_list_hides(tokens: Sequence[str], rules: _Rules) -> str:
    """Check commands between `;` and line ends, of which the last one decides."""
    statements = [*_split(tokens, (";", "\n", "&"))]
    for number, (statement, sign) in enumerate(statements):
        words = _strip_wrappers(statement)
        if sign == "&":
            return "it runs in the background, and nothing waits for it"
        if words[:1] == ["set"]:
            flags = " ".join(words[1:])
            if "+e" in flags:
                return "`set +e` ignores how the check ended"
            rules = _Rules(
                rules.stops or bool(re.search(r"-\w*e|errexit", flags)),
                rules.pipefail or "pipefail" in flags,
                rules.depth,
            )
        is_last = number == len(statements) - 1
        if not (is_last or rules.stops or _prepares(statement)):
            return f"only the command after it decides; join the two with && ({_show(statement)} … )"
        if why := _why_chain_hides(statement, rules, is_last):
            return why
    return ""


def _why_chain_hides(tokens: Sequence[str], rules: _Rules, is_last: bool) -> str:
    """Check commands joined by && and ||."""
    links = [*_split(tokens, ("&&", "||"))]
    for (left, sign), (right, _) in pairwise(links):
        told = " ".join(right)
        excuses = _strip_wrappers(left)[:1] and _strip_wrappers(left)[0] in _CONDITIONS and not _ends_well(right)
        if sign == "||" and not _FAILS.search(told) and not excuses:
            return "what stands after || makes it end well where the check failed"
    for number, (link, _) in enumerate(links):
        # `pytest && echo passed` ends badly where pytest does
        is_after_check = links[number - 1][1] == "&&" and not all(_prepares(one) for one, _ in links[:number])
        if why := _why_pipe_hides(link, rules, is_last and number == len(links) - 1 and not is_after_check):
            return why
    return ""


def _why_pipe_hides(tokens: Sequence[str], rules: _Rules, decides: bool) -> str:
    parts = [part for part, _ in _split(tokens, ("|", "|&"))]
    if any(_first(part) not in _FEEDS for part in parts[:-1]) and not rules.pipefail:
        return "a pipe ends as its last command does; leave the pipe out"
    return next((why for part in parts if (why := _why_command_hides(part, rules, decides and part is parts[-1]))), "")


def _why_command_hides(tokens: Sequence[str], rules: _Rules, decides: bool) -> str:
    if not tokens or rules.depth > _DEPTH:
        return ""
    deeper = _Rules(rules.stops, rules.pipefail, rules.depth + 1)
    if tokens[0] in ("(", "{"):
        return _why_list_hides(tokens[1:-1] if tokens[-1] in (")", "}") else tokens[1:], deeper)
    told = " ".join(tokens)
    if tokens[0] in _BLOCKS:
        is_kept = _FAILS.search(told) or (rules.stops and tokens[0] == "for")
        return "" if is_kept else f"`{tokens[0]}` takes how the check ended; leave it out, or end it with exit 1"
    if tokens[0] == "!":
        return "" if tokens[1:2] and tokens[1] in _CONDITIONS else "`!` turns round how the check ended"
    words = _strip_wrappers(tokens)
    if words[:1] == ["trap"] and re.search(r"exit 0|true|:", told):
        return "`trap` sets how it ends"
    if decides and _ends_well(words):
        return "its last command ends well whatever the check said"
    return _why_program_hides(words, deeper)


def _why_program_hides(words: Sequence[str], rules: _Rules) -> str:
    """Check options that make a program ignore failures."""
    name = words[0].rpartition("/")[2] if words else ""
    flags, script = _find_script(words)
    if name in _SHELLS or name == "eval":
        inner = _Rules("e" in re.sub(r"-o\s+\w+|--\w+", "", flags), rules.pipefail or "pipefail" in flags, rules.depth)
        return _why_list_hides(_read_tokens(script if name != "eval" else _unquote(" ".join(words[1:]))), inner)
    if name == "make" and {"-i", "--ignore-errors"}.intersection(words):
        return "make -i ignores what fails"
    if {"--collect-only", "--co"}.intersection(words):
        return "--collect-only runs no test"
    return _why_python_hides(script) if name.startswith("python") and script else ""


def _why_python_hides(script: str) -> str:
    """Check `python -c` for code that swallows a failure."""
    try:
        return next(_swallowing(ast.parse(script)), "")
    except (SyntaxError, ValueError):
        return ""  # it fails by itself
    except (RecursionError, MemoryError):
        return "its Python is nested too deep to be read"


def _swallowing(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            caught = (
                one for one in node.handlers if not one.type or ast.unparse(one.type) in ("Exception", "BaseException")
            )
            if any(not _raises(one.body) for one in caught) and not _raises(node.orelse):
                yield "its `except` swallows what the check raises"
            if any("exit" in ast.unparse(one) for one in node.finalbody):
                yield "its `finally` sets how it ends"
        if isinstance(node, ast.With) and any("suppress(Exception" in ast.unparse(one) for one in node.items):
            yield "`suppress` swallows what the check raises"
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = ast.unparse(node.value.func)
            is_checked = any(one.arg == "check" for one in node.value.keywords)
            if called in ("os.system", "subprocess.call", "subprocess.Popen", "subprocess.run") and not is_checked:
                yield f"nothing checks how the command of {called} ended; run it without Python"


def _raises(body: Sequence[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Raise | ast.Assert) or (isinstance(node, ast.Call) and "exit" in ast.unparse(node.func))
        for statement in body
        for node in ast.walk(statement)
    )


def _find_script(words: Sequence[str]) -> tuple[str, str]:
    """Return the flags before `-c SCRIPT` and the unquoted script; the flags alone where there is none."""
    for number, word in enumerate(words[1:], 1):
        if re.fullmatch(r"-\w*c", word) and number + 1 < len(words):
            return " ".join(words[1 : number + 1]), _unquote(words[number + 1])
    return "", ""


def _unquote(word: str) -> str:
    if len(word) > 1 and word[0] == word[-1] == "'":
        return word[1:-1]
    return re.sub(r"\\([\"\\$`])", r"\1", word[1:-1]) if len(word) > 1 and word[0] == word[-1] == '"' else word


def _strip_wrappers(tokens: Sequence[str]) -> list[str]:
    """Return the command without variable assignments and without programs that only run another."""
    words = list(tokens)
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in _WRAPPERS):
        wrapper = words.pop(0)
        while wrapper in _WRAPPERS and words and re.match(r"-|[0-9.]+[smhd]?$", words[0]):
            words.pop(0)
    return words


def _prepares(tokens: Sequence[str]) -> bool:
    """Return whether a statement before the last one is a preparation, whose exit code may be lost."""
    words = _strip_wrappers(tokens)
    if not words:
        return "(" not in tokens[0] and "`" not in tokens[0]
    return words[0] in _PREPARES or (words[0] in _CONDITIONS and bool({"||", "&&"}.intersection(words)))


def _ends_well(tokens: Sequence[str]) -> bool:
    words = [word for word in tokens if word not in ("(", ")", "{", "}", ";")]
    return bool(words) and (words[0] in _WELL or " ".join(words[:2]) == "exit 0")


def _first(tokens: Sequence[str]) -> str:
    return next(iter(_strip_wrappers(tokens)), "")


def _show(tokens: Sequence[str]) -> str:
    return " ".join(tokens)[:40]


def _split(tokens: Sequence[str], signs: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """Return the parts between these operators, each with its operator; brackets and blocks stay whole."""
    part: list[str] = []
    depth = 0
    for token in tokens:
        starts = not part or part[-1] in ("&&", "||", "|", "|&", ";", "\n", "(", "{", "then", "do", "else")
        depth += (token in ("(", "{")) + (starts and token in _BLOCKS)
        depth -= token in (")", "}") or (token in ("fi", "done", "esac"))
        if not depth and token in signs:
            if part:
                yield part, token
            part = []
        else:
            part.append(token)
    if part:
        yield part, ""


_IDS = {"components": "C", "values": "V", "expected_results": "E", "experiments": "X", "requirements": "R"}


def reference_faults(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield duplicate ids and dangling ids."""
    known: set[str] = set()
    for name in _IDS:
        counted = Counter(row["id"] for row in plan[name])
        known |= set(counted)
        yield from (f"{name}: the id {one} stands {count} times" for one, count in counted.items() if count > 1)
    leads = [
        *((f"{row['id']}: its component", row["component"]) for row in plan["requirements"] if "component" in row),
        *((f"{row['id']}: one of its requirements", one) for row in plan["components"] for one in row["requirements"]),
        *((f"{row['id']}: one of its results", one) for row in plan["experiments"] for one in row.get("results", ())),
        *(
            (f"{row['path']}: one of its components", one)
            for row in plan["file_structure"]
            for one in row.get("components", ())
        ),
        *(
            (f"{row['path']}: one that it implements", one)
            for row in plan["file_structure"]
            for one in row.get("implements", ())
        ),
    ]
    yield from (f"{place} is {one}, which the plan does not have" for place, one in leads if one not in known)


def package_faults(packages: Sequence[str]) -> Iterator[str]:
    """Yield lines that pip cannot install, with the form that it can."""
    for line in packages:
        if read_requirement(line) is None:
            yield (
                f"environment_setup: {line!r} is not a line that can be installed; write the name in the package index, and a "
                "version if it matters, like 'scikit-learn>=1.3'"
            )


def command_faults(commands: Sequence[str]) -> Iterator[str]:
    """Yield verify commands that hide their exit code."""
    for command in commands:
        if why := why_exit_hidden(command):
            yield f"validation_approach: the check {command!r} hides how it ended: {why}"
