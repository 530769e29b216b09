"""Which linked code is the paper's own, and which is what it builds on: sentences with their right answers."""

from __future__ import annotations

from typing import Any

import pytest

from phases.references.find.reference_document import build_reference_document

LAB, OTHER, US = "https://github.com/lab/xyz", "https://github.com/bjones/thing", "https://github.com/aschmidt/foonet"
NAMED = "https://github.com/lab/foonet"
REFERENCES = ("[1] B. Jones. A title of a thing. In ICML, 2019.", "[2] D. Kim. Second thing of it. In ICLR, 2020.")


def found(
    body: str, *, first: str = "x", title: str = "FooNet: Fast learning of things", links: Any = (), paged: bool = True
) -> dict[str, Any]:
    """reference.txt of a paper of Schmidt, Li and Müller: `first` stands on page 1, `body` in the method on page 5."""
    head = ("<!-- page 1 -->\n" if paged else "") + f"# {title}\n\n## 1 Introduction\n\n{first}\n\n"
    method = ("<!-- page 5 -->\n" if paged else "") + f"## 2 Method\n\nWe wait for long.\n\n{body}\n\n"
    text = f"{head}{method}## References\n\n" + "\n\n".join(REFERENCES)
    starts = [text.index("## 1"), text.index("## 2"), text.index("## References"), len(text)]
    names = ("Introduction", "Method", "References")
    outline = {
        "title": title,
        "authors": ["Anna Schmidt", "Bo Li", "Hans Müller"],
        "abstract": None,
        "sections": [
            {"id": f"S{at}", "number": str(at), "title": name, "level": 1, "page": 0, "start": start, "end": end}
            for at, (name, start, end) in enumerate(zip(names, starts[:-1], starts[1:], strict=True), 1)
        ],
        "references": [{"id": f"B{at}", "raw": raw} for at, raw in enumerate(REFERENCES, 1)],
        "links": [*links],
    }
    return build_reference_document(text, 0, outline, kinds={}, allow_own_code=False)


def roles(body: str, **more: Any) -> dict[str, str]:
    """The role of each repository; what is not the paper's own is fetched."""
    rows = found(body, **more)["repositories"]
    assert all(row["fetch"] is (row["role"] != "own") for row in rows)
    return {row["url"]: row["role"] for row in rows}


@pytest.mark.parametrize(
    "sentence",
    [
        f"Our code is available at {LAB}.",
        f"Our implementation is publicly available ({LAB}).",
        f"We release our implementation at {LAB}.",
        f"The code we used to train and evaluate our models is available at {LAB}.",
        f"All code and data to reproduce our results can be found at {LAB}.",
        f"The code to reproduce the experiments is available at {LAB}.",
        f"The code for our experiments is available at {LAB}.",
        f"All scripts used in this paper are at {LAB}.",
        f"Our code, based on the implementation of Jones [1], is available at {LAB}.",
        f"Our code extends the library of Kim [2] and is available at {LAB}.",
        f"We will publicly release the models and the code: {LAB}",
        f"We open-source the code of this work under {LAB}.",
        f"Our code to run all baselines is hosted at {LAB}.",
        f"Our modified code is available at {LAB}.",
        f"Our code base is available at {LAB}.",
        f"We release FooNet at {NAMED}.",
        f"FooNet is available at {NAMED}.",
        f"The source code of FooNet can be found at {LAB}.",
        f"Reproducibility statement: the source code is provided at {NAMED}.",
        f"See {US} for details.",
        f"Unser Code ist unter {LAB} verfügbar.",
        f"Wir veröffentlichen den vollständigen Quellcode unter {LAB}.",
        f"Der Quellcode dieser Arbeit liegt unter {LAB}.",
        f"Der Quellcode ist unter {NAMED} verfügbar.",
        "Quellcode: https://gitlab.com/hmueller/lernen",
        f"Notre code est disponible à l'adresse {LAB}.",
        f"Nous publions notre implémentation sur {LAB}.",
        f"Le code source est disponible sur {NAMED}.",
        f"Nuestro código está disponible en {LAB}.",
        f"Publicamos el código fuente en {LAB}.",
        f"我们的代码已开源：{LAB}。",
        f"本文的源代码见{LAB}。",
        f"我们开源了全部代码（{LAB}）。",
        f"本文方法的代码可在 {LAB} 获取。",
        f"우리의 코드는 {LAB} 에서 확인할 수 있다.",
        f"본 논문의 소스 코드는 {LAB}에서 이용할 수 있다.",
        f"我々のコードは {LAB} で公開している。",
        f"We release our code.[^7]\n\n[^7]: {LAB}",
        f"Our code is publicly available[^7].\n\n[^7]: {LAB}",
    ],
)
def test_the_papers_own_code_is_known_on_every_page(sentence: str) -> None:
    assert set(roles(sentence).values()) == {"own"}


