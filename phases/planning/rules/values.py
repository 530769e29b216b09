"""What a sentence sets: a number or a word, what it is called, and the words that say so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from phases.planning.rules.numbers import GREEK, NUMBER, WORDS, fold, number_of, scaled, symbol_of, without_pointers

Scalar = int | float | str
_UNITS = (
    "epochs?|iterations?|steps?|updates?|layers?|sub-?layers?|heads?|seeds?|units?|trials?|neurons?|clusters?"
    "|blocks?|filters?|channels?"
    "|GPUs?|TPUs?|CPUs?|cores?|machines?|servers?|nodes?|workers?|threads?|samples?|examples?|sentences?"
    "|sentence pairs|pairs?|tokens?|words?|characters?|documents?"
    "|images?|questions?|question sequences|queries|tasks?|classes|categories|categor(?:y|ies)|episodes?"
    "|trajectories|rollouts?|simulations?|games?|positions?|points?|checkpoints?|models?|runs?|repetitions"
    "|times"
    "|folds?|splits?|users?|items?|participants?|subjects?|annotators?|labels?|dimensions?|features?"
    "|parameters?|weights?|bits?|bytes?|KB|MB|GB|Mb|ms|seconds?|minutes?|hours?|days?|weeks?|months?|years?"
    "|entries|buckets?|levels?|keys?|key sets|records?|hidden units|neighbou?rs|components?|modules?|stages?"
    "|phases?|types?|scalars?|relations?|agents?|particles?|transformations?|experiments?|instances?|variables?"
    "|frames?|patches|windows?|rounds?|demonstrations?|shots?|ways?|candidates?|responses?|paths?|linked lists"
    "|lists|degrees?|percent|characters|partitions?|replicas?|requests?|temperatures?|constraints?|topics?"
    "|states?|actions?|environments?|terms?|matrices|vectors?|functions?|operators?|problems?|datasets?|data"
    " sets?|attention layers|transformer layers|convolutions?"
)
_HEADS = (
    "weight decay|learning[- ]rates?|step[- ]?sizes?|batch[- ]?sizes?|rates?|decay|momentum|dropout|epochs"
    "|layers|sizes?|dimensions?|dimensionality"
    "|heads|steps|iterations|temperatures?|margins?|factors?|coefficients?|smoothing|clipping|norm|lengths?"
    "|seeds?|clusters|thresholds?"
    "|strength|patience|tolerance|weights?|penalty|probabilit(?:y|ies)|ratios?|width|depth|units|ranks?"
    "|neighbou?rs|bandwidth|trials|frequency|capacity|budgets?"
    "|degrees?|bonus|bias(?:es)?|beams?|neurons|filters|stride|padding|perplexity|variance|deviation|mean|slope"
    "|discount|horizon|window|k|vocabulary(?: size)?|resolution|interval|fraction|constant|base|level|limit"
    "|number|max(?:imum)?|top-[kp]|tokens|hyper-?parameters?|parameters?|scale|radius|order|memory(?: size)?"
    "|kernel size|precision|sparsity|damping|offset|cardinality|urgency|komi|points|value"
)
_ONE = rf"(?:2\^[0-9]{{1,2}}|{NUMBER})(?: ?%)?(?: ?(?:million|billion|thousand)\b|[kKMB]\b)?"
_NEXT = rf"(?:,|;|,? and|,? or) ?{_ONE}"
_MORE = rf"{_NEXT}(?![0-9])(?![- ](?:[a-z-]+[- ])?(?:{_UNITS})\b)(?! (?:for|on|in|with) )"
_SEVERAL = rf"(?:[{{\[(] ?)?((?>{_ONE}(?:/{NUMBER}(?![0-9/]))?(?:{_MORE}){{0,13}}))"
_WHOLE = r"(?![\w^/⁄√⁻⁰¹²³⁴-⁹]|[*·×][\w\\]|\.[0-9]| ?(?:×|√|\^|/|⁄|·|\*|±)|[A-Za-z(\\])"
"""No number stops in the middle of a formula, or of a fraction."""
_SIGN = re.compile(
    r"(?<![\w\\{^.])([α-ωϵϕµA-Za-z](?:_[\w-]{1,24}|[0-9])?|[A-Za-z][A-Za-z]{1,20}(?:[_-][A-Za-z0-9]{1,20}){0,4})"
    rf"(?: ?=[^=<>,;.]{{1,24}}?)? ?(?:=|∈|←|:=|from) ?{_SEVERAL}{_WHOLE}"
)
_NAMED = re.compile(
    rf"\b({_HEADS})\b(?: ?\(?[A-Za-zα-ωϵϕ](?:_\w+)?\)?)? ?(?:(?:\(?which )?(?:is |are |was |were |be |being"
    r" )?(?:\w+ly )?(?:set |fixed |equal |chosen |initiali[sz]ed |restricted |tuned |varied |limited )?"
    rf"(?:to be|to|as|of|is|are|was|were|from|at|in|over|among|starts as|by a grid search (?:on|over|in)|=|∈|:|\|)|\()"
    rf"(?: (?:about|approximately|around|either|a value of|value|up to|a|the range|be))? ?{_SEVERAL}{_WHOLE}",
    re.IGNORECASE,
)
_SET = re.compile(
    rf"((?:[A-Za-z][\w-]* ){{1,5}})(?:is|are|was|were|be)? ?(?:then |also |all )?(?:initiali[sz]ed|set|reset"
    rf"|fixed|equal|defaults?) (?:to|at|with) (?:be )?({_ONE}|zero|one)(?![\w×^*/(]| ?[×*·])"
)
_COUNTED = re.compile(
    rf"(?<![\w.,^_/⁄±=-])((?>{_ONE}(?:{_NEXT}){{0,8}})|\b(?:{'|'.join(WORDS)})\b)[ -]((?:(?!(?:of|the|and|or|to"
    r"|for|with|in|on|at|is|are|more|less|most|best|other|which|that|these|those|as|by|from|than"
    rf"|possible)\b)[A-Za-z][\w-]*[ -]){{0,3}}?(?:{_UNITS})(?: intervals?)?)\b(?![-_][a-z])"
)
_ONE_COUNTED = re.compile(rf"(?<= and )((?>{_ONE}))[ -]((?:[a-z][\w-]*[ -])?(?:{_UNITS}))\b(?![-_][a-z])")
"""The last of two numbers, of which the first belongs to another name: "a rate of 0.1 and 100 epochs"."""
_WORD_UNITS = re.compile(
    r"(?:layers?|heads|blocks|seeds|gpus|tpus|epochs|runs|folds|steps|iterations|perceptrons|filters|channels"
    r"|neurons|words|bits|bytes)$"
)
_MEASURES = r"seconds?|minutes?|hours?|days?|weeks?|gb|mb|kb|ms|intervals?"
_POINTED = re.compile(
    r"\b(?:vs\.?|versus|one of|each of|these|those|latter|other|of the|among the|all) (?:the )?$", re.IGNORECASE
)
_STEPS = re.compile(r"(?:steps|iterations|epochs|updates|episodes)$")
_MEASURED = re.compile(
    r"\b(?:after|within|than|at|in|by|every|(?<!up )to|vs\.?|versus)(?: about| only| just)? $", re.IGNORECASE
)
"""What comes before a number of steps that was needed, and not set."""
_SPACED = re.compile(
    r"\b(rate|size|momentum|decay|dropout|dimension|temperature|seed|dim|stride|ReLU|RELU|lr|epochs|batch)["
    rf" ]({NUMBER}){_WHOLE}"
)
_SHAPE = re.compile(
    r"(?<![\w×x.])([0-9]{1,5}(?: ?(?:×|x) ?[0-9]{1,5}){1,3})(?![\w×.])[ -]?((?:[a-zA-Z][a-z-]+ ?){0,2})"
)
_CONSTANT = re.compile(r"\b(?:const|int|float|unsigned|double|let)\b")
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w{0,30}) ?= ?(0x[0-9A-Fa-f]+|-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)(?=[,; )]|$)")
_IDENTIFIER = re.compile(
    r"\b([a-z]{2,20}(?:[_-][a-z0-9]{1,20}){1,4}|sampling|metric|kernel|padding|gamma|nu) ?(?:=|:|set to|is set"
    r" to) ?([A-Za-z_][\w.]*|[0-9][\w.,]*[0-9]|[0-9])"
)
_WORDS_AS_VALUES = ("auto", "scale", "true", "false", "none", "linear", "rbf", "same", "valid", "euclidean", "cosine")
_LABEL = re.compile(
    rf"^[-•* ]*([A-Za-z][\w ()/.-]{{1,60}}?)(?:(?: |[,:(] ?)([α-ωϵϕ](?:_\w+)?|[A-Za-z](?:_\w+)?)\)?)? ?[:=]"
    rf" ?{_SEVERAL}(?: ([a-z]+))?\.?$"
)
_GOES_ON = re.compile(
    rf"( (?:for|on|in|when|to|with) [^,;.0-9]{{2,60}}?),? (?:and|or) ({_ONE})((?: (?:for|on|in|when|to|with) [^,;.]{{2,50}}))"
)


def _word(name: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return name, re.compile(pattern)


_LEXICON = (
    _word(
        "optimizer",
        r"\b(AdamW|Adam|RMS[Pp]rop|Adagrad|AdaGrad|Adadelta|Adafactor|SGD|LAMB|Lion|Nadam)\b(?= (?:optimi[sz]er"
        r"|algorithm|with)|[^.]{0,12}optimi[sz]er)",
    ),
    _word(
        "optimizer",
        r"(?:optimi[sz]er(?: is|:)|(?:using|with|use|by|used|via) (?:the )?)(?<!\w)(AdamW|Adam|RMS[Pp]rop"
        r"|Adagrad|AdaGrad|Adadelta|Adafactor|(?:stochastic gradient descent|SGD)(?: with momentum)?)\b(?!\+)",
    ),
    _word(
        "activation function",
        r"\b((?:[Ll]eaky )?ReLU|RELU|GELU|SiLU|Swish|ELU|tanh|sigmoid|softplus|hyperbolic tangent)(?:[-"
        r" ](?:non-?linear(?:ity|ities)?|activations?|units?|functions?|hidden))",
    ),
    _word(
        "weight initialization",
        r"\b((?:Xavier|Glorot|He|Kaiming|[Oo]rthogonal)(?: (?:normal|uniform))?)(?= initiali[sz])",
    ),
    _word(
        "loss function",
        r"\b((?:binary |categorical |softmax )?cross[- ]entropy|mean[- ]squared[- ]error|hinge|negative log[-"
        r" ]likelihood|Huber|triplet|contrastive)(?= (?:loss|objective|criterion|function))",
    ),
    _word(
        "learning rate schedule",
        r"\b((?:linear|cosine)(?: (?:warm-?up|decay|annealing|learning rate decay)){1,2}|(?:cosine|linear"
        r"|exponential|step|polynomial)(?= (?:learning rate |rate )?(?:decay|schedule|annealing)))",
    ),
    _word("line search", r"\b(strong Wolfe|Armijo|backtracking)(?= line search| conditions?)"),
    _word("kernel", r"\b(linear|RBF|Gaussian|polynomial)(?= kernels?\b)"),
    _word("metric", r"\b(euclidean|Euclidean|cosine|Manhattan)(?= (?:metric|distance))"),
    _word("algorithm", r"\b(ball_tree|kd_tree)\b"),
    _word("padding", r"['\"’ʼ‘“](same|valid)['\"’ʼ”] padding|\b(?:with )?(same)(?= padding)"),
)
_RESULT_BEFORE = re.compile(
    r"\b(?:by|than|up to|score of|accuracy of|F1 of|BLEU of|(?:an?|the) (?:average|mean) (?:\w+ )?of|total time"
    r" of|improvement of|reduction of|took|takes about|within|achiev\w+|reach\w*|drops? (?:of|to)|attain\w*"
    r"|error of|speedup of)(?: about| around| at least| at most| almost| nearly)? \$?$",
    re.IGNORECASE,
)
_LOOSE = re.compile(
    r"\b(?:if|when|case|any|iff|until|wenn|für|suppose|assume|e\.g\.,?|example,?|say|where) (?:\w+ )?$|\bfor $",
    re.IGNORECASE,
)
_STOPS = frozenset(
    """the a an of with and or our we use used using set to is are for in by on from as at its their fixed same default best each per all
    that this which whose where when has have total both vary tune select choose different various these following see report get let
    denote observe employ adopt fix i.e e.g be it was were been being into such than then also only over under between about approximately
    around every if not no one two three run chosen takes take find given resulting respectively instead most more number equal any
    train trained apply applied perform performed consist consists include includes""".split()
)
_VAGUE = frozenset(
    (
        "factor factors range ranges size sizes weight weights parameter parameters length lengths number value"
        " times terms points k base order scale level types"
    ).split()
)
_INDEXES = frozenset(["i", "j", "k", "m", "n", "t", "ij", "l", "x", "y", "p"])
_SHARES = re.compile(r"(?:dropout|probability|momentum)$")
_LONGEST_QUOTE = 150


@dataclass(frozen=True)
class Value:
    """Something that a sentence sets, and the words that say so."""

    name: str
    value: Scalar | tuple[Scalar, ...]
    quote: str
    symbol: str = ""
    unit: str = ""
    start: int = 0
    end: int = 0
    """Where the value stands in its sentence."""
    condition: str = ""


def values_in(text: str) -> list[Value]:
    """What one sentence or list item sets, from left to right; of two readings of a number the first rule's holds."""
    read, places = fold(text)
    read = without_pointers(read)
    taken: list[tuple[int, int]] = []
    found: list[Value] = []
    for reading in _readings(read):
        for one in _apart(reading, read):
            if any(start < one.end and one.start < end for start, end in taken):
                continue
            taken.append((one.start, one.end))
            quote = _quote(text, places[one.first], places[one.end])
            found.append(
                Value(
                    one.name, one.value, quote, one.symbol, one.unit, places[one.start], places[one.end], one.condition
                )
            )
    return sorted(found, key=lambda value: value.start)


