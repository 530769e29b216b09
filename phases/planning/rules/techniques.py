"""Techniques that papers use under a name that the field knows: each is a part that has to be built or called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from phases.planning.rules.cues import why_not
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BUILD, MIXED, SETUP

_NAMES = """
label smoothing; beam search; greedy decoding; nucleus sampling; top-k sampling; temperature scaling; teacher forcing
scheduled sampling; byte-pair encoding; wordpiece; sentencepiece; residual connection; skip connection
layer normalization; batch normalization; group normalization; instance normalization; weight normalization
spectral normalization; gradient clipping; weight decay; early stopping; learning rate warmup; cosine annealing
exponential moving average; checkpoint averaging; stochastic weight averaging; data augmentation; mixup; cutout
random cropping; random crop; horizontal flip; color jitter; knowledge distillation; self-distillation; curriculum learning
contrastive learning; contrastive loss; triplet loss; hinge loss; margin loss; focal loss; cross-entropy loss
cross entropy loss; mean squared error loss; reconstruction loss; adversarial loss; perceptual loss; cycle consistency loss
KL divergence; KL regularization; evidence lower bound; reparameterization trick; Gumbel-softmax; straight-through estimator
adversarial training; gradient penalty; gradient checkpointing; gradient accumulation; mixed precision training
multi-head attention; self-attention; cross-attention; causal masking; attention masking; positional encoding
positional embedding; rotary embedding; feed-forward network; multilayer perceptron; convolutional block; max pooling
average pooling; global average pooling; dropout; stochastic depth; squeeze-and-excitation; embedding layer
variational autoencoder; autoencoder; generative adversarial network; diffusion model; normalizing flow
graph neural network; message passing; graph convolution; recurrent neural network; LSTM; GRU; bidirectional LSTM
conditional random field; hidden Markov model; Gaussian mixture model; Gaussian process; Kalman filter; particle filter
Markov chain Monte Carlo; Gibbs sampling; Metropolis-Hastings; importance sampling; rejection sampling; Thompson sampling
Hamiltonian Monte Carlo; variational inference; expectation maximization; expectation propagation; belief propagation
logistic regression; linear regression; ridge regression; lasso; support vector machine; one-class SVM; random forest
decision tree; gradient boosting; isolation forest; naive Bayes; k-nearest neighbor; nearest neighbor search; k-means
hierarchical clustering; spectral clustering; principal component analysis; singular value decomposition
t-SNE; UMAP; linear discriminant analysis; maximum entropy classifier; majority vote; majority voting; bootstrapping
cross-validation; grid search; random search; Bayesian optimization; simulated annealing; genetic algorithm
evolution strategies; stochastic gradient descent; natural gradient; conjugate gradient; Newton's method; L-BFGS
line search; trust region; proximal gradient; mirror descent; power iteration; Lanczos; Nyström approximation
Woodbury identity; Woodbury matrix identity; Cholesky decomposition; QR decomposition; automatic differentiation
Hessian-vector product; finite differences; Runge-Kutta; Monte Carlo tree search; policy gradient; actor-critic; Q-learning
temporal difference learning; experience replay; replay buffer; target network; epsilon-greedy; reward shaping
imitation learning; behavior cloning; inverse reinforcement learning; generalized advantage estimation
chain-of-thought prompting; in-context learning; few-shot prompting; instruction tuning; prompt tuning; prefix tuning
low-rank adaptation; retrieval augmentation; negative sampling; hard negative mining; masked language modeling
part-of-speech tagging; POS tagging; named entity recognition; dependency parsing; word alignment; tokenization
stemming; lemmatization; stop word removal; term weighting; tf-idf; n-gram language model; edit distance; cosine similarity
non-maximum suppression; region proposal network; optical flow; image pyramid; histogram equalization
write-ahead log; write-ahead logging; log-structured merge tree; two-phase commit; two-phase locking; leader election
failure detector; consistent hashing; bloom filter; skip list; hash table; linear hashing; B-tree; red-black tree
free list; memory pool; garbage collection; reference counting; copy-on-write; compare-and-swap; spinlock; read-write lock
thread pool; work stealing; load balancing; replication protocol; state transfer; heartbeat; lease; snapshot; checkpointing
vector clock; Lamport clock; quorum; batching; pipelining; prefetching; LRU queue; least recently used; page table
huffman coding; arithmetic coding; run-length encoding; delta encoding; quantization; entropy coding; error correction
public-key encryption; digital signature; message authentication code; Diffie-Hellman key exchange; access control
"""
_KNOWN = [name.strip() for name in re.split(r"[;\n]", _NAMES) if name.strip()]


def _spelled(name: str) -> str:
    """A name in any spelling: with blanks or hyphens, and in the plural."""
    return re.escape(name).replace(r"\ ", "[- ]").replace(r"\-", "[- ]?").replace("iz", "i[sz]")


_TECHNIQUE = re.compile(
    rf"(?<![\w-])({'|'.join(map(_spelled, sorted(_KNOWN, key=len, reverse=True)))})(?:e?s)?(?![\w-])", re.IGNORECASE
)
_USED = re.compile(
    r"\b(?:use[sd]?|using|appl(?:y|ied|ies|ying)|employ\w*|with|via|by|through|perform\w*|train\w*|implement\w*|adopt\w*|add\w*"
    r"|optimi[sz]e\w*|minimi[sz]e\w*) (?:[\w-]+ ){0,3}$",
    re.IGNORECASE,
)
"""Before what is used."""
_NOT_SAID = ("related", "motivation", "discussion", "rejected approach", "of authors")


def is_technique(name: str) -> bool:
    """Whether a name is that of a technique which others can use as well."""
    return bool(_TECHNIQUE.fullmatch(name))


def find_techniques(paper: PaperText) -> Iterator[tuple[str, Sentence]]:
    """The known techniques that sections of what is built or set up speak of."""
    counts: Counter[str] = Counter()
    used: Counter[str] = Counter()
    first: dict[str, tuple[str, Sentence]] = {}
    for sentence in paper.sentences:
        if sentence.role not in (BUILD, SETUP, MIXED) or why_not(sentence.text) in _NOT_SAID:
            continue
        for match in _TECHNIQUE.finditer(sentence.text):
            key = re.sub(r"[- ]", "", match.group(1).lower())
            counts[key] += 1
            used[key] += bool(_USED.search(sentence.text[: match.start()])) or match.start() == 0
            first.setdefault(key, (match.group(1), sentence))
    for key, count in counts.most_common():
        if count > 1 or used[key]:
            yield first[key]
