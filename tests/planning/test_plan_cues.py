"""By which words a sentence is no requirement: each rule with its examples, and the sentences beside them that are one."""

from __future__ import annotations

import pytest

from phases.planning.rules.cues import says_what_is_done, why_not
from phases.planning.rules.sections import BACKGROUND, BUILD, MIXED, OTHER, PROOF, RESULTS, SETUP, roles_of

NO_REQUIREMENT = [
    ("result", "Our method outperforms all of the baselines on this task."),
    ("result", "Table 2 shows the accuracy of the waiter in each of the rooms."),
    ("result", "The waiter reaches higher accuracy than the baseline does."),
    ("result", "The plain waiter makes 3715 rounds, and its test error is 29.40%; that of the other is 21.52%."),
    ("result", "On the tuning seed the chosen settings have test errors of 20.84% in all of the rooms."),
    ("result", "The waiter opens fewer than 2n doors for n of the guests."),
    ("result", "The waiter was faster than that of the other rooms."),
    ("discussion", "The waiter is expected to open the door of the rooms."),
    ("discussion", "We suspect that the waiter is confused by the doors."),
    ("discussion", "This could be restricted to a neighbourhood of the rooms."),
    ("motivation", "Recent work on waiting has seen a lot of progress in this field."),
    ("motivation", "Most existing methods wait for too long in the hall."),
    ("related", "Their method adapts the step sizes of each of the layers."),
    ("related", "Hu et al. (2021) proposed to freeze the weights of the waiter."),
    ("rejected approach", "We also tried to add the bias before the scaling operation."),
    ("rejected approach", "We also experimented with using learned positions instead."),
    ("proof", "By Lemma 3 the sequence of all iterates is bounded in norm."),
    ("points elsewhere", "We start with several standard definitions for Problem (1)."),
    ("points elsewhere", "For this case we use the following stronger notion."),
    ("assumption", "Suppose that Assumption 3.3 holds in all of the rooms."),
    ("assumption", "We assume the function is convex in all of its arguments."),
    ("of authors", "We thank the reviewers for all of their words on this text."),
    ("points elsewhere", "Details of the waiter are given in Appendix B of the text."),
    ("no sentence", "0.1 0.2 0.3 0.4 Top10 Top20 Top10 Top20 Top10 waiting"),
]
REQUIREMENTS = [
    "We employ a residual connection [11] around each of the two sub-layers.",
    "The encoder is composed of a stack of six identical layers.",
    "If the sub-hash table contains two entries then the remaining entry is moved to the parent.",
    "For Adam, we tune the learning rate by a grid search on $\\{10^{-5},10^{-4},10^{-3}\\}$.",
    "The model is trained with a batch size of 512 for 50 epochs.",
    "Start with only one node at the root of the tree.",
    "Training is stopped if the error is below 0.05% of the first one.",
    "We use a label error rate of 10% for each of the rooms.",
    "Then we open a new door with a number that is higher than b.",
    "The next round uses a pause that is multiplied by a factor larger than one.",
    "We remove all guests with a number lower than that place number.",
    "The host checks to see if it already has a place for the guest.",
    "We refer to S as the base set for the query, and we build it with d = 50.",
    "The host takes the door that maximizes the expected sum of the rewards.",
    "We found that a value of k = 20 works for most of the rooms.",
    "Their values q are computed by opening each of the doors once.",
    "For the second room we used the significantly larger list of 36M guests.",
]


@pytest.mark.parametrize(("why", "sentence"), NO_REQUIREMENT)
def test_what_is_no_requirement_is_known_by_its_words(why: str, sentence: str) -> None:
    assert why_not(sentence) == why


@pytest.mark.parametrize("sentence", REQUIREMENTS)
def test_what_says_what_is_done_is_none_of_these(sentence: str) -> None:
    assert why_not(sentence) == ""
    assert says_what_is_done(sentence)