@dataclass(frozen=True)
class _Reading:
    name: str
    value: Scalar | tuple[Scalar, ...]
    first: int
    start: int
    end: int
    symbol: str = ""
    unit: str = ""
    condition: str = ""


def _readings(read: str) -> Iterator[_Reading]:
    yield from _assigned(read)
    yield from _labelled(read)
    yield from _identifiers(read)
    yield from _signs(read)
    yield from _shapes(read)
    yield from _named(read)
    yield from _set_to(read)
    yield from _counted(read)
    yield from _words(read)


def _apart(one: _Reading, read: str) -> Iterator[_Reading]:
    """Two numbers joined by "and" are two values, and what goes on with "and N for" is another; a set or grid is one."""
    value, shown = one.value, read[one.start : one.end]
    is_apart = isinstance(value, tuple) and (
        "respectively" in read[one.end :]
        or (len(value) == 2 and re.search(r" and ", shown) and read[one.start - 1] not in "{[(")
    )
    if is_apart and isinstance(value, tuple):
        for part, match in zip(value, re.finditer(_ONE, shown), strict=False):
            yield _Reading(
                one.name, part, one.first, one.start + match.start(), one.start + match.end(), one.symbol, one.unit
            )
        return
    yield one
    if more := _GOES_ON.match(read, one.end):
        second = _parse(more.group(2))
        if second is not None and not isinstance(second, tuple):
            yield _Reading(
                one.name, second, one.first, more.start(2), more.end(2), one.symbol, one.unit, more.group(3).strip()
            )


