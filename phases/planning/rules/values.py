"""Hyper-parameters and their values, as papers state them in sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LARGEST_VALUE = 1e18
_POWER = r"10(?: ?\^ ?\{? ?[-−–]? ?[0-9]{1,3} ?\}?|⁻?[⁰¹²³⁴-⁹]{1,3})"
# text layers lose that it is raised
_LOST_POWER = r"10[−–][0-9]{1,2}(?![0-9.])"
_PLAIN = r"[-−]?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?"
NUMBER = (
    rf"(?:{_PLAIN} ?(?:\\times|\\cdot|×|x|\*|·) ?(?:{_POWER}|10 ?[-−–]? ?[0-9]{{1,3}})|{_PLAIN}[eE][-−]?[0-9]+"
    rf"|{_POWER}|{_LOST_POWER}|{_PLAIN}|\.[0-9]+)"
)
_COUNTS = "epochs|iterations|layers|heads|steps|seeds|units|trials|neurons|clusters"
_ONE = rf"{NUMBER}(?:(?:/|⁄){NUMBER}(?![0-9/⁄]))?(?: ?\\?%)?"
_MORE = rf"(?:,|;|,? and|,? or|/) ?{_ONE}(?![0-9])(?![- ](?:[a-z-]+[- ]){{0,2}}(?:{_COUNTS}|runs|times|samples)\b)"
_WHOLE = r"(?![\w^/⁄√⁻⁰¹²³⁴-⁹]|[*·×][\w\\$]|\.[0-9]| ?\$?(?:\\times|\\cdot|\\sqrt|\\frac|×|√|\^|/|⁄|·)|\$?[A-Za-z(\\])"
"""No number stops in the middle of a formula, or of a fraction."""
_SEVERAL = rf"\$?\\?[{{\[]? ?((?>{_ONE}(?:{_MORE}){{0,11}})){_WHOLE}"
_HEADS = (
    "weight decay|learning rates?|step sizes?|batch sizes?|rates?|decay|momentum|dropout|epochs|layers|sizes?"
    "|dimensions?|dimensionality|heads|steps|iterations|temperatures?|margin|factor|coefficients?|smoothing"
    "|clipping|norm|lengths?|seeds?|samples|clusters|thresholds?|strength|patience|range|bits|tolerance|weights?"
    "|penalty|probability|ratios?|width|depth|units|ranks?|neighbou?rs|bandwidth|trials|frequency|capacity|budgets?"
    "|degree|parameters?|bonus|bias|beams?|neurons|filters"
)
_GREEK = "alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|kappa|lambda|mu|nu|rho|sigma|tau|phi|psi|omega|xi"
_SPELLINGS = (
    "α alpha β beta γ gamma δ delta ϵ epsilon ε epsilon ζ zeta η eta θ theta κ kappa λ lambda µ mu μ mu ν nu ρ rho σ sigma"
    " τ tau φ phi ϕ phi ψ psi ω omega ξ xi"
)
_LETTERS = dict(zip(_SPELLINGS.split()[::2], _SPELLINGS.split()[1::2], strict=True))
_HEAD = re.compile(
    rf"\b({_HEADS})\b(?: ?\(?\$?\\?[A-Za-zα-ωϵϕ][\w{{}}]{{0,12}}\$?\)?)?"
    r" ?(?:(?:is |are |was |were )?(?:set |fixed |equal )?(?:to|as|of|is|are|from|in(?= ?\$?\\?[{{\[])|=|∈|:|\|)|\\in"
    r"|by a grid search (?:on|over|in))"
    r"(?: be| about)? ?" + _SEVERAL,
    re.IGNORECASE,
)
_BARE = re.compile(r"\b(rate|size|momentum|decay|dropout|dimension|temperature|seed) " + _SEVERAL)
_SPELLED = re.compile(r"\b([a-z]{2,20}(?:_[a-z0-9]{1,20}){1,4}) ?= ?" + _SEVERAL)
_COUNTED = re.compile(rf"(?<![\w.,$^_/⁄-])([0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]+)[ -]((?:[a-z]+[ -])?(?:{_COUNTS}))\b")
_MEASURED = re.compile(
    r"\b(?:after|about|approximately|around"
    r"|first|last|every|than|within|at|in|by|(?<!up )to|vs\.?|versus|the) $",
    re.IGNORECASE,
)
"""What comes before a number of steps that was needed, and not set."""
_COMPARED = re.compile(r"\b(?:by|within) an? (?:[a-z]+ )?$", re.IGNORECASE)
_VAGUE_NAMES = "factor range ranges size sizes weight weights parameter parameters samples length lengths bits"
_VAGUE = frozenset(_VAGUE_NAMES.split())
_SHARES = re.compile(r"(?:dropout|probability|momentum|dropout_rate)$")
_SIGN = re.compile(
    rf"(?<![^\s(${{,])(?<![_^]\{{)(\\(?:{_GREEK})|[α-ωϵϕ]|[A-HK-TWa-hkmo-s])(?: ?_\{{?([A-Za-z0-9]{{1,8}})\}}?|([0-9]))?\$? ?"
    r"(?:=|\\in|∈|from(?= ?\$?\\?[{\[])) ?" + _SEVERAL + r"(?!\w|[\^+*/(\\]| ?[-+<≤]|,? ?(?:\.\.\.|…|\\[lc]?dots))"
)
_MODIFIER = re.compile(r"(?:^|(?<=[\s(]))([A-Za-z][A-Za-z-]{1,20})[ -]$")
_STOP_WORDS = """
the a an of with and or our we use used using set to is are for in by on from as at its their fixed same default best
each per all that this which whose where when has have total both initial vary tune select choose different various these
following
see report get let denote observe employ adopt fix
"""
_STOPS = frozenset(_STOP_WORDS.split())
_CONDITION = re.compile(r"\b(?:if|when|for|case|any|iff|until|wenn|für) \$?$", re.IGNORECASE)
_SAME = {
    "number_of_epochs": "epochs", "training_epochs": "epochs", "number_of_iterations": "iterations",
    "random_seeds": "number_of_seeds", "seeds": "number_of_seeds", "learning_rates": "learning_rate",
    "batch_sizes": "batch_size",
}  # fmt: skip
_INDEXES = ("i", "j", "k", "m", "n", "t", "ij")
_SHORTEST_QUOTE = 30
_NUMBERS = r"[1-9][0-9]{0,2}(?:(?: ?[,;–-] ?| )[1-9][0-9]{0,2}){0,20}"
_PLACES = (
    "refs?|references?|eqs?|eqns?|equations?|figs?|figures?|tabs?|tables?|secs?|sects?|sections?|chap|chapters?|app|appendix"
    "|appendices|algs?|algorithms?|thms?|theorems?|lemmas?|props?|propositions?|definitions?|corollary|pages?|lines?|footnotes?"
    "|gl|gleichung(?:en)?|abb|abbildung(?:en)?|tabellen?|abschnitt|kapitel|seiten?|anhang|équations?|tableaux?|ecuaci[oó]n"
    "|tablas?|figuras?|página|secci[oó]n"
)
_POINTERS = (
    # [33], [4, 12]; a set or a range to choose from is none
    re.compile(rf"(?<![=∈$\w])(?<![=∈] )(?<!\\in )\[{_NUMBERS}\]"),
    re.compile(r"\[(?=[^\[\]]{0,300}[0-9]{2})[^\W\d_][^\[\]]{1,300}\](?!\()"),  # [Smith 2019], [Smi19]
    re.compile(r"\((?=[^()]{0,300}[^\W\d_])[^()]{0,300}\b(?:19|20)[0-9]{2}[a-z]?\b[^()]{0,300}\)"),  # (Smith, 2019)
    re.compile(r"\((?:19|20)[0-9]{2}[a-z]?\)"),
    re.compile(r"\bet al\.?,? (?:19|20)[0-9]{2}\b|\b(?:in|since|until|im Jahr) (?:19|20)[0-9]{2}(?! [a-z]+s\b)\b"),
    re.compile(r"\[\^[^\]\s]{1,9}\]|(?<![0-9\s])\$\^\{?\[?[0-9,–-]{1,12}\]?\}?\$|<sup>[^<>]{0,40}</sup>"),
    re.compile(
        rf"(?:\b(?:{_PLACES}|pp?(?=\.)|nos?(?=\.))\b\.?|§+)[ ~]?[(\[]?(?:[A-Z]\.?)?[0-9]+(?:\.[0-9]+)*[a-z]?\b[)\]]?"
        r"(?:(?:, ?| and | und | & |[–-]| to )[(\[]?(?:[A-Z]\.)?[0-9]+(?:\.[0-9]+)*[a-z]?\b[)\]]?(?! ?[a-z]+s\b))*",
        re.IGNORECASE,
    ),
    re.compile(r"[表图圖式] ?[(（]?[0-9]+(?:\.[0-9]+)*[)）]?|第 ?[0-9]+ ?[章节節页頁]|(?:표|그림|식) ?\(?[0-9]+\)?"),
)
_CHOSEN_FROM = re.compile(r"(?:from|range|interval|between|over|grid|values?|set) \$?$", re.IGNORECASE)


@dataclass(frozen=True)
class Value:
    """A hyper-parameter, what it is set to (a text where the paper names several), and the words that say so."""

    name: str
    value: int | float | str
    quote: str


def values_in(text: str) -> Iterator[Value]:
    """The values that one line of running text gives to hyper-parameters."""
    # numbers of equations, tables and years look like values
    read = without_pointers(text)
    for match in (*_HEAD.finditer(read), *_BARE.finditer(read)):
        name = symbol_of(_with_modifiers(read, match.start(1)) + match.group(1))
        if name not in _VAGUE and not _COMPARED.search(_text_before(match)):
            yield from _build_values(name, match.group(2), text, match)
    for match in _COUNTED.finditer(read):
        if not _MEASURED.search(_text_before(match)):
            yield from _build_values(symbol_of(match.group(2)), match.group(1), text, match)
    for match in _SIGN.finditer(read):
        if not _CONDITION.search(_text_before(match)) and match.group(2) not in _INDEXES:
            letter = match.group(1).lstrip("\\")
            below = match.group(2) or match.group(3)
            name = _LETTERS.get(letter, letter) + (f"_{below}" if below else "")
            yield from _build_values(symbol_of(name), match.group(4), text, match)
    for match in _SPELLED.finditer(read):
        yield from _build_values(match.group(1), match.group(2), text, match)


def symbol_of(name: str) -> str:
    """The name of a constant, in snake case; empty where a name has no Latin or Greek letter."""
    spelled = "".join(f" {_LETTERS[sign]} " if sign in _LETTERS else sign for sign in name.lower())
    plain = re.sub(r"[^a-z0-9]+", "_", spelled).strip("_")[:40].strip("_")
    return _SAME.get(plain, plain) if re.search("[a-z]", plain) and not plain[:1].isdigit() else ""


def number_of(text: str) -> int | float | None:
    """The number that a text is, in any of the spellings of papers; None where it is none, or one of no reasonable size."""
    plain = re.sub(r"[\s{}$]", "", text).replace("−", "-").replace("–", "-")
    plain = re.sub(r"(?<=10)[⁻⁰¹²³⁴-⁹]+", lambda raised: f"^{unicodedata.normalize('NFKC', raised.group())}", plain)
    plain = plain.replace("−", "-")
    plain = re.sub(r"\\times|\\cdot|×|\*|·", "x", plain)
    power = re.fullmatch(r"(?:(-?[0-9.,]+)x)?10\^(-?[0-9]{1,3})", plain) or re.fullmatch(
        r"(?:(-?[0-9.,]+)x)10(-?[0-9]{1,3})|10(-[0-9]{1,2})", plain
    )
    try:
        if power:
            plain = f"{(power.group(1) or '1').replace(',', '')}e{power.group(power.lastindex or 2)}"
        digits = plain.rstrip(".,").replace(",", "")
        value = float(digits) if re.search(r"[.eE]", digits) else int(digits)
    except ValueError:
        return None
    return value if abs(value) < LARGEST_VALUE else None


def _text_before(match: re.Match[str]) -> str:
    return match.string[max(0, match.start() - 24) : match.start()]


def _build_values(name: str, stated: str, text: str, match: re.Match[str]) -> Iterator[Value]:
    found = [number_of(number) for number in re.findall(NUMBER, stated)[:12]]
    numbers = [number for number in found if number is not None]
    if name and numbers and len(numbers) == len(found) and _is_possible(name, stated, numbers):
        start = match.start()
        while match.end() - start < _SHORTEST_QUOTE and start > 0:
            start = text.rfind(" ", 0, start - 1) + 1
        value: int | float | str = numbers[0] if len(numbers) == 1 else ", ".join(map(str, numbers))
        if "%" in stated or re.fullmatch(r"[^,;]*[0-9][/⁄][0-9][^/⁄,;]*", stated):
            # a share or a fraction stays as it is written: 30% is not 30, and 1/2 is not 1
            value = stated.replace("\\", "").replace(" ", "")
        yield Value(name, value, text[start : match.end()].strip())


def _is_possible(name: str, stated: str, numbers: Sequence[float]) -> bool:
    """A text layer that loses a raised sign makes a share of more than the whole, and a fraction's bar a factor of 1."""
    if re.search(r"(?<![0-9.,])0[0-9]", stated):
        # a number that begins with 0 is the end of a longer one, such as 20, 000
        return False
    # decision 135: a wrong constant costs more than a missing one
    share = _SHARES.search(name) and "%" not in stated
    if share and any(not 0 <= number <= 1 for number in numbers):
        return False
    return not (name.endswith("factor") and numbers == [1])


def _with_modifiers(text: str, start: int) -> str:
    """Up to two words before a name that belong to it: "mask", "hidden layer"; with "of", also what is counted."""
    words = ""
    for _ in range(2):
        match = _MODIFIER.search(text, max(0, start - 24), start)
        if not match or match.group(1).lower() in _STOPS:
            break
        words = match.group(1) + " " + words
        start = match.start(1)
    if text[max(0, start - 10) : start].lower() == "number of ":
        words = "number of " + words
    return words


def without_pointers(text: str) -> str:
    """The text with blanks where it points elsewhere; everything else stays at its place."""
    for pattern in _POINTERS:
        text = pattern.sub(_blank_out, text)
    return text


def _blank_out(match: re.Match[str]) -> str:
    words, before = match.group(), match.string[max(0, match.start() - 12) : match.start()]
    is_range = words.startswith("[") and re.search(r"[,;]", words) and _CHOSEN_FROM.search(before)
    return words if is_range else " " * len(words)
