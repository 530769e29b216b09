"""The method comes first in a plan without a model: parts told by what they do, their requirements, and files in their order."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from phases.planning.plan_view import render_plan
from phases.planning.rules.component_homes import join_small_parts
from phases.planning.rules.components import Component
from phases.planning.rules.layout import plan_files
from phases.planning.rules.passages import Sentence
from phases.planning.rules.requirement_choice import MOST, choose_requirements
from phases.planning.rules.requirements import Requirement
from phases.planning.rules.sections import roles_of
from tests.papers import read

LAZY = (
    "# Lazy Waiting\n\n## 1 Introduction\n\nWaiting is old.\n\n## 2 Method\n\n### 2.1 The Hall Queue\n\n"
    "The hall is large. The hall queue takes a guest and returns a number. A guest is put at the end of the line.\n\n"
    "### 2.2 The Door Watch\n\nSince guests are slow, time passes. The door watch makes 3715 updates, and its error is 29.4%. "
    "The door watch reads the hall queue and opens the door. Each guest of the hall queue is asked once. "
    "Algorithm 1 gives the whole watch. Keep a stamp for each guest.\n\n"
    "> **Algorithm 1.** Door watch with stamps\n\n```\nstamp[guest] = now\nopen(door)\n```\n\n"
    "## 3 Baselines\n\nThe plain turnstile is trained with the same guests. The plain turnstile keeps a counter.\n\n"
    "## 4 Results\n\nIt is fast.\n"
)


def _components(text: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in read(text).plan["components"]}


def test_a_component_is_told_by_what_it_does_and_not_by_a_result_or_the_first_words_of_its_section() -> None:
    found = _components(LAZY)
    assert found["Hall Queue"]["what"] == "The hall queue takes a guest and returns a number."
    assert not any("3715" in row["what"] for row in found.values())


def test_a_requirement_belongs_to_the_part_of_its_section_and_of_these_to_what_it_names_or_what_was_spoken_of() -> None:
    plan, found = read(LAZY).plan, _components(LAZY)
    homes = {row["text"]: row.get("component") for row in plan["requirements"]}
    assert homes["A guest is put at the end of the line."] == found["Hall Queue"]["id"]
    algorithm = next(row for row in found.values() if row.get("algorithm"))
    assert homes["Keep a stamp for each guest."] == algorithm["id"]
    assert homes["Each guest of the hall queue is asked once."] == algorithm["id"]


def test_what_a_section_of_baselines_alone_speaks_of_is_no_component() -> None:
    assert not [name for name in _components(LAZY) if "turnstile" in name.lower()]


def test_a_file_comes_after_the_files_whose_parts_it_uses_and_says_so() -> None:
    def part(number: int, name: str, section: str, *said: str) -> dict[str, Any]:
        source = {"section": section, "page": 1, "quote": name}
        return {"id": f"C{number}", "name": name, "what": " ".join(said), "source": source, "requirements": []}

    uses = "The watch reads the hall queue. It asks the hall queue. It ends with the hall queue."
    files = plan_files(
        "x",
        [],
        [part(1, "watch", "2", uses), part(2, "door", "2"), part(3, "hall queue", "3"), part(4, "line", "3")],
        [],
    )
    paths = [row["path"] for row in files]
    watch = files[paths.index("x/watch.py")]
    assert paths.index("x/hall_queue.py") < paths.index("x/watch.py")
    assert "x/hall_queue.py" in watch["depends_on"]
    assert watch["purpose"].endswith("built on hall_queue.py")


def test_a_section_that_argues_is_a_proof_whatever_its_heading_says() -> None:
    argued = " ".join(f"Suppose door {n} is open. Then by induction guest {n} is in." for n in range(6))
    text = f"# T\n\n## 1 Method\n\nWe store each guest in a list of 8 rooms.\n\n## 2 Properties of Doors\n\n{argued}\n"
    assert {row["source"]["section"] for row in read(text).plan["requirements"]} == {"1"}


def test_sections_with_letters_are_parts_of_a_chapter_with_a_roman_number() -> None:
    chapter = {"id": "S1", "number": "III", "title": "Door Compression", "level": 1}
    part = {"id": "S2", "number": "C", "title": "Packing Guests by Binary Analysis", "level": 2}
    assert roles_of([chapter, part]) == {"S1": "build", "S2": "build"}
    assert roles_of([{**chapter, "title": "Performance Evaluation"}, part])["S2"] == "results"


def test_a_data_set_without_its_number_is_no_component() -> None:
    text = (
        "# T\n\n## 1 Method\n\nThe door net reads guests.\n\n## 2 Data: GuestBag-5k\n\nWe train on the GuestBag-5k dataset. "
        "GuestBag-5k imitates short visits. The GuestBag-5k data set has 10 guests. GuestBag is drawn with seed 1.\n"
    )
    assert not [name for name in _components(text) if name.startswith("GuestBag")]


def test_the_set_up_keeps_places_where_what_is_built_would_fill_all() -> None:
    section = {"id": "S1", "number": "1", "title": "", "level": 1, "page": 1}

    def row(place: int, role: str) -> Requirement:
        return Requirement(
            (Sentence(f"We store guest {place}.", section, 1, role, "prose"),), 2.0 - (role == "setup"), place
        )

    found = [*(row(place, "build") for place in range(100)), *(row(place, "setup") for place in range(100, 140))]
    chosen = [one.sentences[0].role for one, _ in choose_requirements(found, [None] * len(found))]
    assert (len(chosen), chosen.count("setup"), chosen[0]) == (MOST, 12, "build")


TRIALS = (
    "# Slow Doors\n\n## 1 Introduction\n\nDoors are old.\n\n## 2 Method\n\n### 2.1 The Key Board\n\n"
    "The key board takes a key and returns a door. Keys are kept in a list of 8 hooks. "
    "OpenDoor(key, room) returns the door of a room. A key is put on the first free hook.\n\n"
    "### 2.2 The Door Guard\n\nThe door guard opens a door with OpenDoor. The door guard keeps a list of guests. "
    "Each guest is asked for a key by the door guard. The door guard closes each door after 3 minutes.\n\n"
    "## 3 Data\n\nThe data set is drawn with seed 1. A token is the number of a room. Each guest has 2 keys.\n\n"
    "## A Details\n\nEach data set uses one generator, in this order:\n\n1. For each guest: one call gives the room.\n\n"
    "2. For each room: one call gives the key. Key boards. We sort the keys of a hook by their numbers.\n\n"
    "## 4 Results\n\nIt is fast.\n"
)


def test_what_is_said_of_the_data_goes_to_data_and_no_noun_of_it_is_a_part() -> None:
    plan = read(TRIALS).plan
    data = next(row for row in plan["file_structure"] if row["path"].endswith("/data.py"))
    said = {row["id"]: row for row in plan["requirements"]}
    texts = [said[name]["text"] for name in data["implements"]]
    assert "A token is the number of a room." in texts
    assert "For each guest: one call gives the room." in texts
    assert data["interface"] == ["def generate_data"]
    assert not any("component" in said[name] for name in data["implements"])
    assert "token" not in _components(TRIALS)
    shown = render_plan(plan)
    of_data = shown[shown.index("\nThe data\n") :].partition("\n\n")[0]
    assert re.findall(r"^  (R[0-9]+)", of_data, re.MULTILINE) == sorted(
        data["implements"], key=lambda one: int(one[1:])
    )


def test_a_run_in_heading_tells_what_a_requirement_is_about_and_ends_a_list_of_data() -> None:
    plan, found = read(TRIALS).plan, _components(TRIALS)
    homes = {row["text"]: row.get("component") for row in plan["requirements"]}
    assert homes["We sort the keys of a hook by their numbers."] == found["Key Board"]["id"]


def test_files_are_called_by_the_sections_of_the_method_in_the_order_of_the_paper() -> None:
    modules = [row["path"].rpartition("/")[2] for row in read(TRIALS).plan["file_structure"] if row.get("components")]
    assert modules == ["key_board.py", "door_guard.py"]


def test_an_operation_takes_what_the_paper_calls_it_with() -> None:
    lines = [line for row in read(TRIALS).plan["file_structure"] for line in row["interface"]]
    assert "def open_door(key, room)" in lines


HEADED = (
    "# Slow Doors\n\n## 1 Introduction\n\nDoors are old.\n\n## 2 Method\n\n### 2.1 Stacks\n\n"
    "Each layer of the stack has two parts. The second part is a feed-forward network, which reads one guest. "
    "The layer stack keeps a list of guests.\n\n"
    "### 2.2 Guest-wise Feed-Forward Networks\n\nEach layer contains a feed-forward network, which is applied to each guest. "
    "We use a different width for each stack.\n\n"
    "## 3 Training\n\n### 3.1 Optimizer\n\nWe used the Adam optimizer with a rate of 0.1. We used 4000 steps of warmup.\n\n"
    "### 3.2 Depth\n\nWe use 4 layers in the feed-forward network.\n\n"
    "## 4 Results\n\nIt is fast.\n"
)


def test_a_heading_names_the_part_that_a_phrase_names_less_fully_and_the_phrase_still_finds_it() -> None:
    plan, found = read(HEADED).plan, _components(HEADED)
    homes = {row["text"]: row.get("component") for row in plan["requirements"]}
    part = found["Guest-wise Feed-Forward Networks"]
    assert "feed-forward network" not in found
    assert part["source"]["section"] == "2.2"
    assert homes["We use a different width for each stack."] == part["id"]
    assert homes["We use 4 layers in the feed-forward network."] == part["id"], "the phrase is an alias"


def test_a_phrase_with_one_requirement_that_is_told_elsewhere_gives_it_to_the_part_that_has_the_heading() -> None:
    doors, halls = ({"id": f"S{at}", "number": f"{at}", "title": "Doors", "level": 1, "page": 1} for at in (1, 2))
    told = Sentence("A linear transformation is used.", halls, 1, "build", "prose")
    parts = [
        Component("Doors", None, doors, 1, is_headed=True),
        Component("linear transformation", told, doors, 1, is_named=False),
        Component("hinge", replace(told, section=doors), doors, 1, is_named=False),
    ]
    row = Requirement((replace(told, section=doors),), 1.0, 0)
    assert join_small_parts(parts, [(row, home) for home in (0, 1, 2, None)]) == [0, 0, 2, None]
    assert join_small_parts(parts, [(row, home) for home in (1, 1, 2)]) == [1, 1, 2], "two requirements are a part"
    elsewhere = Requirement((told,), 1.0, 0)
    assert join_small_parts(parts, [(elsewhere, 1)]) == [1], "what stands under another heading is not about the doors"


def test_what_is_set_under_the_heading_of_a_part_belongs_to_it() -> None:
    plan, found = read(HEADED).plan, _components(HEADED)
    homes = {row["text"]: row.get("component") for row in plan["requirements"]}
    assert homes["We used 4000 steps of warmup."] == found["Adam optimizer"]["id"]


def test_a_rule_of_the_method_without_a_part_goes_to_the_file_of_its_section_and_a_trial_to_the_experiments() -> None:
    def said(number: int, section: str, kind: str = "model") -> dict[str, Any]:
        return {
            "id": f"R{number}",
            "kind": kind,
            "text": f"Rule {number}.",
            "source": {"section": section, "page": 1, "quote": ""},
        }

    def part(number: int, section: str) -> dict[str, Any]:
        source = {"section": section, "page": 1, "quote": ""}
        return {
            "id": f"C{number}", "name": f"door {number}", "what": "", "source": source, "requirements": [f"R{number}"],
        }  # fmt: skip

    sections = [
        {"id": f"S{at}", "number": number, "title": title, "level": 1 + number.count("."), "page": 1}
        for at, (number, title) in enumerate(
            [("1", "Doors"), ("1.1", "Locks"), ("2", "Guests"), ("3", "Experiments"), ("4", "Results")]
        )
    ]
    rows = [said(1, "1"), said(2, "1.1"), said(3, "2"), said(4, "1.1"), said(5, "2"), said(6, "3", "experiment")]
    files = plan_files("x", rows, [part(1, "1"), part(2, "1.1"), part(3, "2")], [], sections)
    homes = {name: row["path"] for row in files for name in row["implements"]}
    assert homes["R4"] == homes["R2"]
    assert homes["R5"] == homes["R3"]
    assert homes["R6"] == "x/experiments.py"
    without = plan_files("x", rows[:5], [part(1, "1"), part(2, "1.1"), part(3, "2")], [], sections)
    assert not any(row["path"].endswith("experiments.py") for row in without), "nothing is tried there"


def test_a_formula_stands_once_with_the_requirement_that_ends_with_it() -> None:
    text = (
        "# Waiting rooms\n\n## 2 Method\n\n### 2.1 Waiting loss\n\nThe waiting loss is added to the queue after every step. "
        "We compute the waiting loss as\n\n$$ y = x + b \\tag{1} $$\n\n$$ z = 2 y + a \\tag{2} $$\n\n### 2.2 Door gate\n\n"
        "The door gate is opened for each entry. The door gate keeps one weight for each entry.\n\n### 2.3 Setting it up\n\n"
        "We define the waiting loss of an entry as\n\n$$ g = 7 z + c \\tag{3} $$\n"
    )
    plan = read(text).plan
    homes = {row["name"]: row["id"] for row in plan["components"]}
    [last] = (row for row in plan["requirements"] if "g = 7 z" in row.get("formula", ""))
    assert last["component"] == homes["Waiting loss"]
    assert [render_plan(plan).count(one) for one in ("y = x + b", "z = 2 y + a", "g = 7 z + c")] == [1, 1, 1]


STACKS = (
    "# T\n\n## 3 Model Architecture\n\n### 3.1 Encoder and Decoder Stacks\n\nWe employ a residual connection around each of "
    "the two sub-layers. The output of each sub-layer is normalized by layer normalization.\n\n### 3.2 Attention\n\n"
    "An attention function can be described as mapping a query and a set of key-value pairs to an output. "
    "The output is computed as a weighted sum of the values, where the weight is computed by a function of the query.\n\n"
    "### 3.2.1 Two of them\n\nEach query is scaled by a constant before it is used.\n\n"
)


def _homes(text: str) -> dict[str, str]:
    plan = read(text).plan
    names = {row["id"]: row["name"] for row in plan["components"]}
    return {row["text"]: names.get(row.get("component"), "") for row in plan["requirements"]}


def test_what_names_no_part_is_about_its_heading_or_the_one_around_it_and_never_about_a_sister_section() -> None:
    homes = _homes(STACKS)
    of_attention = {text for text, home in homes.items() if home == "Attention"}
    assert any(text.startswith("An attention function") for text in of_attention)
    assert any(text.startswith("The output is computed as a weighted sum") for text in of_attention)
    assert homes["Each query is scaled by a constant before it is used."] == "Attention"


def test_a_heading_above_a_formula_is_a_part_beside_the_phrases_of_its_section() -> None:
    text = (
        "# T\n\n## 2 Method\n\nThe door net opens doors.\n\n## 5 Training\n\n### 5.3 Optimizer\n\n"
        "We used the Adam optimizer with a rate of 0.1.\n\n$$ r = d^{-0.5} \\tag{3} $$\n\n"
        "## A Additional Details on Problem Setup\n\n### A.1 Convection\n\nThe flow of guests is used to model a hall:\n\n"
        "$$ u_t + b u_x = 0 $$\n\n### A.2 Schedule\n\nWe trained it for 12 hours. We used one house. We used two halls.\n"
    )
    found = _components(text)
    assert found["Convection"]["equations"] == ["u_t + b u_x = 0"]
    assert not {"Optimizer", "Schedule"} & found.keys(), "the first is said more fully, the second has no formula"


def test_what_is_only_named_is_no_component_and_a_table_may_say_what_it_is() -> None:
    rows = "| Use | Words |\n|---|---|\n| Text | WordPredictor is a custom model to identify broken words. BoxPredictor: see |"
    code = "```\nclass PageRasterizer:\n    pass\n```"
    found = _components(f"# T\n\n## 2 Predictors\n\nWe store each page in a list of layers.\n\n{rows}\n\n{code}\n")
    assert found["WordPredictor"]["what"] == "WordPredictor is a custom model to identify broken words."
    assert not {"PageRasterizer", "BoxPredictor"} & found.keys()


def test_a_part_that_has_a_heading_is_told_by_what_stands_under_it() -> None:
    text = (
        "# T\n\n## 4 Algorithm\n\nFollower f invokes ready if it is leading and receives an epoch.\n\n"
        "## 5 Zab\n\n### 5.1 Leading\n\nThe leader proposes each transaction in the order of its identifiers. "
        "When a quorum has accepted it, the leader sends a commit message. The leader waits for followers.\n"
    )
    assert _components(text)["Leading"]["source"]["section"] == "5.1"


def test_the_papers_own_algorithm_is_the_part_of_its_section_and_not_a_phrase_of_its_first_sentence() -> None:
    text = (
        "# T\n\n## 3 Selectivity\n\n### 3.2 Crazy Stone's algorithm\n\nThe basic principle is to estimate an accurate "
        "backed-up value. Each move is selected with a probability proportional to its urgency:\n\n$$ u_i = e^{-x} $$\n"
    )
    assert "Crazy Stone's algorithm" in _components(text)


CHINESE = (
    "# 背包\n\n## 1 01 背包问题\n\n### 1.2 基本思路\n\n我们使用子问题定义状态，计算前 i 种物品的最大价值。\n\n"
    "```\nfor i ← 1 to N\n  for v ← V to C\n    F[v] ← max(F[v], F[v - C] + W)\n```\n\n"
    "## 8 泛化物品\n\n### 8.1 定义\n\n我们定义泛化物品为一个函数，它没有固定的费用和价值。\n\n"
    "## 5 二维费用的背包问题\n\n### 5.2 算法\n\n费用加了一维即可。\n\n$$ F[v, u] = F[v - C, u - D] + W $$\n\n"
    "## 9 问法的变化\n\n### 9.3 求方案总数\n\n一般只需将最大改成求和即可。\n\n$$ F[v] = F[v] + F[v - C] $$\n"
)


def test_a_chinese_heading_names_its_part_and_a_general_one_leaves_it_to_the_chapter() -> None:
    plan = read(CHINESE).plan
    found = {row["name"]: row for row in plan["components"]}
    assert len(found["01 背包问题"]["steps"]) == 3
    assert found["泛化物品"]["requirements"]
    assert found["求方案总数"]["equations"]
    assert found["二维费用的背包问题"]["equations"] == ["F[v, u] = F[v - C, u - D] + W"]


def test_a_file_and_a_function_are_called_by_letters_that_say_something_else_by_their_place() -> None:
    code = "\n\n### 1.3 优化\n\n```\ndef ZeroOnePack(F, C, W)\n    for v ← V to C\n        F[v] ← F[v] + W\n```\n"
    text = CHINESE.replace("\n\n## 8", f"{code}\n## 8").replace("求方案总数", "O(V N) 的总数")
    files = {row["path"].rpartition("/")[2]: row["interface"] for row in read(text).plan["file_structure"]}
    assert files["zero_one_pack.py"] == ["def part_1_2", "def zero_one_pack(F, C, W)"]
    assert "def part_9_3" in [line for lines in files.values() for line in lines]
    assert not any(name.startswith(("method", "o", "component")) for name in files)
