"""What may be the name of a component: a noun phrase, and no clause, no property, no word that every paper has."""

from __future__ import annotations

import re

_LONGEST = 6
_NOISE = re.compile(
    r"\b(?:results?|details?|overview|comparison|analysis|preliminar\w+|problem (?:setting|setup|statement"
    r"|formulation|definition)"
    r"|set-?up|experiments?|experimental|discussion|proofs?|theorems?|lemmas?|corollar(?:y|ies)|propositions?|related|performance|conclusions?|appendix"
    r"|additional|notations?"
    r"|examples?|introduction|motivation|background|data ?sets?|baselines?|state-of-the-art|future|work|papers?|contributions?"
    r"|advantages?|goals?|concepts|definitions?|propert(?:y|ies)|description|security|privacy|attacks?|threats?"
    r"|assumptions?|questions?|exercises?|experiences?|decisions|statements?|patterns|existing|reproducib\w+"
    r"|challenges|statistics"
    r"|usage|requirements|guarantees?|invariants?|axioms?|formulas|costs? of|cases?|phase|stage|part|step|duration"
    r"|compensation|limitations?"
    r"|note|notes"
    r"|remarks?|observations?|desiderata|principles|differences"
    r"|use cases|scenarios?|hypothes[ei]s|research|literature|users|hyper-?"
    r"parameters?|intuition|insights?|summary|evaluation|metrics?|applications?|environments?|settings?|configurations?|approaches|resources|software|libraries|hardware|instances)\b",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\b(?:rate|split|threshold|term|problem|length|size|dimension|number|pair|word|time|consumption|count|level"
    r"|concept|type)s?$",
    re.IGNORECASE,
)
"""How the name of a value ends, or of a class of things."""
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|can|may|must|should|will|does|do|did|we|they|it|there|this|that|which"
    r"|who|why|what"
    r"|when|if|because|satisf(?:y|ies)|shows?|gives?|makes?|differs?|becomes?|proceeds?|even|also|not|no|might|could|would)\b",
    re.IGNORECASE,
)
_BEGINNING = re.compile(
    r"^(?:the|an?|this|these|those|each|every|our|its|their|some|any|such|one|two|three|four|five|six|several|many"
    r"|most|all|both|no"
    r"|other|more|same|to|in|on|of|as|by|at|for|with|from|and|or|via|using|unlike|than|very|called|based)\b",
    re.IGNORECASE,
)
_ENDING = re.compile(
    r"(?:\b(?:the|an?|of|to|in|on|for|with|and|or|as|by|from|at|one|based|related|associated)"
    r"|\w(?<!pp)(?<!famil)(?<!assemb)ly|'s|’s)$",
    re.IGNORECASE,
)
_PROPERTY = re.compile(r"^\w+(?:ity|ness|ability|ance|ency)$", re.IGNORECASE)
"""One word that says how something is, and nothing that is built."""
_ORDER = re.compile(
    r"^(?:calculat|defin|comput|sampl|select|generat|build|creat|construct|estimat|updat|apply|add|find|get|obtain"
    r"|train|set|choos"
    r"|determin|deriv|perform|evaluat|initializ|combin|extract|us)(?:e|es|ing)? (?:from )?(?:the|an?) ",
    re.IGNORECASE,
)
_LED_BY = re.compile(
    r"^(?:essentials|overview|details|applications?|description|implementation|computation|definition|construction"
    r"|structure|use|choice|concept|basics|idea|role|types?|case) of (?:the |an? |our )?|^(?:the|an?|our|on|using"
    r"|computing|how|via"
    r"|with|towards?|proposed (?:method|approach|model|algorithm):?|(?:our|the) (?:method|approach|model|algorithm):)\s+",
    re.IGNORECASE,
)
_WITH_NAME = re.compile(r"^[A-Z]\w+(?:ing\b|-)[\w ,-]* (?:with|in|by|using) ([\w-]+)$")
"""A deed with a part that has a name: "End-to-end processing with Recipes"."""
_WIDE_TEXT = """
true false duplicates solution first last previous updated identical method methods model models approach results data
training algorithm network networks framework system section figure table number time cost learning neural setup
design architecture methodology hyperparameters parameters implementation prototype usability flexibility robustness
structure values value target ready input output loss function functions objective activation softmax attention
language probability distribution variables layer layers module nodes node process operation operations format
platform test train validation inference task tasks policy agent state
"""
_WIDE = frozenset(_WIDE_TEXT.split())
_OTHERS_TEXT = """
adam sgd gpu gpus cpu cpus nlp ai ml dl rl llm llms gpt bert cnn cnns rnn rnns lstm gru mlp mlps l-bfgs mnist cifar-10
imagenet bleu f1 auc tpu tpus api apis pdf pdfs ode odes pde pdes dnn dnns gan gans vae vaes mdp pomdp url urls html
xml json http https ssl tls tcp udp ip dns unix linux windows java javascript python pytorch tensorflow keras jax
numpy nvidia amd intel cuda github amazon google microsoft facebook openai wikipedia latex iid ram ssd os sql
"""
_OTHERS = frozenset(_OTHERS_TEXT.split())
_SAME_TEXT = """
stack stacks layer layers module network model function algorithm method mechanism operation procedure process
approach scheme the of a
"""
_SAME = frozenset(_SAME_TEXT.split())


