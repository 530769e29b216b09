"""Convert mathematical characters to LaTeX."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

_SPECIAL = {"{": "\\{", "}": "\\}", "%": "\\%", "#": "\\#", "&": "\\&", "$": "\\$", "_": "\\_", "^": "\\hat{}"}
_SPECIAL |= {"~": "\\sim ", "\\": "\\backslash ", "`": "'", "′": "'", "″": "''", "−": "-", "∗": "*", "‖": "\\|"}

_SPECIAL |= dict.fromkeys("\u2061\u2062\u2063\u2064\u200b\u200c\u200d\ufeff", "") | dict.fromkeys(
    "\u00a0\u2009\u200a\u2003", " "
)
_COMMANDS = """
∑ sum ∏ prod ∐ coprod ∫ int ∬ iint ∭ iiint ∮ oint ⋃ bigcup ⋂ bigcap ⨁ bigoplus ⨂ bigotimes ⋁ bigvee ⋀ bigwedge
± pm ∓ mp × times ÷ div ⋅ cdot · cdot ∘ circ ◦ circ ∙ bullet • bullet ⊕ oplus ⊗ otimes ⊙ odot ⊖ ominus ∪ cup ∩ cap ∖ setminus
≤ leq ≥ geq ≠ neq ≈ approx ≡ equiv ∼ sim ≃ simeq ≅ cong ∝ propto ≪ ll ≫ gg ≺ prec ≻ succ ⪯ preceq ⪰ succeq ≜ triangleq
∈ in ∉ notin ∋ ni ⊂ subset ⊆ subseteq ⊃ supset ⊇ supseteq ∅ emptyset ∀ forall ∃ exists ¬ neg ∧ wedge ∨ vee ⊤ top ⊥ bot
→ to ← leftarrow ↔ leftrightarrow ⇒ Rightarrow ⇐ Leftarrow ⇔ Leftrightarrow ↦ mapsto ↑ uparrow ↓ downarrow ⟶ longrightarrow
⟵ longleftarrow ⟹ implies ⟺ iff ∞ infty ∂ partial ∇ nabla √ surd ℓ ell ℏ hbar ℑ Im ℜ Re ℵ aleph ∣ mid ∥ parallel ∠ angle
… ldots ⋯ cdots ⋮ vdots ⋱ ddots ⟨ langle ⟩ rangle ⌈ lceil ⌉ rceil ⌊ lfloor ⌋ rfloor † dagger ‡ ddagger ∎ blacksquare
⊢ vdash ⊨ models ∴ therefore ⋆ star △ triangle □ square ◇ diamond ϵ epsilon ϕ phi ϑ vartheta ϱ varrho ϖ varpi ς varsigma
"""
_PAIRS = _COMMANDS.split()
_BY_SIGN = {sign: f"\\{name} " for sign, name in zip(_PAIRS[::2], _PAIRS[1::2], strict=True)}
_GREEK_NAMES = (
    "alpha beta gamma delta zeta eta theta iota kappa lamda mu nu xi pi rho sigma tau upsilon chi psi omega "
    "Gamma Delta Theta Lamda Xi Pi Sigma Upsilon Phi Psi Omega"
)
_FUNCTION_NAMES = (
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max min "
    "Pr sec sin sinh sup tan tanh"
)
_GREEK, FUNCTIONS = frozenset(_GREEK_NAMES.split()), frozenset(_FUNCTION_NAMES.split())
_FONTS = {
    "DOUBLE-STRUCK": "mathbb", "SCRIPT": "mathcal", "FRAKTUR": "mathfrak", "BLACK-LETTER": "mathfrak",
    "BOLD": "mathbf", "SANS-SERIF": "mathsf", "MONOSPACE": "mathtt",
}  # fmt: skip
_ACCENTS = {
    "\u0302": "hat", "^": "hat", "ˆ": "hat", "\u0303": "tilde", "~": "tilde", "˜": "tilde", "\u0304": "bar", "\u0305": "overline",
    "¯": "bar", "‾": "overline", "\u0307": "dot", "˙": "dot", "\u0308": "ddot", "¨": "ddot", "\u20d7": "vec", "→": "vec",
    "\u0306": "breve", "˘": "breve", "\u030c": "check", "ˇ": "check", "\u0301": "acute", "´": "acute", "\u0300": "grave",
    "⏞": "overbrace", "⏟": "underbrace", "\u0332": "underline", "_": "underline", "―": "overline",
}  # fmt: skip


def tex_of(text: str) -> str:
    """Return characters of a formula as LaTeX. Letters unknown to LaTeX stay."""
    return "".join(map(_sign_tex, text))


def word_tex(text: str) -> str:
    """Return a name of several letters: a function if LaTeX has it, else upright text."""
    if text in FUNCTIONS:
        return f"\\{text} "
    return f"\\mathrm{{{tex_of(text)}}}" if len(text) > 1 and text.isascii() and text.isalpha() else tex_of(text)


def text_tex(text: str) -> str:
    """Return words within a formula."""
    plain = "".join("\\" + sign if sign in "{}%#&$_" else sign for sign in text if sign not in "\\^~")
    return f"\\text{{{plain}}}" if plain.strip() else " "


def accent_command(sign: str, *, default: str) -> str:
    """Return the command of an accent, without its backslash."""
    return _ACCENTS.get(sign.strip(), default)


def brace_argument(text: str) -> str:
    """Return a text as one argument."""
    return f"{{{text.strip()}}}"


def matrix_tex(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of aligned formulas, without brackets."""
    return (
        "\\begin{matrix} " + " \\\\ ".join(" & ".join(cell.strip() for cell in row) for row in rows) + " \\end{matrix}"
    )


@cache
def _sign_tex(sign: str) -> str:
    if sign in _SPECIAL:
        return _SPECIAL[sign]
    if sign.isascii():
        return sign
    if sign in _BY_SIGN:
        return _BY_SIGN[sign]
    name = unicodedata.name(sign, "").split()
    if name[:1] == ["MATHEMATICAL"] or name[:1] in (["DOUBLE-STRUCK"], ["SCRIPT"], ["BLACK-LETTER"]):
        return _letter_in_font(sign, name)
    if name[:1] == ["GREEK"] and name[2:3] == ["LETTER"] and len(name) == 4:
        letter = name[3].lower() if name[1] == "SMALL" else name[3].capitalize()
        special = {"epsilon": "varepsilon", "phi": "varphi"}
        letter = special.get(letter, letter) if letter in _GREEK or letter in special else ""
        return f"\\{letter.replace('lamda', 'lambda').replace('Lamda', 'Lambda')} " if letter else sign
    return sign


def _letter_in_font(sign: str, name: list[str]) -> str:
    plain = unicodedata.normalize("NFKC", sign)
    if plain == sign or len(plain) != 1:
        return sign
    font = next((font for word, font in _FONTS.items() if word in name), "")
    inner = _sign_tex(plain).strip()
    return f"\\{font}{{{inner}}}" if font else inner + (" " if inner.startswith("\\") else "")
