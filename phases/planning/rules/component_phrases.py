"""Noun phrases that a paper says again and again of what it builds, and the objects of what its authors do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from phases.planning.rules.component_names import clean_name, is_component_name, key_of
from phases.planning.rules.cues import DEED, why_not
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BUILD, MIXED, SETUP

FEWEST, _MOST = 2, 90
"""What is said less often is said in passing."""
_HEADS = (
    "attention|networks?|embeddings?|encodings?|encoders?|decoders?|loss|objective|layers?|modules?|classifiers?|predictors?"
    "|extractors?|learners?|optimi[sz]ers?|operators?|kernels?|models?|detection|detectors?|removal|search|samplers?|sampling"
    "|schedulers?|schedules?|augmentation|normali[sz]ation|smoothing|averaging|dropout|back-?up|simulations?|tables?|trees?"
    "|tries|trie|maps?|lists?|pools?|caches?|buffers?|queues?|stacks?|heaps?|index|indices|buckets?|blocks?|pages?|logs?|files?"
    "|hash(?:es)?|insertion|deletion|selection|updates?|estimators?|estimation|regression|projections?|preconditioners?|matrix"
    "|masks?|masking|parsers?|polic(?:y|ies)|critic|actor|rewards?|generators?|discriminators?|posterior|prior|likelihood"
    "|gradients?|functions?|penalty|regulari[sz]ation|regulari[sz]ers?|clustering|scoring|ranking|protocols?|servers?|clients?"
    "|stores?|managers?|schedulers?|dispatch|routing|pruning|bias(?:es)?|distance|similarity|perturbations?|initiali[sz]ation"
    "|solvers?|controllers?|filters?|transforms?|convolutions?|pooling|memory|allocators?|locks?|pointers?|counters?|messages?"
    "|noise|games?|tasks?|equations?|PDEs?|ODEs?|problems?|products?|identity|connections?|backbones?|features?|vectors?"
    "|representations?|representers?|procedures?|strateg(?:y|ies)|mechanisms?|variants?|stages?|tests?|datasets?|transformations?"
    "|constraints?|depletion|adaptation|alignments?|tagsets?|taggers?|tagging|extraction|weighting|scaling|batching|sharing|splitting"
    "|refinement|replay|distillation|forecasting|annotations?|templates?|prompts?|pipelines?|regions?|chunks?|fields?|flags?"
    "|headers?|descriptors?|identifiers?|timers?|threads?|transactions?|requests?|leases?|replicas?|ballots?|proposals?|quorums?"
    "|tokens?|keys?|nodes?|circuits?|handlers?|collectors?|collection|compression|quantizers?|quantization|predicates?|engines?"
)
_WEAK = (
    "the|an?|of|and|or|in|on|to|for|with|by|is|are|was|be|our|this|that|these|each|all|its|their|we|as|at|from|which|where|both"
    "|single|same|other|different|such|new|one|two|first|second|third|following|proposed|any|every|more|most|no|not|using|use|used"
    "|given|only|current|final|next|standard|usual|whole|total|entire|existing|additional|corresponding|identical|previous|last"
    "|adjacent|valid|real|large|small|high|low|simple|initial|true|false|best|worst|good|bad|full|another|some|many|several|also"
    "|then|than|if|when|so|per|but|it|they|there|here|has|have|can|may|will|into|over|between|under|up|out|own|multiple|various"
    "|while|since|besides|without|among|about|upon|after|before|just|few|overall|better|similar|typical|however|considered|further|much"
    "|uses?|contains?|provides?|outperforms?|measures|causes|enables|performs?|requires?|inserts?|introduced|employed|associated|needed"
    "|learned|required|desired|appropriate|successive|subsequent|maximum|minimum|average|averaged|highest|lowest|larger|smaller|deeper"
    "|lower|higher|simpler|like|available|enough|useful|truly|greatly|highly|sufficiently|arbitrary|arbitrarily|expected|known"
    "|particular|specific|certain|aforementioned|official|distinct|balanced|possible|original|main|actual|early|late|long|short|old|non|three|four|five|correct|unique"
)
_PHRASE = re.compile(rf"(?<![\w-])((?:(?!(?:{_WEAK})\b)[A-Za-z][\w-]*[ -]){{1,3}})({_HEADS})\b")
_GENERIC = re.compile(
    r"^(?:language|probability|data|neural|loss|objective|cost|learning|training|test|likelihood|convergence"
    r"|activation|error|deep"
    r"|machine|statistical|learned|trained|hidden|input|output|leaf|root|linear|inner|dot|base|weight|hyperbolic)"
    r"[ -](?:models?|distributions?|networks?|functions?|files?|tokens?|layers?|nodes?|products?|transformations?|headers?"
    r"|matrix|vectors?|problems?|tasks?)$",
    re.IGNORECASE,
)
"""Two words that any paper of the field has."""
_USED = re.compile(
    r"\b(?:we|is|are|to|and|by|which|that) (?:\w+ly |also |then |first )?(?:use[sd]?|appl(?:y|ied|ies)|employ(?:s"
    r"|ed)?|introduce[sd]?"
    r"|define[sd]?|adds?|added|buil[dt]s?|train(?:s|ed)?|comput(?:e|es|ed)|propose[sd]?|design(?:s|ed)?|implement(?:s|ed)?"
    r"|maintain(?:s|ed)?|construct(?:s|ed)?|minimi[sz]e[sd]?|create[sd]?|contains?|perform(?:s|ed)?|stored?|keep|keeps)"
    r" (?:an?|the|our|its)? ?(?:\w+ly )?$",
    re.IGNORECASE,
)
"""Before the object of a deed."""
_OBJECT = re.compile(
    r"\b[Ww]e (?:\w+ly |also |then |first )?(?:use|apply|appli|employ|introduce|define|add|adopt|build|built|construct|compute"
    r"|propose|implement|maintain|design|perform|create)(?:s|d|ed)? (?:an?|the|our) "
    rf"((?:(?!(?:{_WEAK})\b)[A-Za-z][\w-]* ){{1,3}}(?!(?:{_WEAK})\b)[A-Za-z-]+(?<!ing))"
    r"(?= (?:to|for|with|of|in|on|that|which|and|from|by|as|at|over|between|using|where|while)\b|[.,;:(\[]| [(\[$]|$)"
)


def find_phrases(paper: PaperText) -> Iterator[tuple[str, Sentence, float]]:
    """Noun phrases that what is built says again and again: "attention bias", "root hash table"; the objects of deeds first."""
    counts: Counter[str] = Counter()
    first: dict[str, tuple[str, Sentence]] = {}
    used: Counter[str] = Counter()
    cited: set[str] = set()
    for sentence in paper.sentences:
        if sentence.role not in (BUILD, SETUP, MIXED):
            continue
        for match in _PHRASE.finditer(sentence.text):
            name = _without_sentence_case(match.group(), sentence.text, match.start())
            key = key_of(name)
            if len(name) > 7 and is_component_name(name) and not _GENERIC.match(name) and not _is_deed(match):
                counts[key] += 2 if sentence.role == BUILD else 1
                cited |= {key} if is_cited(sentence.text, match.group()) else set()
                used[key] += bool(_USED.search(sentence.text[: match.start()]))
                first.setdefault(key, (name, sentence))
    weights = {
        key: counts[key] + 2 * min(used[key], 3)
        for key in counts
        if used[key] or (counts[key] > 1 and key not in cited)
    }
    for key in sorted(weights, key=lambda key: -weights[key])[:_MOST]:
        if weights[key] >= FEWEST:
            yield *first[key], 0.9 + 0.12 * min(weights[key], 16)


def _is_deed(match: re.Match[str]) -> bool:
    """Whether a phrase begins with a verb: "to develop models", "by allocating memory"; or in the middle of a word."""
    before = match.string[: match.start()]
    last = (before.split() or [""])[-1].lower()
    begins = match.group().split()[0]
    is_gerund = begins.endswith("ing") and last not in ("the", "a", "an", "this", "each", "our", "its", "new", "no")
    return (
        (
            last in ("to", "we", "can", "will", "may", "must", "not", "and", "or", "they")
            and begins.islower()
            and bool(last not in ("and", "or") or _VERB.fullmatch(begins))
        )
        or is_gerund
        or before.endswith(("'", "’"))
    )


_VERB = re.compile(rf"(?:{DEED})")


def find_objects(paper: PaperText) -> Iterator[tuple[str, Sentence, float]]:
    """What the authors say that they use, apply, add or define."""
    for sentence in paper.sentences:
        if sentence.role in (BUILD, SETUP) and not why_not(sentence.text):
            for match in _OBJECT.finditer(sentence.text):
                name = clean_name(match.group(1))
                if is_component_name(name) and " " in name and not _GENERIC.match(name) and not name.endswith("ed"):
                    yield name, sentence, 1.2 if sentence.role == BUILD else 1.1


def _without_sentence_case(name: str, text: str, start: int) -> str:
    """A phrase as it stands inside a sentence, in the singular."""
    is_first = start == 0 or text[max(0, start - 2) : start].strip() in (".", ":")
    plain = name[0].lower() + name[1:] if is_first and name[1:2].islower() else name
    return (
        re.sub(r"(?<=[^\Ws])s$", "", re.sub(r"ies$", "y", plain)) if not plain.endswith(("bias", "ss", "us")) else plain
    )


def is_cited(said: str, name: str) -> bool:
    """Whether a name is followed by a citation: then it is another's."""
    at = said.find(name) + len(name)
    return bool(re.match(r"[)\s]*(?:\[[0-9, ]+\]|\([^()]*(?:19|20)[0-9]{2}|[A-Z][a-z]+ et al)", said[at : at + 40]))