def _assigned(read: str) -> Iterator[_Reading]:
    """Constants of a listing: unsigned int a=31415,b=27183."""
    for match in _ASSIGNED.finditer(read) if _CONSTANT.search(read) else ():
        shown = match.group(2)
        number = None if shown.startswith("0x") else number_of(shown)
        yield _read(match.group(1), shown if number is None else number, match, 2, symbol=match.group(1))


def _labelled(read: str) -> Iterator[_Reading]:
    """An item of a list that is a name and a value: "Hidden dimension: 128"."""
    if match := _LABEL.match(read):
        value = _parse(match.group(3))
        name = match.group(1).strip()
        if value is not None and len(name.split()) <= 9:
            yield _read(name, value, match, 3, symbol=plain_symbol(match.group(2) or ""), unit=match.group(4) or "")


def _identifiers(read: str) -> Iterator[_Reading]:
    for match in _IDENTIFIER.finditer(read):
        shown = match.group(2).rstrip(".,")
        number = number_of(shown)
        if number is not None or shown.lower() in _WORDS_AS_VALUES:
            yield _read(match.group(1), shown if number is None else number, match, 2, symbol=match.group(1))


def _signs(read: str) -> Iterator[_Reading]:
    for match in _SIGN.finditer(read):
        before = read[max(0, match.start() - 30) : match.start()]
        plain = plain_symbol(match.group(1))
        value = _parse(match.group(2))
        if value is None or not plain or _is_index(plain, before, read, match.end(), value):
            continue
        noun = re.match(
            rf" ?((?:(?!(?:in|for|on|and|or|as|to|the|our|of|with|at|by|from)\b)[a-z][\w-]* ){{0,3}}?(?:{_UNITS}))\b",
            read[match.end() :],
        )
        named = _name_before(before) or (noun.group(1) if noun else "")
        yield _read(named or plain, value, match, 2, symbol=plain)


