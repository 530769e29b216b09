"""The packages that a paper says it uses, as lines that pip can install."""

from __future__ import annotations

import re

from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BUILD, MIXED, OTHER, RESULTS, SETUP

_PACKAGES = {
    "PyTorch": "torch", "Pytorch": "torch", "torch": "torch", "TensorFlow": "tensorflow",
    "Tensorflow": "tensorflow", "tensor2tensor": "tensor2tensor", "Keras": "keras", "JAX": "jax", "Flax": "flax",
    "NumPy": "numpy", "Numpy": "numpy", "SciPy": "scipy", "scikit-learn": "scikit-learn", "sklearn": "scikit-learn",
    "Scikit-learn": "scikit-learn", "pandas": "pandas", "Matplotlib": "matplotlib", "Hugging Face": "transformers",
    "HuggingFace": "transformers", "Transformers": "transformers", "spaCy": "spacy", "sciSpaCy": "scispacy",
    "NLTK": "nltk", "gensim": "gensim", "XGBoost": "xgboost", "LightGBM": "lightgbm", "OpenAI Gym": "gymnasium",
    "OpenAI gym": "gymnasium", "Gym": "gymnasium", "Stable Baselines": "stable-baselines3",
    "Stable-Baselines3": "stable-baselines3", "Stable Baselines 3": "stable-baselines3", "RLlib": "ray",
    "MuJoCo": "mujoco", "NetworkX": "networkx", "PyTorch Geometric": "torch-geometric", "DGL": "dgl",
    "Theano": "theano", "Lasagne": "lasagne", "Ray": "ray", "statsmodels": "statsmodels", "OpenCV": "opencv-python",
    "Pillow": "pillow", "pdfplumber": "pdfplumber", "pdf2image": "pdf2image", "PySBD": "pysbd",
    "LayoutParser": "layoutparser", "PyHessian": "pyhessian", "fairseq": "fairseq", "Fairseq": "fairseq",
    "SentencePiece": "sentencepiece", "sacreBLEU": "sacrebleu", "librosa": "librosa", "torchvision": "torchvision",
    "DeepSpeed": "deepspeed", "vLLM": "vllm", "Optuna": "optuna", "CVXPY": "cvxpy", "Gurobi": "gurobipy",
    "SymPy": "sympy", "Numba": "numba", "CuPy": "cupy", "faiss": "faiss-cpu", "FAISS": "faiss-cpu", "PyMC": "pymc",
    "Pyro": "pyro-ppl", "Edward": "edward", "Captum": "captum", "SHAP": "shap", "FEniCS": "fenics", "FreeFem": "",
    "DeepXDE": "deepxde", "gcc": "", "CUDA": "", "MATLAB": "", "Matlab": "",
}  # fmt: skip


def find_packages(paper: PaperText) -> list[tuple[str, Sentence]]:
    """Lines that pip can install, of the packages that the paper says it uses, with the version where it gives one."""
    found: dict[str, tuple[str, Sentence]] = {}
    for sentence in (one for one in paper.sentences if one.role in (BUILD, SETUP, MIXED, RESULTS, OTHER)):
        for shown, package in _PACKAGES.items():
            match = shown in sentence.text and re.search(
                rf"(?<![\w/.-]){re.escape(shown)}(?![\w-])(?: (?:version )?v?([0-9]+(?:\.[0-9]+){{1,2}}))?",
                sentence.text,
            )
            if not match or not package or package in found:
                continue
            if shown in ("Transformers", "Gym", "Ray", "Edward", "Pyro") and not re.search(
                r"librar|package|framework|toolkit|Wolf|OpenAI|Brockman|implement", sentence.text
            ):
                continue
            if sentence.role == OTHER and not re.search(r"implement|code|librar", sentence.text):
                continue
            found[package] = (package, sentence)
    return list(found.values())
