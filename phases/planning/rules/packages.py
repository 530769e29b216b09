"""The packages that a paper says it uses, as lines that pip can install.

Only packages of this list are named: a name that a paper makes up could be anybody's package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BUILD, MIXED, OTHER, RESULTS, SETUP

_NAMES = """
PyTorch TensorFlow tensor2tensor Keras JAX Flax numpy SciPy scikit-learn pandas Matplotlib seaborn Plotly Transformers
diffusers accelerate tokenizers PEFT TRL bitsandbytes spaCy sciSpaCy NLTK gensim stanza AllenNLP XGBoost LightGBM CatBoost
NetworkX DGL Theano Lasagne Ray statsmodels Pillow pdfplumber pdf2image PySBD LayoutParser PyHessian fairseq SentencePiece
sacreBLEU librosa torchaudio torchvision torchtext DeepSpeed vLLM Optuna CVXPY SymPy Numba CuPy PyMC Captum SHAP FEniCS
DeepXDE wandb TensorBoard Optax Equinox Diffrax Triton timm Kornia einops xformers BoTorch GPyTorch
TensorFlow-Probability torchdiffeq SpeechBrain ESPnet OpenNMT-py jiwer lm-eval ROUGE-score SALib pyDOE Dask PySpark
scikit-image PettingZoo gymnasium tianshou CleanRL MuJoCo brax CUDA
"""
_LINES = {
    "Pytorch": "PyTorch", "torch": "PyTorch", "Tensorflow": "TensorFlow", "Numpy": "numpy", "NumPy": "numpy",
    "sklearn": "scikit-learn",
    "Scikit-learn": "scikit-learn", "Scikit-Learn": "scikit-learn", "HuggingFace": "Transformers", "Hugging Face": "Transformers",
    "Huggingface": "Transformers", "OpenAI Gym": "gymnasium", "OpenAI gym": "gymnasium", "Gymnasium": "gymnasium",
    "Gym": "gymnasium",
    "Stable Baselines": "stable-baselines3", "Stable-Baselines3": "stable-baselines3", "Stable Baselines 3": "stable-baselines3",
    "RLlib": "Ray", "PyTorch Geometric": "torch-geometric", "OpenCV": "opencv-python", "Gurobi": "gurobipy", "faiss": "faiss-cpu",
    "FAISS": "faiss-cpu", "Pyro": "pyro-ppl", "Weights & Biases": "wandb", "Weights and Biases": "wandb", "WandB": "wandb",
    "dm-haiku": "dm-haiku", "Haiku": "dm-haiku", "Hydra": "hydra-core", "evaluation harness": "lm-eval", "Fairseq": "fairseq",
    "Lightning": "lightning", "PyTorch Lightning": "lightning", "CleverHans": "cleverhans", "LIBSVM": "libsvm-official",
    "LibSVM": "libsvm-official", "Diffusers": "diffusers", "jax": "JAX", "flax": "Flax", "Jax": "JAX", "tensorflow": "TensorFlow",
    "BERTScore": "bert-score",
}  # fmt: skip
_PACKAGES = {**{name: name for name in _NAMES.split()}, **_LINES}
_ANY = "|".join(re.escape(name) for name in sorted(_PACKAGES, key=len, reverse=True))
# not in what BERT stands for, Bidirectional Encoder Representations from Transformers
_SHOWN = re.compile(rf"(?<![\w.-])(?<!Representations from )(?:{_ANY})(?![\w-]|\.\w)")
_ORDINARY_TEXT = """
Transformers Gym Ray Pyro Hydra Triton accelerate tokenizers Haiku Lightning SHAP DGL TRL PEFT Flax MuJoCo CUDA stanza torch
"""
_ORDINARY = frozenset(_ORDINARY_TEXT.split())
"""Names that papers also use for other things."""
_OF_CODE = re.compile(
    r"librar|packages?\b|framework|toolkit|Wolf|OpenAI|Brockman|implement|written in|software|code\b|develop"
    r"|built (?:on|with|in)|\busing\b|version"
)
_SAYS_CODE = re.compile(r"implement|\bcode|librar|software|packages?\b")
_FAMILY = {"diffusers", "accelerate", "tokenizers", "PEFT", "TRL"}
"""Of Hugging Face, whose name alone stands for Transformers."""


def find_packages(paper: PaperText) -> list[tuple[str, Sentence]]:
    """Lines that can be installed, of the packages that the paper says it uses, each with the place that says so."""
    found: dict[str, Sentence] = {}
    for sentence in _places(paper):
        named = [match.group() for match in _SHOWN.finditer(sentence.text)]
        for name in named:
            line = _PACKAGES[name]
            if name in _ORDINARY and not _OF_CODE.search(sentence.text):
                continue
            if sentence.role == OTHER and not _SAYS_CODE.search(sentence.text):
                continue
            if name.startswith("Hugg") and _FAMILY & {_PACKAGES[other] for other in named}:
                continue
            found.setdefault(line, sentence)
    if "torch-geometric" in found or "lightning" in found:
        found.setdefault("PyTorch", found.get("torch-geometric") or found["lightning"])
    return list(found.items())


def _places(paper: PaperText) -> Iterator[Sentence]:
    """The sentences of the paper, and the rows of tables that say how parts are built."""
    roles = (BUILD, SETUP, MIXED, RESULTS, OTHER)
    yield from (one for one in paper.sentences if one.role in roles)
    for table in paper.tables:
        if table.role in roles:
            for row in table.text.split("\n"):
                yield Sentence(row, table.section, table.page, table.role, "table")