def _is_index(plain: str, before: str, read: str, end: int, value: object) -> bool:
    if _LOOSE.search(before) and not re.search(r"\b(?:set|use)\b", before):
        return True
    if re.match(r" ?(?:,? ?(?:\.\.\.|…|· · ·)| ?[-+<≤∑∏]|,? (?:if|when|otherwise)\b)", read[end:]) or re.search(
        r"(?:∑|\bsum\b|\bprod\b|_)$", before.rstrip()
    ):
        return True
    if plain.rpartition("_")[2] in _INDEXES and "_" in plain:
        return True
    return plain in _INDEXES and not isinstance(value, tuple) and value in (0, 1, 2, 3) and not _name_before(before)


def _named(read: str) -> Iterator[_Reading]:
    for match in (*_NAMED.finditer(read), *_SPACED.finditer(read)):
        before = read[max(0, match.start() - 40) : match.start()]
        name = _with_modifiers(before, match.group(1))
        value = _parse(match.group(2))
        if (
            value is None
            or name.lower() in _VAGUE
            or _RESULT_BEFORE.search(read[max(0, match.start(2) - 40) : match.start(2)])
        ):
            continue
        if not re.search(r"\b(?:by|within) an? (?:[a-z]+ )?$", before) and _is_possible(name, match.group(2), value):
            yield _read(name, value, match, 2)


