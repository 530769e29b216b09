"""What the method is made of: its algorithms, the parts that have a name, and the equations of each.

A name comes from an algorithm's caption, a heading of what is built, a run-in heading, or a sentence that names something;
never from the number of a section.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from phases.planning.rules.blocks import ITEM
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BACKGROUND, BUILD, MIXED, RESULTS, SETUP, Section, is_named_after_content

MOST = 18
_LONGEST_STEPS = 40
_CAPS = r"[A-Z][A-Za-z0-9]*(?:[A-Z0-9*+-][A-Za-z0-9*+-]*)+"
_CAMEL = re.compile(
    r"(?<![\w./])((?:[A-Z][a-z0-9]+){2,}|[A-Z]{2,}[0-9A-Z]*[A-Z][a-z]+[A-Za-z0-9]*"
    r"|[A-Z][a-z]*[0-9][A-Za-z0-9]*[A-Z]\w+)(?![\w])"
)
_CALLED = re.compile(
    r"\b(?:call(?:ed|s)?|named?|term(?:ed)?|dubbed|denoted(?: by| as)?|refer(?:red)? to (?:it |this |them )?as"
    r"|known as) (?:this |it |our (?:\w+ ){0,3}|the |a |an |these )?[\"“‘'*]*"
    r"((?:[A-Za-z][\w'’*-]+ ?){1,4}?)[\"”’'*]*(?<! is)(?=[ ]?(?:[.,;:(\[]| which| that| and| is| are| to| in| for| with|$))"
)
_PROPOSED = re.compile(
    r"\b(?:we|this (?:paper|work)|[Ii]t) (?:\w+ly |also |first |then |further )?(?:propose|introduce|present"
    r"|develop|design|describe)s? (?:(?:a|an|the|our|two|several|new|novel|simple|efficient) ){0,3}"
    r"((?:[A-Za-z][\w*+-]* ){0,4}?[A-Za-z][\w*+-]*(?: \([A-Z][\w*+-]+\))?)(?=[.,;:(]| (?:which|that|to|for|with"
    r"|in|based|where|on|by|as|of|using)\b)"
)
_ABBREVIATED = re.compile(
    r"((?:[A-Z][\w*+-]*[ -]){1,5}(?:[a-z]+ )?(?:[A-Z][\w*+-]*)?) ?\(([A-Z][A-Za-z0-9*+-]{1,9}s?)\)"
)
_QUOTED = re.compile(r"[\"“]([A-Za-z][A-Za-z -]{3,38})[\"”]")
_RUN_IN = re.compile(r"^([A-Z][\w()/’'-]*(?: [\w()/’'&-]+){0,4})[.:] (?=[A-Z])")
_HEADS = (
    "attention|network|networks|embeddings?|encodings?|encoder|decoder|loss|objective|layers?|module|classifier"
    "|predictor|extractor|learner|optimi[sz]er|algorithm|operator"
    "|kernel|model|forecasting|weighting|detection|removal|search|sampling|sampler|scheduler|schedule"
    "|augmentation|normali[sz]ation|smoothing|averaging|dropout|backup|urgency"
    "|urgencies|simulations?|table|tables|tree|trie|map|list|lists|pool|cache|buffer|queue|index|bucket|node"
    "|hash function|hash|insertion|deletion|selection|update|estimator|estimation"
    "|regression|projection|preconditioner|line search|matrix|mask|masking|parser|recipe|policy|critic"
    "|actor|reward|environment|generator|discriminator|posterior|prior"
    "|likelihood|gradient|function|penalty|regulari[sz]ation|regulari[sz]er|clustering|scoring|ranking|protocol"
    "|server|client|store|log|manager|dispatch|resizing|routing|pruning"
    "|parameters|bias|scalars|distribution|distance|similarity|perturbation|initiali[sz]ation"
    "|solver|controller|filter|transform|convolution|pooling|block"
)
_PHRASE = re.compile(
    r"(?<![\w-])((?:(?!(?:the|a|an|of|and|or|in|on|to|for|with|by|is|are|was|be|our|this|that|these|each|all"
    r"|its|their|we|as|at|from|which|where|both|single|same|other|different|such|new|one|two|first|second"
    r"|following|proposed|any|every|more|most|no|not|using|use|used|given|only|current|final|next|standard"
    rf"|usual|whole|total|entire|existing|additional|corresponding)\b)[A-Za-z][\w-]*[ -]){{1,3}})({_HEADS})\b"
)
_TRIVIAL_TEXT = """
true false duplicates compared to is the in solution pdfs ptlms odes pdes dnns llms one two first last previous
updated identical essentials method methods model models approach experiments results data training evaluation
algorithm overview details network framework system paper work section appendix figure table problem setting setup
introduction number time performance cost learning neural setup notation preliminaries analysis contributions
limitations example examples note proof the this we it design architecture methodology additional supplementary
hyperparameters parameters implementation datasets dataset baselines metrics essentials
"""
_TRIVIAL = frozenset(_TRIVIAL_TEXT.split())
_NOISE = re.compile(
    r"\b(?:results?|details?|overview|comparison|analysis|preliminar\w+|problem setting|problem setup|setup"
    r"|experiments?|experimental|discussion|proof|theorem|related|evaluation|performance|conclusion|appendix"
    r"|additional|notation|examples?|introduction|motivation|background|dataset|datasets|baselines?"
    r"|state-of-the-art|future|work|paper|contributions?|advantages?)\b",
    re.IGNORECASE,
)


@dataclass
class Component:
    """Something to be built, and where the paper says so."""

    name: str
    sentence: Sentence | None
    section: Section
    page: int
    score: float
    algorithm: str = ""
    steps: list[str] = field(default_factory=list)
    equations: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)


def own_names(paper: PaperText) -> list[str]:
    """What the paper calls its own method: by its title, and by the sentences that propose something."""
    names: list[str] = []
    title = str(paper.outline.get("title") or "")
    if ":" in title and len(title.partition(":")[0].split()) <= 4:
        names.append(title.partition(":")[0].strip())
    lead = [one for one in paper.sentences if one.role == BACKGROUND][:400]
    for sentence in lead:
        if not re.search(r"\b(?:we|our|this (?:paper|work))\b", sentence.text, re.IGNORECASE):
            continue
        names += [re.sub(r" \(.*", "", match.group(1)) for match in _PROPOSED.finditer(sentence.text)]
        names += [
            part
            for match in _ABBREVIATED.finditer(sentence.text)
            for part in match.groups()
            if re.search(r"\b(?:we|our)\b", sentence.text[: match.start()])
        ]
    names += _proper_names(paper, lead)
    kept = [
        name.strip()
        for name in dict.fromkeys(names)
        if _is_name(name) and (not name.islower() or len(name.split()) > 2)
    ]
    return sorted(kept, key=lambda name: -sum(name in one.text for one in paper.sentences))[:8]


def _proper_names(paper: PaperText, lead: list[Sentence]) -> Iterator[str]:
    """Names of the abstract that the rest goes on about, and that no citation gives to somebody else."""
    abstract = " ".join(one.text for one in lead[:14])
    everything = " ".join(one.text for one in paper.sentences)
    for name in dict.fromkeys(
        re.findall(r"(?<=[a-z,(] )((?:[A-Z][\w+*-]*[A-Z0-9+*][\w+*-]*|[A-Z][a-z]+ [A-Z][a-z]+))(?=[\s.,;:)])", abstract)
    ):
        cited = re.search(
            rf"{re.escape(name)},? ?(?:\[[0-9, ]+\]|\([A-Z][^()]*[0-9]{{4}}|[A-Z][a-z]+ et al)", everything
        )
        if not cited and everything.count(name) >= 8 and name.lower() not in _OTHERS:
            yield name


_OTHERS_TEXT = """
adam sgd gpu cpu nlp ai ml dl rl llm llms gpt bert cnn rnn lstm gru mlp l-bfgs mnist cifar-10 imagenet bleu f1 auc tpu
api pdf ode odes pde pdes dnn dnns gan gans vae vaes mdp pomdp
"""
_OTHERS = frozenset(_OTHERS_TEXT.split())


_ARTICLE = re.compile(r"^(?:the|an?|this|that|these|each|our|one|two|three|four|five|six|any|such|if|when|in|for|to) ")
_NO_BEGINNING = frozenset(
    [
        "to",
        "is",
        "in",
        "of",
        "as",
        "with",
        "for",
        "by",
        "on",
        "at",
        "from",
        "are",
        "be",
        "and",
        "or",
        "when",
        "if",
        "that",
        "it",
    ]
)


def _is_name(name: str) -> bool:
    words = name.lower().split()
    if words and words[0] in _NO_BEGINNING:
        return False
    return bool(words) and len(name) > 2 and not all(word in _TRIVIAL for word in words) and not _NOISE.search(name)


def find_components(paper: PaperText, own: list[str]) -> list[Component]:
    """At most MOST components, those that are sure first: algorithms, headings, names; each name once."""
    found: dict[str, Component] = {}
    for one in (*_algorithms(paper), *_headings(paper), *_named(paper, own), *_phrases(paper)):
        key = _key(one.name)
        known = next((other for other in found if _is_same(key, other)), None)
        if not key:
            continue
        if known is None:
            found[key] = one
        else:
            found[known].score += 0.5
            found[known].algorithm = found[known].algorithm or one.algorithm
            found[known].steps = found[known].steps or one.steps
            found[known].sentence = found[known].sentence or one.sentence
    whole = [one for one in found.values() if not _has_parts(one, paper)]
    best = sorted(whole, key=lambda one: -one.score)[:MOST]
    kept = sorted(best, key=lambda one: (one.section["start"], one.page))
    _give_equations(paper, kept)
    return kept


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", re.sub(r"s\b", "", name.lower()))


def _is_same(one: str, other: str) -> bool:
    """Names that differ by a few letters at their end: singular and plural, a method and the method itself."""
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) > 5 and long.startswith(short) and len(long) - len(short) <= 4)


def _has_parts(one: Component, paper: PaperText) -> bool:
    """Whether a component is a heading over other headings: then those are built, and it is their title."""
    title = one.section["title"]
    if one.algorithm or _clean(title) != one.name or one.score > 4:
        return False
    number = one.section["number"]
    return (
        bool(number)
        and sum(str(other["number"] or "").startswith(f"{number}.") for other in paper.outline["sections"]) > 1
    )


def _algorithms(paper: PaperText) -> Iterator[Component]:
    sections = {section["id"]: section for section in paper.outline["sections"]}
    for row in paper.outline["algorithms"]:
        section = sections.get(row["section"])
        name = _clean(row["text"])
        if section is None or paper.roles.get(section["id"]) not in (BUILD, SETUP, MIXED, RESULTS) or not name:
            continue
        steps = _steps(paper.text, row)
        yield Component(name, None, section, row["page"], 6.0, row["label"], steps)


def _steps(text: str, row: dict[str, Any]) -> list[str]:
    """The lines of an algorithm: its own fence, or the lines under its caption that look like steps."""
    own = text[row["start"] : row["end"]]
    if "```" in own:
        lines = own.split("\n")
    else:
        following = text[row["end"] : row["end"] + 4000]
        fence = re.match(r"\s*```[^\n]*\n(.*?)```", following, re.DOTALL)
        lines = (
            fence.group(1).split("\n")
            if fence
            else [
                line for line in following.split("\n")[:_LONGEST_STEPS] if re.match(r"\s*(?:[-*]|[0-9]+[:.)])\s", line)
            ]
        )
    kept = [
        " ".join(line.split())
        for line in lines
        if line.strip() and not line.lstrip().startswith(("```", "<!--", "#", ">"))
    ]
    return [line[:300] for line in kept[:_LONGEST_STEPS]]


def _headings(paper: PaperText) -> Iterator[Component]:
    for section in paper.outline["sections"]:
        role, title = paper.roles.get(section["id"]), section["title"]
        name = _clean(title)
        if (
            role not in (BUILD, SETUP)
            or not is_named_after_content(title)
            or not _is_name(name)
            or len(name.split()) > 7
        ):
            continue
        if role == SETUP and re.search(
            r"\b(?:data|metrics?|hardware|implementation|training|hyper|config|models?|tasks?|settings?|prompt"
            r"|usage|parameters?)",
            name,
            re.IGNORECASE,
        ):
            continue
        first = next((one for one in paper.sentences if one.section["id"] == section["id"]), None)
        for part in re.split(r" and (?=[A-Z])", name) if len(name.split()) <= 6 else [name]:
            yield Component(part, first, section, section["page"], 3.0 if role == BUILD else 1.2)


def _named(paper: PaperText, own: list[str]) -> Iterator[Component]:
    counts: Counter[str] = Counter()
    first: dict[str, Sentence] = {}
    for sentence in paper.sentences:
        if sentence.role not in (BUILD, SETUP, MIXED):
            continue
        said = sentence.text
        weight = 1.0 if sentence.role == BUILD else 0.6
        found = [(match.group(1), 0.8 * weight) for match in _CAMEL.finditer(said)]
        found += [
            (match.group(1), 1.6 * weight) for pattern in (_CALLED, _PROPOSED) for match in pattern.finditer(said)
        ]
        found += [
            (match.group(1), 1.6 * weight)
            for match in _ABBREVIATED.finditer(said)
            if not re.search(r"[0-9]{4}", match.group(2))
        ]
        found += [(match.group(1), 0.8 * weight) for match in _QUOTED.finditer(said)]
        if match := _RUN_IN.match(said):
            found.append((match.group(1), 2.0 * weight))
        if sentence.kind == ITEM and (match := re.match(r"([A-Z][\w-]*(?: [\w-]+){0,3}):", said)):
            found.append((match.group(1), 1.2 * weight))
        for name, points in found:
            clean = _clean(name)
            if _is_name(clean) and len(clean.split()) <= 5 and not _is_cited(said, name):
                counts[clean] += points  # type: ignore[assignment]
                first.setdefault(clean, sentence)
    for name in own:
        if sentence_ := next(
            (one for one in paper.sentences if name in one.text and one.role in (BUILD, SETUP, MIXED)), None
        ):
            counts[_clean(name)] += 3
            first.setdefault(_clean(name), sentence_)
    for name, points in counts.items():
        if points >= 1.5:
            yield Component(name, first[name], first[name].section, first[name].page, min(points, 4.5))


def _phrases(paper: PaperText) -> Iterator[Component]:
    """Noun phrases that what is built says again and again: "attention bias", "root hash table"."""
    counts: Counter[str] = Counter()
    first: dict[str, Sentence] = {}
    for sentence in paper.sentences:
        if sentence.role not in (BUILD, SETUP):
            continue
        for match in _PHRASE.finditer(sentence.text):
            name = _ARTICLE.sub("", " ".join((match.group(1) + match.group(2)).split()).lower().rstrip("s"))
            if " " in name and _is_name(name) and len(name) > 7:
                counts[name] += 2 if sentence.role == BUILD else 1
                first.setdefault(name, sentence)
    for name, count in counts.most_common(24):
        if count >= 3:
            yield Component(name, first[name], first[name].section, first[name].page, 0.9 + 0.12 * min(count, 16))


def _is_cited(said: str, name: str) -> bool:
    """Whether a name is followed by a citation: then it is another's."""
    at = said.find(name) + len(name)
    return bool(re.match(r"[)\s]*(?:\[[0-9, ]+\]|\([^()]*(?:19|20)[0-9]{2}|[A-Z][a-z]+ et al)", said[at : at + 40]))


def _clean(name: str) -> str:
    plain = re.sub(
        r"\$[^$]*\$|[*_`\"“”]|\([^()]*\)|^(?:the|a|an|our|on|using|computing|how|via|with)\s+",
        " ",
        name,
        flags=re.IGNORECASE,
    )
    plain = re.sub(
        r"\b(?:method|approach|algorithm)s?$", "", " ".join(plain.split()).strip(" .,:;-–()"), flags=re.IGNORECASE
    ).strip()
    return plain.capitalize() if plain.isupper() and len(plain.split()) > 1 else plain


def _give_equations(paper: PaperText, components: list[Component]) -> None:
    """Each equation to the component of its section; the first that stands there, else the nearest before it."""
    for row in paper.outline["equations"]:
        text = " ".join(str(row["text"]).split())
        if not text or len(text) < 5 or not re.search(r"[=≤≥∈\\<>]", text):
            continue
        same = [one for one in components if one.section["id"] == row["section"]]
        if same and len(same[0].equations) < 6:
            same[0].equations.append(f"{row['label']} {text}".strip()[:400])