def clean_name(name: str) -> str:
    """A heading, a caption or a quoted name without signs, articles, and words that only lead to it."""
    plain = re.sub(r"\$[^$]*\$|[*_`\"“”]|\([^()]*\)|\[[^\[\]]*\]", " ", name)
    plain = " ".join(plain.split()).strip(" .,:;-–()")
    head, colon, _ = plain.partition(": ")
    if colon and re.fullmatch(r"[A-Z][\w*+-]*", head):
        plain = head  # "TabDiff: a model for" is TabDiff
    plain = _ORDER.sub("", _LED_BY.sub("", plain))
    if match := _WITH_NAME.match(plain):
        plain = match.group(1)
    plain = re.sub(r"\b(?:method|approach|algorithm)s?$", "", plain, flags=re.IGNORECASE).strip(" .,:;-–()")
    plain = re.sub(
        r"^(?:the|novel|new|simple|efficient|proposed|standard|general|basic|modified|improved) | in (?:our|the"
        r"|this) \w+$",
        "",
        plain,
        flags=re.IGNORECASE,
    )
    return plain.capitalize() if plain.isupper() and len(plain.split()) > 1 else plain


def is_component_name(name: str) -> bool:
    """Whether a cleaned name may be that of something that is built."""
    words = name.lower().split()
    if not 0 < len(words) <= _LONGEST or len(name) < 3 or not re.match(r"[A-Za-z]", name):
        return False
    if (
        _BEGINNING.search(name)
        or _ENDING.search(name)
        or _CLAUSE.search(name)
        or _NOISE.search(name)
        or _VALUE.search(name)
    ):
        return False
    if len(words) == 1 and (
        words[0].endswith("ed") or _PROPERTY.match(name) or words[0].rstrip("s") in _OTHERS or words[0] in _OTHERS
    ):
        return False
    return not all(word in _WIDE or word.rstrip("s") in _WIDE for word in words) and not re.search(
        r"[=<>{}\\|]|^\d", name
    )


def is_known_to_all(name: str) -> bool:
    """Whether a name is that of a device, a company, a format, or a method that everybody uses."""
    return name.lower() in _OTHERS


def key_of(name: str) -> str:
    """What two spellings of a name have in common: no marks, no plural, no word that names a kind of part."""
    words = [re.sub(r"(?<=\w\w)s$", "", word) for word in re.findall(r"[a-z0-9]+", name.lower())]
    telling = [word for word in words if word not in _SAME]
    return "".join(telling or words)


def is_same_name(one: str, other: str) -> bool:
    """Whether two keys name the same: one goes on for a few letters more."""
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) > 5 and long.startswith(short) and len(long) - len(short) <= 3)
