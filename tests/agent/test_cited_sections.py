"""The implementer sees the paper: the sections that the requirements of the file at hand cite, whole, as room allows."""

from __future__ import annotations

import json
from pathlib import Path

from phases.agent.memory import cited_sections, split_paper
from phases.agent.tools.todos import todo_tool
from phases.llm.model import Reply, Request, ToolCall, tokens_of
from tests.agents import Scripted, carry_out, small_plan

PAPER = """---
title: Slow
---
# Slow Waiting

## 1 Introduction
We wait.

## 2 Method
A preamble.

### 2.1 The rule
$$ w = 2 v \\tag{1} $$

```
## 9 no heading
Algorithm 1: wait
```

## A Data
A table.
"""
ROWS = [{"source": {"section": name}} for name in ("2.1", "2.1", "Appendix A", "Introduction", "", "7")]


def test_each_section_runs_to_the_next_heading_and_a_fence_holds_none() -> None:
    sections = split_paper(PAPER)
    assert [one.title for one in sections] == ["Slow Waiting", "1 Introduction", "2 Method", "2.1 The rule", "A Data"]
    rule = sections[3]
    assert rule.text.startswith("### 2.1 The rule")
    assert rule.text.endswith("Algorithm 1: wait\n```")
    assert PAPER.splitlines()[rule.first - 1] == "### 2.1 The rule"
    assert [split_paper(text) for text in ("", "no heading at all", "---\n---\n", "```\n## a")] == [[], [], [], []]


def test_sections_are_found_by_number_title_and_appendix_and_the_most_cited_go_first() -> None:
    sections = split_paper(PAPER)
    assert [one.title for one in cited_sections(sections, ROWS, 10_000)[0]] == [
        "1 Introduction",
        "2.1 The rule",
        "A Data",
    ]
    shown, left_out = cited_sections(sections, ROWS, tokens_of(sections[3].text) + 2)
    assert [one.title for one in shown] == ["2.1 The rule"]
    assert [one.title for one in left_out] == ["1 Introduction", "A Data"]
    assert cited_sections(sections, [{}, {"source": None}], 10_000) == ([], [])


def test_the_model_is_shown_what_the_file_at_hand_cites_and_the_machine(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text(PAPER, encoding="utf-8")
    plan = small_plan("a.py", "b.py")
    source = {"section": "2", "page": 1, "quote": "A preamble."}
    plan["requirements"] = [{"id": "R1", "kind": "equation", "text": "waits", "source": source, "status": "stated"}]
    plan["file_structure"][0]["implements"] = ["R1"]

    def answer(request: Request) -> Reply:
        path = ("a.py", "b.py", "")[min(len(model.requests), 3) - 1]
        call = ToolCall(f"write-{path[:1]}", "Write", {"file_path": path, "content": "A = 1\n"})
        return Reply("ok", "", (call,)) if path else Reply("ok", "done")

    model = Scripted(answer)
    carry_out(tmp_path, model, plan)
    first = model.requests[0].messages
    assert any("A preamble." in message.text and "cite of the paper" in message.text for message in first[2:])
    machine = json.loads(first[1].text)["machine"]
    assert machine["seconds_a_command"] == {"usual": 120, "most": 600}
    assert machine["cores"] >= 1
    assert machine["python"].startswith("3.")


def test_the_list_of_todos_takes_less_than_a_third_of_what_is_said_of_the_tools() -> None:
    tool = todo_tool(tuple)
    assert len(json.dumps(tool.schema())) < 1_400 < len(json.dumps(tool.parameters))
    assert set(tool.schema()["parameters"]["properties"]) <= set(tool.parameters["properties"])