SECTIONS = [
    ("1", "Introduction", BACKGROUND),
    ("2", "Background", BACKGROUND),
    ("2.1", "Problem Setting", BUILD),
    ("3", "The Waiting Network", BUILD),
    ("3.1", "Positional Encoding", BUILD),
    ("3.2", "Why Waiting", OTHER),
    ("3.3", "Algorithms and convergence analysis", BUILD),
    ("3.4", "Convergence of the waiter", PROOF),
    ("3.5", "Doors are shut, not open", BUILD),
    ("3.6", "Waiting is faster than knocking", RESULTS),
    ("3.7", "Training objective", BUILD),
    ("3.8", "Relations between nonlinear parameters", BUILD),
    ("3.9", "Training details", SETUP),
    ("3.10", "Tidy data", BUILD),
    ("3.11", "Implementation of the list of guests", BUILD),
    ("3.12", "Training data", SETUP),
    ("4", "Experimental Setup", SETUP),
    ("4.1", "Doors", SETUP),
    ("5", "Results", RESULTS),
    ("5.1", "Rooms", RESULTS),
    ("5.3", "Rooms are shut", RESULTS),
    ("5.2", "Implementation Details", SETUP),
    ("5.4", "Complex Door Workload: Doors99", RESULTS),
    ("5.5", "Hall Trace Data", RESULTS),
    ("5.6", "Metrics", SETUP),
    ("5.7", "Trials with Default Tuning Parameters", RESULTS),
    ("5.8", "Data", SETUP),
    ("5.9", "Tasks", SETUP),
    ("5.10", "Models and data", SETUP),
    ("5.11", "Data splits", SETUP),
    ("5.12", "Optimizer", SETUP),
    ("5.13", "Andrew Benchmark", RESULTS),
    ("5.14", "Choice of the optimizer", RESULTS),
    ("6", "Experiments", MIXED),
    ("6.1", "Implementation", SETUP),
    ("7", "Theory", PROOF),
    ("7.1", "The Waiting Lemma", PROOF),
    ("8", "Conclusion", OTHER),
    ("8.5", "Analysis", OTHER),
    ("VI", "Analysis", PROOF),
    ("VI.1", "Definitions", PROOF),
    ("VI.2", "Invariants", PROOF),
    ("VII", "Analysis", RESULTS),
    ("VII.1", "Doors that were opened", RESULTS),
    ("9", "Implementation", BUILD),
    ("9.1", "Opening", BUILD),
    ("9.2", "Case study: A house", OTHER),
    ("A", "satisfactory door", OTHER),
    ("10", "Problem Setup", BUILD),
    ("11", "Implementation Concerns", SETUP),
    ("12", "Implementation and Hardware", SETUP),
    ("A", "Ablations", RESULTS),
    ("B", "Results of opening on many tasks", RESULTS),
]


def test_a_section_is_known_by_its_heading_and_those_above_it() -> None:
    rows = [
        {
            "id": f"S{at}",
            "number": number,
            "title": title,
            "level": 3 if title[0].islower() else 1 + number.count("."),
            "page": 1,
            "start": 0,
            "end": 0,
        }
        for at, (number, title, _) in enumerate(SECTIONS)
    ]
    assert list(roles_of(rows).values()) == [role for _, _, role in SECTIONS]


@pytest.mark.parametrize(
    ("said", "role"),
    [
        ("We ran all experiments on a machine with 8 cores. The code was compiled with GCC 9. It is short.", SETUP),
        ("All of it runs on Ubuntu 20.04 with 16 GB of memory. Each trial takes 20 epochs.", SETUP),
        ("The door keeps a list of guests. Each guest has a key. We compiled with GCC 9.", BUILD),
        ("The kernel of Linux keeps a list of guests, and each GPU thread opens one door.", BUILD),
        ("", BUILD),
    ],
)
def test_an_implementation_that_tells_of_machines_and_versions_alone_is_a_set_up(said: str, role: str) -> None:
    text = f"## Implementation\n\n{said}\n"
    row = {"id": "S1", "number": "4", "title": "Implementation", "level": 1, "page": 1, "start": 0, "end": len(text)}
    assert roles_of([row], text) == {"S1": role}
