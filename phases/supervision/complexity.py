"""How hard a task is (section 6.3): a score from its goal, its repository, its files."""

from __future__ import annotations

import re
from enum import StrEnum

from phases.supervision.facts import RepoShape, Task


class Complexity(StrEnum):
    """How hard a task is, in a word."""

    TRIVIAL = "trivial"
    SIMPLE = "simple"
    MODERATE = "moderate"
    COMPLEX = "complex"
    HARD = "hard"


_LEVELS = (
    (15, Complexity.TRIVIAL),
    (30, Complexity.SIMPLE),
    (55, Complexity.MODERATE),
    (75, Complexity.COMPLEX),
)
_LONG_GOAL, _MANY_WORDS, _LENGTH_POINTS, _WORD_POINTS = 30, 10, 10, 15
_MULTISTEP_POINTS, _DEEP_POINTS = 8, 7
_MONOREPO_POINTS, _FULLSTACK_POINTS, _BACKEND_POINTS = 10, 10, 6
_POINTS_A_FILE, _MOST_FILE_POINTS = 6, 30
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_MULTISTEP = re.compile(
    r"\b(?:then|after that|afterwards|finally|first|second|next|step by step|steps|phases?|stages?|multiple|several"
    r"|dann|danach|zuerst|anschließend|schließlich|schritte"
    r"|ensuite|puis|enfin|étapes|luego|después|finalmente|pasos)\b"
    r"|然后|之后|接着|首先|最后|步骤|分阶段|次に|その後|最後に|그다음|마지막",
    re.IGNORECASE,
)
_DEEP_CHANGE = re.compile(
    r"\b(?:refactor\w*|rewrite|rearchitect\w*|architecture|migrat\w+|redesign\w*|restructur\w*|overhaul|from scratch"
    r"|implement\w*|reproduc\w+"
    r"|umbau\w*|umschreiben|architektur|migrier\w*|implementier\w*"
    r"|refonte|réécri\w+|refactoriz\w+|reescrib\w+|migración)\b"
    r"|重构|架构|迁移|重写|实现|复现|リファクタ|再設計|移行|実装|리팩터|재설계|구현",
    re.IGNORECASE,
)
"""English, German, French, Spanish, Chinese, Japanese, Korean: a word of another language counts for nothing."""


def complexity_of(task: Task, *, changed_files: int = 0) -> tuple[int, Complexity]:
    """The score, 0 to 100, with its level. The goal's text alone comes to 40 at most, so planned files count."""
    files = max(len(task.planned_files), changed_files, 0)
    score = goal_points(task.goal) + repo_points(task.repo) + min(_MOST_FILE_POINTS, _POINTS_A_FILE * files)
    return score, next((level for most, level in _LEVELS if score <= most), Complexity.HARD)


def goal_points(goal: str) -> int:
    """0 to 40."""
    words = _words(goal)
    length = _LENGTH_POINTS if len(goal) > _LONG_GOAL else half_up(len(goal) / 3)
    return (
        length
        + (_WORD_POINTS if words > _MANY_WORDS else half_up(1.5 * words))
        + (_MULTISTEP_POINTS if _MULTISTEP.search(goal) else 0)
        + (_DEEP_POINTS if _DEEP_CHANGE.search(goal) else 0)
    )


def repo_points(repo: RepoShape) -> int:
    """0 to 30."""
    size = 10 if repo.file_count > 500 else 5 if repo.file_count > 100 else 0
    stack = _FULLSTACK_POINTS if repo.fullstack else _BACKEND_POINTS if repo.backend else 0
    return size + stack + (_MONOREPO_POINTS if repo.monorepo else 0)


def half_up(value: float) -> int:
    """The nearest whole number, halves upwards: for values that are not negative."""
    return int(value + 0.5)


def _words(goal: str) -> int:
    """Words between spaces; of scripts without spaces, two characters are one."""
    return len(_IDEOGRAPHS.sub(" ", goal).split()) + half_up(len(_IDEOGRAPHS.findall(goal)) / 2)