def _set_to(read: str) -> Iterator[_Reading]:
    """Biases are initialized to zero; the urgency is set to 1."""
    for match in _SET.finditer(read):
        value = _parse(match.group(2))
        words = [word for word in match.group(1).split() if word.lower() not in _STOPS]
        if value is not None and words:
            yield _read(" ".join(words[-4:]), value, match, 2)


def _counted(read: str) -> Iterator[_Reading]:
    for match in (*_COUNTED.finditer(read), *_ONE_COUNTED.finditer(read)):
        before, shown, noun = (
            read[max(0, match.start() - 40) : match.start()],
            match.group(1).strip(),
            match.group(2).strip(),
        )
        if (
            _RESULT_BEFORE.search(before) and not (before.endswith("up to ") and _STEPS.search(noun))
        ) or _POINTED.search(before):
            continue
        if before.endswith(" of ") and " and " in shown:
            continue  # the first number belongs to what stands before it
        value, last = _parse(shown), noun.split()[-1].lower()
        is_word = shown.lower() in WORDS
        if (
            value is None
            or (is_word and (WORDS[shown.lower()] < 2 or not _WORD_UNITS.search(last)))
            or last in ("times", "percent", "gb", "mb", "second")
        ):
            continue
        if last == "bit" and re.match(
            r" (?:architecture|machine|computer|version|processor|system)", read[match.end() :]
        ):
            continue
        if _STEPS.search(last) and _MEASURED.search(before) and not re.search(r"\bwe\b", read):
            continue
        if isinstance(value, int) and 1900 <= value <= 2100 and noun[:1].isupper():
            continue  # a year in the name of a data set
        what = re.search(r"([a-z][\w-]*) of (?:about |approximately |size |around )?$", before)
        of = (
            f"{what.group(1)} of "
            if what and what.group(1) not in (*_STOPS, "consisting", "composed", "set", "stack", "maximum")
            else ""
        )
        unit = noun.split()[-1] if re.fullmatch(_MEASURES, last) else ""
        if last in ("parameters", "params") and re.fullmatch(r"[0-9.]+ ?[KMB]", shown):
            value = shown.replace(" ", "")  # a model is known by this: 7B
        yield _read(f"{of}{noun}" if of or unit else f"number of {noun}", value, match, 1, unit=unit)


