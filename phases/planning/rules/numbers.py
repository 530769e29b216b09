"""Parse numbers as papers write them, fold formulas to plain letters, and blank out numbers of references."""

from __future__ import annotations

import re
import unicodedata

Scalar = int | float | str
LARGEST_VALUE = 1e18
_POWER = r"10(?: ?\^ ?\{? ?[-−–]? ?[0-9]{1,3}(?: ?\})?|⁻?[⁰¹²³⁴-⁹]{1,3})"
# text layers lose that it is raised
_LOST_POWER = r"10[−–][0-9]{1,2}(?![0-9.])"
_PLAIN = r"[-−]?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?"
# "6, 066" is one number, "50, 100, or 200" and "[100, 200]" are several
_APART = re.compile(
    r"(?<![\d.,])(?<!\d[,;] )([0-9]{1,3}), (?=[0-9]{3}(?![0-9]|,? (?:or|and) [0-9]|, ?[0-9]|[\]})]|, ?\.))"
)
NUMBER = (
    rf"(?:{_PLAIN} ?(?:\\times|\\cdot|×|x|\*|·) ?(?:{_POWER}|10 ?[-−–]? ?[0-9]{{1,3}})|{_PLAIN}[eE][-−]?[0-9]+|{_POWER}"
    rf"|{_LOST_POWER}|{_PLAIN}|\.[0-9]+)"
)
_NUMBER_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
"""
WORDS = {word: number for number, word in enumerate(_NUMBER_WORDS.split())}
WORDS.update(twenty=20, thirty=30, fifty=50, hundred=100)
_SCALES = {"k": 1_000, "K": 1_000, "M": 1_000_000, "B": 1_000_000_000, "million": 1_000_000, "billion": 1_000_000_000,
           "thousand": 1_000, "Million": 1_000_000, "Billion": 1_000_000_000, "Thousand": 1_000}  # fmt: skip
_SPELLINGS = (
    "α alpha β beta γ gamma δ delta ϵ epsilon ε epsilon ζ zeta η eta θ theta κ kappa λ lambda µ mu μ mu ν nu ρ rho σ sigma τ "
    "tau φ phi ϕ phi ψ psi ω omega ξ xi χ chi π pi ι iota"
)
GREEK = dict(zip(_SPELLINGS.split()[::2], _SPELLINGS.split()[1::2], strict=True))
_NUMBERS = r"[1-9][0-9]{0,2}(?:(?: ?[,;–-] ?| )[1-9][0-9]{0,2}){0,20}"
_PLACES = (
    "refs?|references?|eqs?|eqns?|equations?|figs?|figures?|tabs?|tables?|secs?|sects?|sections?|chap|chapters?|app|appendix"
    "|appendices|algs?|algorithms?|thms?|theorems?|lemmas?|props?|propositions?|definitions?|corollary|pages?|pg|lines?"
    "|footnotes?|assumptions?|listings?|invariants?|claims?|remarks?|observations?|propert(?:y|ies)|examples?|cases?|runs?(?! "
    "[0-9,]+ times)|rows?|columns?|steps?(?= [0-9]+(?: to |[–-])[0-9]+ of)|points?(?= \\([a-z0-9]\\))|gl|gleichung(?:en)?|abb"
    "|abbildung(?:en)?|tabellen?|abschnitt|kapitel|seiten?|anhang|équations?|tableaux?|ecuaci[oó]n|tablas?|figuras?|página"
    "|secci[oó]n"
)
_POINTERS = (
    # [33], [4, 12]; a set or a range to choose from is none
    re.compile(rf"(?<![=∈$\w])(?<![=∈] )(?<!\\in )\[{_NUMBERS}\]"),
    re.compile(rf"(?<=[\w)}}])\[{_NUMBERS}\]"),
    re.compile(r"\[(?=[^\[\]]{0,300}[0-9]{2})[^\W\d_][^\[\]]{1,300}\](?!\()"),  # [Smith 2019], [Smi19]
    re.compile(r"\((?=[^()]{0,300}[^\W\d_])[^()]{0,300}\b(?:19|20)[0-9]{2}[a-z]?\b[^()]{0,300}\)"),  # (Smith, 2019)
    re.compile(r"[(\[](?:19|20)[0-9]{2}[a-z]?[)\]]"),
    re.compile(
        r"\bet al\.?,? ?(?:\(?(?:19|20)[0-9]{2}\b|[0-9]{1,3}\b)|\b(?:in|since|until|im Jahr|of) (?:19|20)[0-9]{2}(?! "
        r"[a-z]+s\b)(?![.\w])"
    ),
    re.compile(r"\[\^[^\]\s]{1,9}\]|(?<![0-9\s])\$\^\{?\[?[0-9,–-]{1,12}\]?\}?\$|<sup>[^<>]{0,40}</sup>"),
    re.compile(
        rf"(?:\b(?:{_PLACES}|pp?(?=\.)|nos?(?=\.))\b\.?|§+)[ ~]?[(\[]?(?:[A-Z]\.?)?[0-9]+(?:\.[0-9]+)*[a-z]?\b[)\]]?"
        r"(?:(?:, ?| and | und | & |[–-]| to )[(\[]?(?:[A-Z]\.)?[0-9]+(?:\.[0-9]+)*[a-z]?\b[)\]]?(?! ?[a-z]+s\b))*",
        re.IGNORECASE,
    ),
    re.compile(r"[表图圖式] ?[(（]?[0-9]+(?:\.[0-9]+)*[)）]?|第 ?[0-9]+ ?[章节節页頁]|(?:표|그림|식) ?\(?[0-9]+\)?"),
    re.compile(r"https?://\S+|\b[0-9]+(?:st|nd|rd|th)\b|\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b"),
)  # fmt: skip
_CHOSEN_FROM = re.compile(r"(?:from|range|interval|between|over|grid|values?|set|scheme|of|an?) \$?$", re.IGNORECASE)


def number_of(text: str) -> int | float | None:
    """Return the number that a text spells, in any spelling of papers; None for other texts and for absurd sizes."""
    if text.strip().lower() in WORDS:
        return WORDS[text.strip().lower()]
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
    if abs(value) >= LARGEST_VALUE:
        return None
    return int(value) if power and value == int(value) else value


_FOLDED = re.compile(
    r"\\(?:times|cdot|ast)(?![A-Za-z]) ?|\\(?:ldots|dots|cdots)(?![A-Za-z])|\\(?:mathrm|mathbf|text|mathit|operatorname"
    r"|mathcal)(?![A-Za-z])|\\(?:rm|bf|it|sf|tt)(?![A-Za-z]) ?|\\[{}%]|\\([A-Za-z]{2,10}) ?|\\[,;! ]|\$| ?_ ?\{([^{}]{1,30})\}"
    r"|\^ ?\{([^{}]{1,12})\}|[{}]| {2,}"
)
_NAMES = {name: letter for letter, name in reversed(list(GREEK.items()))}


def fold(text: str) -> str:
    """Return the text with formulas in plain letters: x_{max} as x_max, \\alpha as α."""
    return _FOLDED.sub(_plain, text) if "$" in text or "\\" in text else text


def _plain(match: re.Match[str]) -> str:
    words = match.group(0)
    if match.group(2) is not None:
        return "_" + re.sub(r"[^\w-]", "", re.sub(r"\\([a-z]+)", r"\1", match.group(2)))
    if match.group(3) is not None:
        return "^" + match.group(3).replace(" ", "")
    if match.group(1):
        name = match.group(1)
        known = {"in": " ∈ ", "leftarrow": " ← ", "approx": " ≈ "}
        return known.get(name, _NAMES.get(name.removeprefix("var"), f" {name} "))
    if words.isspace():
        return " "
    signs = {"\\{": "{", "\\}": "}", "\\%": "%"}
    named = (("times", "×"), ("dots", "…"), ("cdot", "·"), ("ast", "*"))
    return signs.get(words) or next((sign for name, sign in named if name in words), "")


def read_numbers(text: str) -> str:
    """Return a folded text without pointers to other places, and "6, 066" as one number."""
    return _APART.sub(r"\1,", fold(without_pointers(text)))


def scaled(number: int | float, scale: str) -> int | float:
    """Return the number with its scale: 4.5 million, 36M, 17k."""
    value = number * _SCALES[scale]
    return int(value) if float(value).is_integer() else value


def parse_value(shown: str) -> Scalar | tuple[Scalar, ...] | None:
    """Return a number, or several; a percentage keeps its sign and a fraction its bar: 30% is not 30, and 1/2 is not 1."""
    shown = shown.strip()
    if re.search(r"(?<![0-9.,])0[0-9]", shown):
        return None  # the end of a longer number, such as 20, 000
    if re.fullmatch(rf"{NUMBER}/{NUMBER}|2\^[0-9]{{1,2}}", shown):
        return shown
    if shown.lower() in WORDS:
        return WORDS[shown.lower()]
    values: list[Scalar] = []
    for number, share, word, letter in re.findall(
        rf"({NUMBER})( ?%)?(?: ?([Mm]illion|[Bb]illion|[Tt]housand)\b|([kKMB])\b)?", shown
    )[:14]:
        value = number_of(number)
        if value is None:
            return None
        scale = word or letter
        values.append(f"{number.strip()}%" if share else scaled(value, scale) if scale else value)
    return (values[0] if len(values) == 1 else tuple(values)) if values else None


def symbol_of(name: str) -> str:
    """Return the name of a constant in snake case; empty without a Latin or Greek letter."""
    spelled = "".join(f" {GREEK[sign]} " if sign in GREEK else sign for sign in name.lower())
    plain = re.sub(r"[^a-z0-9]+", "_", spelled).strip("_")[:40].strip("_")
    return plain if re.search("[a-z]", plain) and not plain[:1].isdigit() else ""


def without_pointers(text: str) -> str:
    """Return the text with references to other places blanked out; the rest stays in place."""
    for pattern in _POINTERS:
        text = pattern.sub(_blank_out, text)
    return text


def _blank_out(match: re.Match[str]) -> str:
    words, before = match.group(), match.string[max(0, match.start() - 12) : match.start()]
    is_range = words.startswith("[") and re.search(r"[,;]", words) and _CHOSEN_FROM.search(before)
    return words if is_range else " " * len(words)