@pytest.mark.parametrize(
    "sentence",
    [
        f"Our implementation follows {OTHER}.",
        f"Our code is modified from {OTHER}.",
        f"Our implementation extends {OTHER}.",
        f"Our implementation relies on PyTorch Geometric, available at {OTHER}.",
        f"Our code uses the library at {OTHER}.",
        f"Our code is a fork of {OTHER}.",
        f"Our software was built on top of {OTHER}.",
        f"Our implementation starts from the public code at {OTHER}.",
        f"In our implementation, we rely on the transformers library ({OTHER}).",
        f"All our experiments use the publicly available code {OTHER}.",
        f"For our software package we call Gurobi through {OTHER}.",
        f"We compare our code with that of Jones [1], found at {OTHER}.",
        f"We compare to Jones [1], using the code released at {OTHER}.",
        f"Jones's code is available at {OTHER}.",
        f"We evaluate on ThingBench, whose code is available at {OTHER}.",
        f"For PPO, the code of [2] is available at {OTHER}.",
        f"We thank the authors, who made their code available at {OTHER}.",
        f"PyTorch code is found at {OTHER} [2].",
        f"Our baselines are taken from the official implementation at {OTHER}.",
        f"We adapt our code from {OTHER}.",
        f"See {OTHER} for more.",
        f"Unser Code baut auf {OTHER} auf.",
        f"Unsere Implementierung verwendet {OTHER}.",
        f"Unser Programm basiert auf der Implementierung von Jones, die unter {OTHER} liegt.",
        f"Der Code von Jones ist unter {OTHER} verfügbar.",
        f"Notre code s'appuie sur {OTHER}.",
        f"Notre implémentation est basée sur {OTHER}.",
        f"Le code de Jones est disponible sur {OTHER}.",
        f"Nuestro código se basa en {OTHER}.",
        f"Nuestra implementación utiliza {OTHER}.",
        f"El código de Jones está disponible en {OTHER}.",
        f"我们使用张三的实现（{OTHER}）。",
        f"我们的代码基于 {OTHER} 修改。",
        f"本文的实现参考了{OTHER}。",
        f"张三的代码见{OTHER}。",
        f"우리의 구현은 {OTHER} 을 기반으로 한다.",
        f"본 논문의 코드는 {OTHER}를 사용하였다.",
        f"김철수의 코드는 {OTHER} 에서 확인할 수 있다.",
        f"我々の実装は {OTHER} に基づいている。",
        f"Our network is trained with the code of Jones.[^7]\n\n[^7]: {OTHER}",
        f"We use Waiter[^7] in our code.\n\n[^7]: {OTHER}",
    ],
)
def test_code_that_the_paper_builds_on_or_credits_is_never_its_own(sentence: str) -> None:
    told = roles(sentence) | {f"{url} on page 1": role for url, role in roles("x", first=sentence).items()}
    assert OTHER in told
    assert "own" not in told.values()


def test_of_two_addresses_in_one_sentence_each_has_its_own_words() -> None:
    assert roles(f"Our code is available at {LAB} and is based on {OTHER}.") == {LAB: "own", OTHER: "mentioned"}
    assert roles(f"Our code is available at {LAB} and {NAMED}.") == {LAB: "own", NAMED: "own"}


def test_a_footnotes_mark_ends_its_sentence() -> None:
    body = f"We release our implementation.[^2] Our implementation extends {OTHER}.\n\n[^2]: {LAB}"
    assert roles(body) == {LAB: "own", OTHER: "basis"}


def test_an_item_of_a_list_is_a_sentence_of_its_own() -> None:
    body = f"- **Ours**, our code is at {LAB}\n- **Theirs**, the code of Jones is at {OTHER}"
    assert roles(body)[OTHER] != "own"
    assert roles(body)[LAB] == "own"


@pytest.mark.parametrize(
    ("first", "role"),
    [
        (f"Code: {LAB}", "own"),
        (f"The code is available at {LAB}.", "own"),
        (NAMED, "own"),
        (f"Jones's code is available at {OTHER}.", "mentioned"),
        (f"We evaluate on ThingBench, whose code is available at {OTHER}.", "mentioned"),
        (f"We start from the codebase at {OTHER}.", "mentioned"),
        ("Learning is done with https://github.com/x/learning.", "mentioned"),
    ],
)
def test_the_first_page_tells_its_own_code_from_that_of_others(first: str, role: str) -> None:
    assert list(roles("x", first=first).values()) == [role]


def test_without_pages_only_what_stands_before_the_second_section_is_early() -> None:
    body = f"For PPO, code is available at {OTHER}."
    assert roles(body, paged=False) == {OTHER: "mentioned"}
    assert roles("x", first=f"Code is available at {LAB}.", paged=False) == {LAB: "own"}


def test_a_word_of_every_day_in_the_title_makes_nothing_its_own() -> None:
    title = "Training transformers faster"
    hub = "https://github.com/huggingface/transformers"
    assert roles(f"The code is available at {hub}.", title=title) == {hub: "mentioned"}


def test_a_mere_icon_on_the_first_page_is_own_by_its_name_alone() -> None:
    def link(url: str, page: int) -> list[dict[str, Any]]:
        return [{"url": url, "page": page, "text": ""}]

    assert roles("x", links=link(NAMED, 1)) == {NAMED: "own"}
    assert roles("x", links=link(US, 5)) == {US: "own"}
    assert roles("x", links=link(NAMED, 5)) == {NAMED: "mentioned"}
    assert roles("x", links=link(OTHER, 1)) == {OTHER: "mentioned"}


def test_the_papers_own_code_is_not_tied_to_the_reference_that_it_is_based_on() -> None:
    result = found(f"Our code, based on the implementation of Jones [1], is available at {LAB}.")
    assert [row["references"] for row in result["repositories"]] == [[]]
    assert all(row["repositories"] == [] for row in result["references"])
