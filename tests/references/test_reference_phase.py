"""Phase 06 as the machine runs it: what stands in the way of a model or a lookup is seen, and ends nothing."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from phases import phase06_references
from phases.llm.model import Reply
from pipeline.base.errors import Paused
from pipeline.engine.contract import Contracts
from pipeline.engine.phase import Context, WorkflowContext
from tests.agents import Scripted
from tests.papers import read

PAPER = """\
# Slow Waiting

## 1 Method

Our implementation is based on the code of Coder [1].

## References

[1] C. Coder. A waiting machine. In ICML, 2001. https://github.com/coder/machine

[2] D. Doer. On no time at all. In NeurIPS, 2005.
"""


def run(folder: Path, reply: Reply | None = None, *, lookup: str = "") -> tuple[dict[str, Any], list[str]]:
    """reference.txt, and what stays on the screen; without a reply there is no model."""
    told: list[str] = []
    (folder / "logs").mkdir(exist_ok=True)
    context = Context(
        paths=WorkflowContext(str(folder)),
        settings={
            "model": "a model" if reply else "offline",
            "plan_model": "",
            "lookup": lookup,
            "allow_own_code": "no",
            "private_addresses": "refused",
        },
        secrets=MappingProxyType({}),
        limits={},
        environment={},
        contracts=Contracts(),
        digests={"paper.md": "1" * 64},
        open_model=lambda: Scripted(lambda request: reply or Reply("fatal")),
        review=lambda text, digest: pytest.fail("nothing is reviewed here"),
        progress=lambda done, total, now: None,
        in_place=lambda: None,
        deadline=None,
        tell=told.append,
    )
    paper = read(PAPER)
    inputs = {"paper.md": paper.document, "outline.json": paper.outline, phase06_references.INDEX: paper.index}
    document = phase06_references.PHASE.run(inputs, context)["reference.txt"]
    Contracts().serialise("reference.txt", document, writer="phase 06")
    return dict(document), told


def test_a_ranking_that_failed_is_told_on_the_screen_with_what_asks_again(tmp_path: Path) -> None:
    document, told = run(tmp_path, Reply("transient", detail="oops"))
    assert document["refined_by"] is None
    assert told == [f"06 references: {document['notes'][-1]}"]
    assert told[0].endswith(f"ask again with: pipeline resume {tmp_path.name} --redo 06")


def test_a_ranking_that_came_tells_nothing(tmp_path: Path) -> None:
    document, told = run(tmp_path, Reply("ok", '{"helps": [{"id": "B1", "use": "the base", "rank": 1}]}'))
    assert document["refined_by"] == "scripted"
    assert told == []


def test_a_server_that_takes_no_more_calls_pauses_the_phase(tmp_path: Path) -> None:
    with pytest.raises(Paused, match="rate limited"):
        run(tmp_path, Reply("rate_limited", detail="slow down"))