def _shapes(read: str) -> Iterator[_Reading]:
    for match in _SHAPE.finditer(read):
        noun = " ".join(word for word in match.group(2).split() if word not in _STOPS)
        before = _name_before(read[max(0, match.start() - 30) : match.start()])
        if noun or before:
            yield _read(f"{noun or before} size", match.group(1), match, 1)


def _words(read: str) -> Iterator[_Reading]:
    """What is set to a word: an optimizer, an activation, a loss."""
    for name, pattern in _LEXICON:
        for match in pattern.finditer(read):
            group = match.lastindex or 1
            yield _read(name, match.group(group), match, group)


def _read(
    name: str, value: Scalar | tuple[Scalar, ...], match: re.Match[str], group: int, symbol: str = "", unit: str = ""
) -> _Reading:
    return _Reading(" ".join(name.split()), value, match.start(), match.start(group), match.end(group), symbol, unit)


def _quote(text: str, start: int, end: int) -> str:
    """The clause around a value, in whole words; all of a short sentence."""
    if len(text) <= _LONGEST_QUOTE:
        return text
    room = max(_LONGEST_QUOTE - (end - start), 40)
    first = text.rfind(" ", 0, max(0, start - room // 2)) + 1 if start > room // 2 else 0
    last = text.find(" ", min(len(text), end + room // 2))
    return text[first : last if last > 0 else len(text)].strip()


def _parse(shown: str) -> Scalar | tuple[Scalar, ...] | None:
    """A number, or several; a share keeps its sign and a fraction its bar: 30% is not 30, and 1/2 is not 1."""
    shown = shown.strip()
    if re.search(r"(?<![0-9.,])0[0-9]", shown):
        return None  # the end of a longer number, such as 20, 000
    if re.fullmatch(rf"{NUMBER}/{NUMBER}|2\^[0-9]{{1,2}}", shown):
        return shown
    if shown.lower() in WORDS:
        return WORDS[shown.lower()]
    values: list[Scalar] = []
    for number, share, word, letter in re.findall(
        rf"({NUMBER})( ?%)?(?: ?(million|billion|thousand)\b|([kKMB])\b)?", shown
    )[:14]:
        value = number_of(number)
        if value is None:
            return None
        scale = word or letter
        values.append(f"{number.strip()}%" if share else scaled(value, scale) if scale else value)
    return (values[0] if len(values) == 1 else tuple(values)) if values else None


def plain_symbol(sign: str) -> str:
    """A symbol in plain letters: d_{model} is d_model, \\eta is eta."""
    spelled = "".join(GREEK.get(letter, letter) for letter in sign).replace("\\", "")
    return re.sub(r"[^A-Za-z0-9_*-]+", "_", re.sub(r"[{}$ ]", "", spelled)).strip("_")


def _name_before(before: str) -> str:
    """The noun that stands directly before a symbol: "of dimension d = 512"."""
    words = re.findall(r"[A-Za-z][\w-]*", re.split(r"[,.;:()]|\$[^$]*\$", before)[-1])
    kept: list[str] = []
    for word in reversed(words[-4:]):
        if word.lower() in _STOPS:
            break
        kept.insert(0, word)
    named = " ".join(kept)
    return (
        named if kept and re.search(rf"\b(?:{_HEADS})$", named, re.IGNORECASE) or (kept and len(kept[-1]) > 3) else ""
    )


def _with_modifiers(before: str, head: str) -> str:
    """A name with up to three words before it that belong to it: "mask", "hidden layer"; or what is counted."""
    words = re.findall(r"[A-Za-z][\w-]*|[.,;:()$]", before)
    kept: list[str] = []
    for word in reversed(words[-3:]):
        if word.lower() in _STOPS or not word[0].isalpha():
            break
        kept.insert(0, word)
    return " ".join([*kept, head])


def _is_possible(name: str, stated: str, value: Scalar | tuple[Scalar, ...]) -> bool:
    """A text layer that loses a raised sign makes a share of more than the whole, and a fraction's bar a factor of 1."""
    # decision 135: a wrong constant costs more than a missing one
    numbers = [one for one in (value if isinstance(value, tuple) else (value,)) if not isinstance(one, str)]
    if _SHARES.search(symbol_of(name)) and "%" not in stated and any(not 0 <= number <= 1 for number in numbers):
        return False
    return not (name.endswith("factor") and numbers == [1])
