"""Honest implementations in many kinds of projects."""

from case import Case, requirement, text

CASES: list[Case] = [
    Case(
        name="softmax_and_cross_entropy",
        kind="plain functions with unittest",
        requirements=[
            requirement(
                "R1", "equation", ("Softmax: exp(x_i) / sum_j exp(x_j), computed after subtracting the largest x.")
            ),
            requirement("R2", "equation", "Cross-entropy of the true class: -log p_label."),
            requirement("R3", "equation", "Accuracy: the share of samples whose most probable class is the label."),
        ],
        files={
            "losses.py": text(
                '''
                import math


                def softmax(x: list[float]) -> list[float]:
                    """R1"""
                    top = max(x)
                    exponentials = [math.exp(a - top) for a in x]
                    total = sum(exponentials)
                    return [e / total for e in exponentials]


                def cross_entropy(p: list[float], label: int) -> float:
                    """R2"""
                    return -math.log(p[label])


                def accuracy(probabilities: list[list[float]], labels: list[int]) -> float:
                    """R3"""
                    hits = sum(p.index(max(p)) == label for p, label in zip(probabilities, labels, strict=True))
                    return hits / len(labels)
            '''
            ),
            "test_losses.py": text(
                """
                import math
                import unittest

                from losses import accuracy, cross_entropy, softmax


                class TestLosses(unittest.TestCase):
                    def test_r1_softmax(self) -> None:
                        first, second = softmax([0.0, math.log(3.0)])
                        self.assertAlmostEqual(first, 0.25)
                        self.assertAlmostEqual(second, 0.75)

                    def test_r1_softmax_of_large_numbers(self) -> None:
                        self.assertEqual(softmax([1000.0, 1000.0]), [0.5, 0.5])

                    def test_r2_cross_entropy(self) -> None:
                        self.assertAlmostEqual(cross_entropy([0.25, 0.75], 0), math.log(4.0))

                    def test_r3_accuracy(self) -> None:
                        self.assertEqual(accuracy([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]], [0, 1, 1, 0]), 0.75)
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_losses.py": text(
                """
                import unittest

                from losses import softmax


                class TestUserLosses(unittest.TestCase):
                    def test_sum(self) -> None:
                        self.assertAlmostEqual(sum(softmax([1.0, 2.0, 3.0])), 1.0)
            """
            ),
        },
    ),
    Case(
        name="edit_distance_and_error_rate",
        kind="plain functions with unittest",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                (
                    "Edit distance of two word lists: the fewest insertions, deletions and substitutions, by "
                    "dynamic programming."
                ),
            ),
            requirement(
                "R2", "equation", ("Word error rate: the edit distance over the number of words of the reference.")
            ),
        ],
        files={
            "wer.py": text(
                """
                def edit_distance(a: list[str], b: list[str]) -> int:
                    row = list(range(len(b) + 1))
                    for i, x in enumerate(a, start=1):
                        previous, row[0] = row[0], i
                        for j, y in enumerate(b, start=1):
                            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
                    return row[-1]


                def word_error_rate(hypothesis: str, reference: str) -> float:
                    words = reference.split()
                    return edit_distance(hypothesis.split(), words) / len(words)
            """
            ),
            "tests/test_wer.py": text(
                '''
                """Word error rate: R1 (edit distance) and R2 (the rate)."""

                import unittest

                from wer import edit_distance, word_error_rate


                class TestEditDistance(unittest.TestCase):
                    """R1"""

                    def test_letters(self) -> None:
                        self.assertEqual(edit_distance(list("kitten"), list("sitting")), 3)

                    def test_nothing_on_one_side(self) -> None:
                        self.assertEqual(edit_distance([], ["a", "b"]), 2)
                        self.assertEqual(edit_distance(["a", "b"], []), 2)


                class TestRate(unittest.TestCase):
                    """R2"""

                    def test_one_word_of_four_is_wrong(self) -> None:
                        self.assertEqual(word_error_rate("the cat sat up", "the cat sat down"), 0.25)

                    def test_more_errors_than_words(self) -> None:
                        self.assertEqual(word_error_rate("a b c", "d"), 3.0)
            '''
            ),
        },
        verify="python -m unittest discover -s tests",
    ),
    Case(
        name="running_statistics",
        kind="plain functions with unittest",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                (
                    "Welford's running mean and variance: update the count, the mean and the sum of squared "
                    "deviations per value."
                ),
            ),
            requirement("R2", "equation", "Standard error: sqrt(sample variance / n)."),
            requirement("R3", "equation", "95% interval: the mean plus and minus 1.96 standard errors."),
        ],
        files={
            "stats.py": text(
                '''
                import math

                State = tuple[int, float, float]


                def update(state: State, value: float) -> State:
                    """Welford's update (R1)."""
                    n, mean, squares = state
                    n += 1
                    delta = value - mean
                    mean += delta / n
                    return n, mean, squares + delta * (value - mean)


                def standard_error(state: State) -> float:
                    """Standard error of the mean (R2)."""
                    n, _, squares = state
                    return math.sqrt(squares / (n - 1) / n)


                def interval(state: State) -> tuple[float, float]:
                    """95% interval (R3)."""
                    half = 1.96 * standard_error(state)
                    return state[1] - half, state[1] + half
            '''
            ),
            "test_stats.py": text(
                """
                import statistics
                import unittest
                from functools import reduce

                from stats import interval, standard_error, update

                VALUES = [2.0, 4.0, 4.0, 5.0, 10.0]


                class TestStats(unittest.TestCase):
                    def setUp(self) -> None:
                        self.state = reduce(update, VALUES, (0, 0.0, 0.0))

                    def test_against_the_standard_library(self) -> None:
                        # R1: the same as two passes over all values
                        n, mean, squares = self.state
                        self.assertEqual(n, 5)
                        self.assertAlmostEqual(mean, statistics.mean(VALUES))
                        self.assertAlmostEqual(squares / (n - 1), statistics.variance(VALUES))

                    def test_error(self) -> None:
                        # R2
                        self.assertAlmostEqual(standard_error(self.state), statistics.stdev(VALUES) / 5**0.5)

                    def test_interval(self) -> None:
                        # R3
                        low, high = interval((4, 10.0, 12.0))
                        self.assertAlmostEqual(low, 8.04)
                        self.assertAlmostEqual(high, 11.96)
            """
            ),
        },
        verify="python -m unittest test_stats -v",
    ),
    Case(
        name="retrieval_metrics",
        kind="plain functions with unittest",
        requirements=[
            requirement("R1", "equation", "Precision at k: the share of relevant documents among the first k."),
            requirement(
                "R2", "equation", ("Reciprocal rank: 1 / the rank of the first relevant document, 0 without one.")
            ),
            requirement("R3", "equation", "Discounted gain at k: the sum of gain_i / log2(i + 1), i from 1."),
        ],
        files={
            "metrics.py": text(
                """
                import math


                def precision_at(k: int, ranked: list[str], relevant: set[str]) -> float:
                    return sum(document in relevant for document in ranked[:k]) / k


                def reciprocal_rank(ranked: list[str], relevant: set[str]) -> float:
                    for rank, document in enumerate(ranked, start=1):
                        if document in relevant:
                            return 1 / rank
                    return 0.0


                def discounted_gain(k: int, gains: list[float]) -> float:
                    return sum(gain / math.log2(i + 1) for i, gain in enumerate(gains[:k], start=1))
            """
            ),
            "tests/__init__.py": "",
            "tests/test_metrics.py": text(
                '''
                import unittest

                from metrics import discounted_gain, precision_at, reciprocal_rank


                class TestRetrieval(unittest.TestCase):
                    """Requirements R1-R3."""

                    def test_precision(self) -> None:
                        self.assertEqual(precision_at(4, list("abcde"), {"a", "d", "e"}), 0.5)
                        self.assertEqual(precision_at(2, list("abcde"), {"e"}), 0.0)

                    def test_reciprocal_rank(self) -> None:
                        self.assertEqual(reciprocal_rank(list("abcd"), {"d", "b"}), 0.5)
                        self.assertEqual(reciprocal_rank(list("abcd"), {"z"}), 0.0)

                    def test_discounted_gain(self) -> None:
                        self.assertAlmostEqual(discounted_gain(2, [3.0, 2.0, 9.0]), 3.0 + 2.0 / 1.5849625)
            '''
            ),
            "Makefile": text(
                """
                .PHONY: test
                test:
                \tpython -m unittest discover -s tests -t .
            """
            ),
        },
        verify="make test",
    ),
    Case(
        name="root_finding",
        kind="plain functions with unittest",
        requirements=[
            requirement(
                "R1", "algorithm", ("Newton's method: x = x - f(x) / f'(x) until the step is below the tolerance.")
            ),
            requirement("R2", "hyperparameter", "The tolerance is 1e-10 and there are at most 50 steps."),
            requirement("R3", "algorithm", "Bisection: halve the interval whose ends have values of different sign."),
        ],
        files={
            "roots.py": text(
                """
                from collections.abc import Callable

                Function = Callable[[float], float]
                TOLERANCE = 1e-10
                MAX_STEPS = 50


                def newton(f: Function, slope: Function, x: float) -> float:
                    for _ in range(MAX_STEPS):
                        step = f(x) / slope(x)
                        x -= step
                        if abs(step) < TOLERANCE:
                            return x
                    raise ArithmeticError("no root found")


                def bisect(f: Function, low: float, high: float) -> float:
                    while high - low > TOLERANCE:
                        middle = (low + high) / 2
                        if (f(middle) > 0) == (f(high) > 0):
                            high = middle
                        else:
                            low = middle
                    return (low + high) / 2
            """
            ),
            "test_roots.py": text(
                '''
                import unittest

                import roots


                class TestRoots(unittest.TestCase):
                    def test_newton(self) -> None:
                        """R1: the root of two, by Newton's method."""
                        root = roots.newton(lambda x: x * x - 2, lambda x: 2 * x, 1.0)
                        self.assertAlmostEqual(root, 2**0.5, places=9)

                    def test_newton_gives_up(self) -> None:
                        """R1, R2: a function without a root."""
                        steps = []
                        with self.assertRaises(ArithmeticError):
                            roots.newton(lambda x: steps.append(x) or x * x + 1, lambda x: 2 * x, 0.7)
                        self.assertEqual(len(steps), 50)

                    def test_tolerance(self) -> None:
                        """R2"""
                        self.assertEqual((roots.TOLERANCE, roots.MAX_STEPS), (1e-10, 50))

                    def test_bisect(self) -> None:
                        """R3: falling and rising functions."""
                        self.assertAlmostEqual(roots.bisect(lambda x: x**3 - 8, 0.0, 5.0), 2.0, places=8)
                        self.assertAlmostEqual(roots.bisect(lambda x: 1 - x, 0.0, 5.0), 1.0, places=8)
            '''
            ),
        },
        verify="python -m unittest",
    ),
    Case(
        name="formula_run_by_another_test",
        kind="plain functions with unittest",
        requirements=[
            requirement("R1", "equation", "Squared distance of two vectors: sum (x - y)^2."),
            requirement("R2", "equation", "Gaussian weight of a distance: exp(-d / 2), d being the squared distance."),
        ],
        files={
            "weights.py": text(
                '''
                import math


                def squared_distance(x: list[float], y: list[float]) -> float:
                    """R1"""
                    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))


                def gaussian_weight(x: list[float], y: list[float]) -> float:
                    """R2"""
                    return math.exp(-squared_distance(x, y) / 2)
            '''
            ),
            "test_weights.py": text(
                """
                import math
                import unittest

                from weights import gaussian_weight


                class TestWeights(unittest.TestCase):
                    def test_r2_gaussian_weight(self) -> None:
                        self.assertEqual(gaussian_weight([1.0, 2.0], [1.0, 2.0]), 1.0)
                        self.assertAlmostEqual(gaussian_weight([0.0, 3.0], [1.0, 2.0]), math.exp(-1))
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="learning_rate_schedule",
        kind="pytest with parametrize and fixtures",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                (
                    "Linear warm-up to the peak over the warm-up steps, then inverse square root decay: peak * "
                    "min(s / w, sqrt(w / s))."
                ),
            ),
            requirement("R2", "hyperparameter", "Peak rate 0.0007 and 4000 warm-up steps."),
        ],
        files={
            "schedule.py": text(
                '''
                PEAK = 7e-4
                WARM_UP = 4000


                def rate(step: int, peak: float = PEAK, warm_up: int = WARM_UP) -> float:
                    """R1: the rate at a step, with the constants of R2."""
                    return peak * min(step / warm_up, (warm_up / step) ** 0.5)
            '''
            ),
            "tests/test_schedule.py": text(
                """
                import pytest

                from schedule import PEAK, WARM_UP, rate


                @pytest.mark.parametrize(
                    ("step", "expected"),
                    [(1, 0.01), (50, 0.5), (100, 1.0), (400, 0.5), (10_000, 0.1)],
                )
                def test_r1_rate(step: int, expected: float) -> None:
                    assert rate(step, peak=1.0, warm_up=100) == pytest.approx(expected)


                def test_r2_defaults() -> None:
                    assert PEAK == 0.0007
                    assert WARM_UP == 4000
                    assert rate(4000) == pytest.approx(0.0007)
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "tests/test_user_schedule.py": text(
                """
                import pytest

                from schedule import rate


                def test_user_decay() -> None:
                    assert rate(16_000) == pytest.approx(0.00035)
            """
            ),
        },
    ),
    Case(
        name="activation_functions",
        kind="pytest with parametrize and fixtures",
        requirements=[
            requirement("R1", "equation", "ELU: x for x > 0, else alpha * (exp(x) - 1)."),
            requirement("R2", "equation", "Swish: x * sigmoid(x)."),
            requirement("R3", "equation", "Hard tanh: x clipped to -1 and 1."),
        ],
        files={
            "activations.py": text(
                """
                import math


                def elu(x: float, alpha: float = 1.0) -> float:
                    return x if x > 0 else alpha * (math.exp(x) - 1)


                def swish(x: float) -> float:
                    return x / (1 + math.exp(-x))


                def hard_tanh(x: float) -> float:
                    return max(-1.0, min(1.0, x))
            """
            ),
            "test_activations.py": text(
                '''
                import math

                import pytest

                from activations import elu, hard_tanh, swish

                TABLE = [
                    pytest.param(elu, 2.0, 2.0, id="R1-positive"),
                    pytest.param(elu, -1.0, math.exp(-1) - 1, id="R1-negative"),
                    pytest.param(swish, 0.0, 0.0, id="R2-zero"),
                    pytest.param(swish, 1.0, 0.7310586, id="R2-one"),
                    pytest.param(hard_tanh, 0.3, 0.3, id="R3-inside"),
                    pytest.param(hard_tanh, 3.0, 1.0, id="R3-above"),
                    pytest.param(hard_tanh, -3.0, -1.0, id="R3-below"),
                ]


                @pytest.mark.parametrize(("function", "x", "expected"), TABLE)
                def test_activation(function, x, expected) -> None:
                    assert function(x) == pytest.approx(expected)


                def test_elu_alpha() -> None:
                    """R1: alpha scales the negative side."""
                    assert elu(-1.0, alpha=2.0) == pytest.approx(2 * elu(-1.0))
            '''
            ),
        },
        verify="python -m pytest",
    ),
    Case(
        name="bleu_score",
        kind="pytest with parametrize and fixtures",
        requirements=[
            requirement(
                "R1",
                "equation",
                (
                    "Clipped n-gram precision: matched n-grams, each counted at most as often as in the "
                    "reference, over all of the candidate."
                ),
            ),
            requirement("R2", "equation", "Brevity penalty: 1 for c > r, else exp(1 - r / c)."),
            requirement(
                "R3",
                "equation",
                ("BLEU: the brevity penalty times the geometric mean of the precisions for n = 1 to 2."),
            ),
        ],
        files={
            "bleu.py": text(
                '''
                import math
                from collections import Counter


                def n_grams(words: list[str], n: int) -> Counter[tuple[str, ...]]:
                    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


                def precision(candidate: list[str], reference: list[str], n: int) -> float:
                    """R1"""
                    found = n_grams(candidate, n)
                    return sum((found & n_grams(reference, n)).values()) / sum(found.values())


                def brevity_penalty(c: int, r: int) -> float:
                    """R2"""
                    return 1.0 if c > r else math.exp(1 - r / c)


                def bleu(candidate: list[str], reference: list[str]) -> float:
                    """R3"""
                    product = math.prod(precision(candidate, reference, n) for n in (1, 2))
                    return brevity_penalty(len(candidate), len(reference)) * math.sqrt(product)
            '''
            ),
            "tests/conftest.py": text(
                """
                import pytest


                @pytest.fixture
                def reference() -> list[str]:
                    return "the cat is on the mat".split()
            """
            ),
            "tests/test_bleu.py": text(
                '''
                import math

                import pytest

                from bleu import bleu, brevity_penalty, precision


                class TestPrecision:
                    """R1"""

                    def test_counts_are_clipped(self, reference: list[str]) -> None:
                        assert precision(["the"] * 7, reference, 1) == pytest.approx(2 / 7)

                    def test_pairs(self, reference: list[str]) -> None:
                        assert precision("the cat on the mat".split(), reference, 2) == 0.75


                class TestBrevity:
                    """R2"""

                    @pytest.mark.parametrize(("c", "r", "expected"), [(9, 8, 1.0), (8, 8, 1.0), (4, 8, math.exp(-1))])
                    def test_penalty(self, c: int, r: int, expected: float) -> None:
                        assert brevity_penalty(c, r) == pytest.approx(expected)


                class TestBleu:
                    """R3"""

                    def test_perfect(self, reference: list[str]) -> None:
                        assert bleu(reference, reference) == pytest.approx(1.0)

                    def test_shorter(self, reference: list[str]) -> None:
                        shorter = "the cat on the mat".split()
                        assert bleu(shorter, reference) == pytest.approx(math.exp(-0.2) * 0.75**0.5)
            '''
            ),
        },
        verify="python -m pytest -q tests",
    ),
    Case(
        name="k_means_steps",
        kind="pytest with parametrize and fixtures",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                ("Assignment: every point belongs to its nearest centre, the first of equally near ones."),
            ),
            requirement(
                "R2",
                "algorithm",
                ("Update: every centre moves to the mean of its points; a centre without points stays."),
            ),
            requirement("R3", "procedure", "Both steps are repeated until no centre moves."),
        ],
        files={
            "kmeans.py": text(
                """
                def assign(points: list[float], centres: list[float]) -> list[int]:
                    # R1
                    return [min(range(len(centres)), key=lambda c: abs(point - centres[c])) for point in points]


                def update(points: list[float], owners: list[int], centres: list[float]) -> list[float]:
                    # R2
                    moved = []
                    for c, centre in enumerate(centres):
                        mine = [point for point, owner in zip(points, owners, strict=True) if owner == c]
                        moved.append(sum(mine) / len(mine) if mine else centre)
                    return moved


                def fit(points: list[float], centres: list[float]) -> list[float]:
                    # R3
                    while (moved := update(points, assign(points, centres), centres)) != centres:
                        centres = moved
                    return centres
            """
            ),
            "test_kmeans.py": text(
                """
                import pytest

                from kmeans import assign, fit, update


                @pytest.fixture(scope="module")
                def points() -> list[float]:
                    return [1.0, 2.0, 9.0, 10.0, 11.0]


                def test_assignment(points: list[float]) -> None:  # R1
                    assert assign(points, [0.0, 8.0]) == [0, 0, 1, 1, 1]


                def test_ties_go_to_the_first() -> None:  # R1
                    assert assign([5.0], [0.0, 10.0]) == [0]


                def test_update(points: list[float]) -> None:  # R2
                    assert update(points, [0, 0, 1, 1, 1], [0.0, 8.0, 77.0]) == [1.5, 10.0, 77.0]


                def test_fit(points: list[float]) -> None:  # R3
                    assert fit(points, [1.0, 2.0]) == [1.5, 10.0]
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="viterbi_decoder",
        kind="pytest with parametrize and fixtures",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                ("Viterbi: the state path with the highest product of start, transition and emission probabilities."),
            ),
            requirement(
                "R2", "equation", ("Probability of an observation: the sum over all paths, by the forward recursion.")
            ),
        ],
        files={
            "viterbi.py": text(
                """
                from typing import NamedTuple


                class Model(NamedTuple):
                    start: list[float]
                    transition: list[list[float]]
                    emission: list[list[float]]


                def decode(model: Model, observed: list[int]) -> list[int]:
                    states = range(len(model.start))
                    best = [(model.start[s] * model.emission[s][observed[0]], [s]) for s in states]
                    for symbol in observed[1:]:
                        reached = [max((p * model.transition[path[-1]][s], path) for p, path in best) for s in states]
                        best = [(p * model.emission[s][symbol], [*path, s]) for s, (p, path) in zip(states, reached)]
                    return max(best)[1]


                def probability(model: Model, observed: list[int]) -> float:
                    states = range(len(model.start))
                    forward = [model.start[s] * model.emission[s][observed[0]] for s in states]
                    for symbol in observed[1:]:
                        reached = [sum(f * model.transition[r][s] for r, f in enumerate(forward)) for s in states]
                        forward = [reached[s] * model.emission[s][symbol] for s in states]
                    return sum(forward)
            """
            ),
            "test_viterbi.py": text(
                """
                from itertools import product

                import pytest

                from viterbi import Model, decode, probability

                OBSERVATIONS = [[0], [0, 1, 2], [2, 2, 0, 1]]


                @pytest.fixture
                def model() -> Model:
                    return Model([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])


                def path_probability(model: Model, path: tuple[int, ...], observed: list[int]) -> float:
                    p = model.start[path[0]]
                    for before, after in zip(path, path[1:]):
                        p *= model.transition[before][after]
                    for state, symbol in zip(path, observed):
                        p *= model.emission[state][symbol]
                    return p


                @pytest.mark.parametrize("observed", OBSERVATIONS)
                def test_r1_best_of_all_paths(model: Model, observed: list[int]) -> None:
                    paths = product(range(2), repeat=len(observed))
                    best = max(paths, key=lambda path: path_probability(model, path, observed))
                    assert decode(model, observed) == list(best)


                @pytest.mark.parametrize("observed", OBSERVATIONS)
                def test_r2_sum_of_all_paths(model: Model, observed: list[int]) -> None:
                    paths = product(range(2), repeat=len(observed))
                    total = sum(path_probability(model, path, observed) for path in paths)
                    assert probability(model, observed) == pytest.approx(total)
            """
            ),
        },
        verify="python -m pytest -q test_viterbi.py",
    ),
    Case(
        name="optimisers_with_a_base",
        kind="abstract base and implementations elsewhere",
        requirements=[
            requirement(
                "R1", "architecture", "Every optimiser has a step that maps weights and gradients to new weights."
            ),
            requirement("R2", "algorithm", "Gradient descent: weight - rate * gradient."),
            requirement(
                "R3", "algorithm", ("Adagrad: divide the gradient by the root of the sum of its squares plus 1e-8.")
            ),
        ],
        files={
            "optim/__init__.py": text(
                """
                from optim.adaptive import Adagrad
                from optim.base import Optimiser
                from optim.plain import Descent

                __all__ = ["Adagrad", "Descent", "Optimiser"]
            """
            ),
            "optim/base.py": text(
                '''
                from abc import ABC, abstractmethod


                class Optimiser(ABC):
                    """R1: what every optimiser can do."""

                    def __init__(self, rate: float) -> None:
                        self.rate = rate

                    def step(self, weights: list[float], gradients: list[float]) -> list[float]:
                        directions = [self.direction(place, gradient) for place, gradient in enumerate(gradients)]
                        return [w - self.rate * d for w, d in zip(weights, directions, strict=True)]

                    @abstractmethod
                    def direction(self, place: int, gradient: float) -> float:
                        """The direction of one weight."""
            '''
            ),
            "optim/plain.py": text(
                '''
                from optim.base import Optimiser


                class Descent(Optimiser):
                    """R2: gradient descent."""

                    def direction(self, place: int, gradient: float) -> float:
                        return gradient
            '''
            ),
            "optim/adaptive.py": text(
                '''
                from collections import defaultdict

                from optim.base import Optimiser


                class Adagrad(Optimiser):
                    """R3: Adagrad."""

                    def __init__(self, rate: float) -> None:
                        super().__init__(rate)
                        self.squares: defaultdict[int, float] = defaultdict(float)

                    def direction(self, place: int, gradient: float) -> float:
                        self.squares[place] += gradient**2
                        return gradient / (self.squares[place] ** 0.5 + 1e-8)
            '''
            ),
            "test_optim.py": text(
                """
                import unittest

                from optim import Adagrad, Descent, Optimiser


                class TestOptimisers(unittest.TestCase):
                    def test_r1_the_base_only_asks(self) -> None:
                        with self.assertRaises(TypeError):
                            Optimiser(0.1)
                        self.assertTrue(issubclass(Descent, Optimiser) and issubclass(Adagrad, Optimiser))

                    def test_r1_r2_descent(self) -> None:
                        weights = Descent(0.5).step([1.0, 2.0], [1.0, -2.0])
                        self.assertEqual(weights, [0.5, 3.0])

                    def test_r3_adagrad(self) -> None:
                        adagrad = Adagrad(1.0)
                        self.assertAlmostEqual(adagrad.step([0.0], [3.0])[0], -1.0)
                        self.assertAlmostEqual(adagrad.step([0.0], [4.0])[0], -0.8)
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="layers_of_a_network",
        kind="abstract base and implementations elsewhere",
        requirements=[
            requirement("R1", "architecture", "A linear layer: W x + b."),
            requirement("R2", "architecture", "A network runs its layers one after another."),
            requirement("R3", "equation", "ReLU: max(0, x)."),
            requirement("R4", "hyperparameter", "The hidden layer has 3 units."),
        ],
        files={
            "layers.py": text(
                '''
                from typing import Protocol

                Vector = list[float]


                class Layer(Protocol):
                    def forward(self, x: Vector) -> Vector: ...


                class Linear:
                    """R1: a linear layer."""

                    def __init__(self, weights: list[Vector], bias: Vector) -> None:
                        self.weights = weights
                        self.bias = bias

                    def forward(self, x: Vector) -> Vector:
                        rows = zip(self.weights, self.bias, strict=True)
                        return [sum(w * a for w, a in zip(row, x, strict=True)) + b for row, b in rows]


                class ReLU:
                    """R3: the activation."""

                    def forward(self, x: Vector) -> Vector:
                        return [max(0.0, a) for a in x]
            '''
            ),
            "network.py": text(
                '''
                from layers import Layer, Linear, ReLU, Vector

                HIDDEN = 3  # R4


                class Network:
                    """R2: layers in a row."""

                    def __init__(self, *layers: Layer) -> None:
                        self.layers = layers

                    def forward(self, x: Vector) -> Vector:
                        for layer in self.layers:
                            x = layer.forward(x)
                        return x


                def build(inputs: int) -> Network:
                    hidden = Linear([[1.0] * inputs for _ in range(HIDDEN)], [0.0] * HIDDEN)
                    return Network(hidden, ReLU(), Linear([[1.0] * HIDDEN], [0.5]))
            '''
            ),
            "test_network.py": text(
                """
                from layers import Linear, ReLU
                from network import Network, build


                def test_r1_linear() -> None:
                    assert Linear([[1.0, 2.0], [0.0, -1.0]], [0.5, 0.0]).forward([3.0, 4.0]) == [11.5, -4.0]


                def test_r2_order_of_layers() -> None:
                    negate = Linear([[-1.0]], [0.0])
                    assert Network(negate, ReLU()).forward([2.0]) == [0.0]
                    assert Network(ReLU(), negate).forward([2.0]) == [-2.0]


                def test_r3_relu() -> None:
                    assert ReLU().forward([-1.0, 0.0, 2.0]) == [0.0, 0.0, 2.0]


                def test_r4_hidden_units() -> None:
                    assert len(build(2).layers[0].weights) == 3
                    assert build(2).forward([1.0, 1.0]) == [6.5]
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="kernels_with_a_registry",
        kind="abstract base and implementations elsewhere",
        requirements=[
            requirement("R1", "equation", "Radial kernel: exp(-gamma * |x - y|^2)."),
            requirement("R2", "equation", "Polynomial kernel: (x . y + c)^degree."),
            requirement("R3", "procedure", "Kernels are chosen by name."),
        ],
        files={
            "kernels/__init__.py": text(
                """
                from kernels import polynomial, radial  # noqa: F401
                from kernels.base import Kernel, make

                __all__ = ["Kernel", "make"]
            """
            ),
            "kernels/base.py": text(
                '''
                from abc import ABC, abstractmethod
                from typing import ClassVar

                Vector = list[float]


                class Kernel(ABC):
                    registry: ClassVar[dict[str, type["Kernel"]]] = {}

                    def __init_subclass__(cls, name: str) -> None:
                        Kernel.registry[name] = cls

                    @abstractmethod
                    def __call__(self, x: Vector, y: Vector) -> float: ...


                def make(name: str, **options: float) -> Kernel:
                    """R3: a kernel by its name."""
                    return Kernel.registry[name](**options)
            '''
            ),
            "kernels/radial.py": text(
                '''
                import math

                from kernels.base import Kernel, Vector


                class Radial(Kernel, name="radial"):
                    """R1"""

                    def __init__(self, gamma: float = 1.0) -> None:
                        self.gamma = gamma

                    def __call__(self, x: Vector, y: Vector) -> float:
                        return math.exp(-self.gamma * sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
            '''
            ),
            "kernels/polynomial.py": text(
                '''
                from kernels.base import Kernel, Vector


                class Polynomial(Kernel, name="polynomial"):
                    """R2"""

                    def __init__(self, degree: float = 2, c: float = 1.0) -> None:
                        self.degree = degree
                        self.c = c

                    def __call__(self, x: Vector, y: Vector) -> float:
                        return (sum(a * b for a, b in zip(x, y, strict=True)) + self.c) ** self.degree
            '''
            ),
            "test_kernels.py": text(
                """
                import pytest

                from kernels import Kernel, make


                @pytest.mark.parametrize(("gamma", "expected"), [(0.0, 1.0), (0.5, 0.36787944), (1.0, 0.13533528)])
                def test_r1_radial(gamma: float, expected: float) -> None:
                    assert make("radial", gamma=gamma)([1.0, 0.0], [0.0, 1.0]) == pytest.approx(expected)


                def test_r2_polynomial() -> None:
                    assert make("polynomial")([1.0, 2.0], [3.0, 4.0]) == 144.0
                    assert make("polynomial", degree=1, c=0.0)([1.0, 2.0], [3.0, 4.0]) == 11.0


                def test_r3_names() -> None:
                    assert sorted(Kernel.registry) == ["polynomial", "radial"]
                    with pytest.raises(KeyError):
                        make("unknown")
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="tokenisers_with_a_mixin",
        kind="abstract base and implementations elsewhere",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                ("Word tokens: the text in lower case, split at everything that is not a letter or digit."),
            ),
            requirement(
                "R2", "algorithm", ("Letter n-grams: all runs of n letters of the text padded by # on both sides.")
            ),
            requirement("R3", "procedure", "Encoding gives every token its number in order of first appearance."),
        ],
        files={
            "tokenisers/__init__.py": "",
            "tokenisers/base.py": text(
                '''
                from abc import ABC, abstractmethod


                class Numbering:
                    """Gives tokens their numbers (R3)."""

                    def __init__(self) -> None:
                        self.numbers: dict[str, int] = {}

                    def number(self, token: str) -> int:
                        return self.numbers.setdefault(token, len(self.numbers))


                class Tokeniser(Numbering, ABC):
                    @abstractmethod
                    def tokens(self, text: str) -> list[str]:
                        raise NotImplementedError

                    def encode(self, text: str) -> list[int]:
                        return [self.number(token) for token in self.tokens(text)]
            '''
            ),
            "tokenisers/words.py": text(
                '''
                import re

                from tokenisers.base import Tokeniser


                class Words(Tokeniser):
                    """R1"""

                    def tokens(self, text: str) -> list[str]:
                        return re.findall(r"[a-z0-9]+", text.lower())
            '''
            ),
            "tokenisers/letters.py": text(
                '''
                from tokenisers.base import Tokeniser


                class Letters(Tokeniser):
                    """R2"""

                    def __init__(self, n: int) -> None:
                        super().__init__()
                        self.n = n

                    def tokens(self, text: str) -> list[str]:
                        padded = f"#{text}#"
                        return [padded[i : i + self.n] for i in range(len(padded) - self.n + 1)]
            '''
            ),
            "tests/__init__.py": "",
            "tests/test_tokenisers.py": text(
                """
                import unittest

                from tokenisers.letters import Letters
                from tokenisers.words import Words


                class TestWordsR1(unittest.TestCase):
                    def test_words(self) -> None:
                        self.assertEqual(Words().tokens("Don't stop, No. 5!"), ["don", "t", "stop", "no", "5"])


                class TestLettersR2(unittest.TestCase):
                    def test_pairs(self) -> None:
                        self.assertEqual(Letters(2).tokens("abc"), ["#a", "ab", "bc", "c#"])


                class TestNumbersR3(unittest.TestCase):
                    def test_numbers_last_over_texts(self) -> None:
                        words = Words()
                        self.assertEqual(words.encode("a b a"), [0, 1, 0])
                        self.assertEqual(words.encode("c b"), [2, 1])
            """
            ),
        },
        verify="python -m unittest tests.test_tokenisers",
    ),
    Case(
        name="values_in_json",
        kind="values in configuration",
        requirements=[
            requirement("R1", "hyperparameter", "Batch size 32."),
            requirement("R2", "hyperparameter", "Dropout 0.1 in the encoder and 0.3 in the decoder."),
            requirement(
                "R3",
                "procedure",
                ("The number of steps of an epoch is the number of samples over the batch size, rounded up."),
            ),
        ],
        files={
            "config/train.json": text(
                """
                {
                  "batch_size": 32,
                  "dropout": {"encoder": 0.1, "decoder": 0.3}
                }
            """
            ),
            "settings.py": text(
                '''
                import json
                import math
                from pathlib import Path
                from typing import Any

                PATH = Path(__file__).parent / "config" / "train.json"


                def load() -> dict[str, Any]:
                    """R1, R2: the values of the paper."""
                    return json.loads(PATH.read_text(encoding="utf-8"))


                def steps(samples: int) -> int:
                    """R3: the steps of an epoch."""
                    return math.ceil(samples / load()["batch_size"])
            '''
            ),
            "test_settings.py": text(
                """
                import pytest

                from settings import load, steps


                @pytest.fixture
                def config() -> dict:
                    return load()


                def test_r1_batch_size(config: dict) -> None:
                    assert config["batch_size"] == 32


                def test_r2_dropout(config: dict) -> None:
                    assert config["dropout"] == {"encoder": 0.1, "decoder": 0.3}


                @pytest.mark.parametrize(("samples", "expected"), [(0, 0), (1, 1), (32, 1), (33, 2), (320, 10)])
                def test_r3_steps(samples: int, expected: int) -> None:
                    assert steps(samples) == expected
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="values_in_toml",
        kind="values in configuration",
        requirements=[
            requirement("R1", "hyperparameter", "Learning rate 2e-5 with weight decay 0.01."),
            requirement("R2", "hyperparameter", "12 layers of 768 units with 12 heads."),
            requirement("R3", "equation", "A head has units / heads dimensions."),
        ],
        files={
            "model.toml": text(
                """
                [training]  # R1
                learning_rate = 2e-5
                weight_decay = 0.01

                [model]  # R2
                layers = 12
                units = 768
                heads = 12
            """
            ),
            "model.py": text(
                '''
                import tomllib
                from dataclasses import dataclass
                from pathlib import Path


                @dataclass(frozen=True)
                class Shape:
                    layers: int
                    units: int
                    heads: int

                    @property
                    def head_size(self) -> int:
                        """R3"""
                        return self.units // self.heads


                def read(section: str) -> dict[str, float]:
                    with (Path(__file__).parent / "model.toml").open("rb") as file:
                        return tomllib.load(file)[section]


                def shape() -> Shape:
                    return Shape(**read("model"))
            '''
            ),
            "test_model.py": text(
                '''
                import unittest

                from model import Shape, read, shape


                class TestModel(unittest.TestCase):
                    """Values of the paper: R1, R2; and R3."""

                    def test_r1_training(self) -> None:
                        self.assertEqual(read("training"), {"learning_rate": 0.00002, "weight_decay": 0.01})

                    def test_r2_shape(self) -> None:
                        self.assertEqual(shape(), Shape(layers=12, units=768, heads=12))

                    def test_r3_head_size(self) -> None:
                        self.assertEqual(shape().head_size, 64)
                        self.assertEqual(Shape(1, 10, 5).head_size, 2)
            '''
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="values_in_ini_and_yaml",
        kind="values in configuration",
        requirements=[
            requirement("R1", "hyperparameter", "Temperature 0.7 and top-p 0.9 for sampling."),
            requirement("R2", "hyperparameter", "Training runs 40 epochs with patience 5."),
            requirement("R3", "procedure", "Training stops when the loss has not fallen for `patience` epochs."),
        ],
        files={
            "sampling.ini": text(
                """
                ; R1
                [sampling]
                temperature = 0.7
                top_p = 0.9
            """
            ),
            "training.yaml": text(
                """
                # R2
                epochs: 40
                patience: 5
            """
            ),
            "values.py": text(
                '''
                import configparser
                from pathlib import Path

                HERE = Path(__file__).parent


                def sampling() -> dict[str, float]:
                    parser = configparser.ConfigParser()
                    parser.read(HERE / "sampling.ini", encoding="utf-8")
                    return {key: float(value) for key, value in parser["sampling"].items()}


                def training() -> dict[str, int]:
                    """The flat YAML file of the training, without a library."""
                    lines = (HERE / "training.yaml").read_text(encoding="utf-8").splitlines()
                    pairs = [line.split(":") for line in lines if line and not line.startswith("#")]
                    return {key.strip(): int(value) for key, value in pairs}


                def epochs_run(losses: list[float]) -> int:
                    """R3: how many epochs run with these losses."""
                    best, since = float("inf"), 0
                    for epoch, loss in enumerate(losses[: training()["epochs"]], start=1):
                        best, since = (loss, 0) if loss < best else (best, since + 1)
                        if since == training()["patience"]:
                            return epoch
                    return min(len(losses), training()["epochs"])
            '''
            ),
            "test_values.py": text(
                '''
                from values import epochs_run, sampling, training


                def test_sampling_values() -> None:
                    """R1"""
                    assert sampling() == {"temperature": 0.7, "top_p": 0.9}


                def test_training_values() -> None:
                    """R2"""
                    assert training() == {"epochs": 40, "patience": 5}


                def test_stops_early() -> None:
                    """R3 with the patience of R2"""
                    assert epochs_run([3.0, 2.0, 2.0, 2.5, 2.0, 2.0, 2.0, 1.0]) == 7


                def test_runs_to_the_end() -> None:
                    """R3 with the epochs of R2"""
                    assert epochs_run([float(-n) for n in range(100)]) == 40
                    assert epochs_run([2.0, 1.0]) == 2
            '''
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="values_as_argparse_defaults",
        kind="values in configuration",
        requirements=[
            requirement("R1", "hyperparameter", "20 epochs by default."),
            requirement("R2", "hyperparameter", "Momentum 0.9 by default."),
            requirement("R3", "hyperparameter", "The optimiser is sgd or adam, sgd by default."),
        ],
        files={
            "options.py": text(
                """
                import argparse


                def parser() -> argparse.ArgumentParser:
                    result = argparse.ArgumentParser(prog="train")
                    result.add_argument("--epochs", type=int, default=20)  # R1
                    result.add_argument("--momentum", type=float, default=0.9)  # R2
                    result.add_argument("--optimiser", choices=("sgd", "adam"), default="sgd")  # R3
                    return result
            """
            ),
            "test_options.py": text(
                """
                import pytest

                from options import parser


                @pytest.fixture
                def defaults():
                    return parser().parse_args([])


                def test_r1_epochs(defaults) -> None:
                    assert defaults.epochs == 20
                    assert parser().parse_args(["--epochs", "3"]).epochs == 3


                def test_r2_momentum(defaults) -> None:
                    assert defaults.momentum == 0.9


                def test_r3_optimiser(defaults) -> None:
                    assert defaults.optimiser == "sgd"
                    assert parser().parse_args(["--optimiser", "adam"]).optimiser == "adam"
                    with pytest.raises(SystemExit):
                        parser().parse_args(["--optimiser", "other"])
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="values_in_dicts_and_classes",
        kind="values in configuration",
        requirements=[
            requirement("R1", "hyperparameter", "The small model has 4 layers, the large one 24."),
            requirement("R2", "hyperparameter", "Gradients are clipped at 1.0."),
            requirement(
                "R3", "hyperparameter", "The vocabulary has 32000 entries, 3 of them special: pad, bos and eos."
            ),
            requirement("R4", "equation", "Embedding parameters: vocabulary times width."),
        ],
        files={
            "sizes.py": text(
                """
                from enum import IntEnum

                LAYERS = {
                    "small": 4,
                    "large": 24,
                }


                class Training:
                    clip = 1.0
                    vocabulary = 32_000


                class Special(IntEnum):
                    PAD = 0
                    BOS = 1
                    EOS = 2


                def embedding_parameters(width: int) -> int:
                    return Training.vocabulary * width
            """
            ),
            "tests/test_sizes.py": text(
                '''
                import unittest

                from sizes import LAYERS, Special, Training, embedding_parameters


                class TestSizes(unittest.TestCase):
                    """Covers R1, R2, R3 and R4."""

                    def test_layers(self) -> None:
                        self.assertEqual(LAYERS["small"], 4)
                        self.assertEqual(LAYERS["large"], 24)

                    def test_clip(self) -> None:
                        self.assertEqual(Training.clip, 1.0)

                    def test_vocabulary(self) -> None:
                        self.assertEqual(Training.vocabulary, 32000)
                        self.assertEqual([special.name for special in Special], ["PAD", "BOS", "EOS"])

                    def test_embedding(self) -> None:
                        self.assertEqual(embedding_parameters(2), 64000)
            '''
            ),
        },
        verify="python -m unittest discover -s tests",
    ),
    Case(
        name="word_count_cli",
        kind="command line tested by subprocess",
        requirements=[
            requirement(
                "R1",
                "procedure",
                (
                    "`count.py FILE` prints the words of a text with their counts, most frequent first, equal "
                    "ones by the alphabet."
                ),
            ),
            requirement("R2", "hyperparameter", "At most 3 words are printed unless --top says otherwise."),
            requirement(
                "R3", "procedure", ("A file that is not there ends with exit code 2 and a message on the error output.")
            ),
        ],
        files={
            "count.py": text(
                '''
                import argparse
                import sys
                from collections import Counter
                from pathlib import Path


                def ranked(text: str) -> list[tuple[str, int]]:
                    """R1: the words with their counts."""
                    return sorted(Counter(text.lower().split()).items(), key=lambda pair: (-pair[1], pair[0]))


                def main() -> int:
                    parser = argparse.ArgumentParser()
                    parser.add_argument("file", type=Path)
                    parser.add_argument("--top", type=int, default=3)
                    options = parser.parse_args()
                    if not options.file.exists():
                        print(f"no such file: {options.file}", file=sys.stderr)
                        return 2
                    for word, count in ranked(options.file.read_text(encoding="utf-8"))[: options.top]:
                        print(word, count)
                    return 0


                if __name__ == "__main__":
                    sys.exit(main())
            '''
            ),
            "test_count.py": text(
                """
                import subprocess
                import sys
                from pathlib import Path

                import pytest

                PROGRAM = Path(__file__).parent / "count.py"


                def run(*arguments: str) -> subprocess.CompletedProcess[str]:
                    return subprocess.run([sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True)


                @pytest.fixture
                def story(tmp_path: Path) -> str:
                    path = tmp_path / "story.txt"
                    path.write_text("b a c b d The the e b", encoding="utf-8")
                    return str(path)


                def test_r1_order(story: str) -> None:
                    done = run(story, "--top", "10")
                    assert done.stdout.splitlines() == ["b 3", "the 2", "a 1", "c 1", "d 1", "e 1"]
                    assert done.returncode == 0


                def test_r2_three_words(story: str) -> None:
                    assert len(run(story).stdout.splitlines()) == 3
                    assert len(run(story, "--top", "1").stdout.splitlines()) == 1


                def test_r3_no_such_file() -> None:
                    done = run("nowhere.txt")
                    assert done.returncode == 2
                    assert done.stderr == "no such file: nowhere.txt" + chr(10)
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="standardise_cli",
        kind="command line tested by subprocess",
        requirements=[
            requirement(
                "R1",
                "procedure",
                (
                    "Reads numbers from the standard input, one a line, and prints them standardised with "
                    "three decimals."
                ),
            ),
            requirement(
                "R2", "equation", ("Standardised: (x - mean) / population standard deviation; 0 where all are equal.")
            ),
        ],
        files={
            "standardise/__init__.py": "",
            "standardise/__main__.py": text(
                """
                import sys

                from standardise.core import standardise

                for value in standardise([float(line) for line in sys.stdin]):
                    print(f"{value:.3f}")
            """
            ),
            "standardise/core.py": text(
                '''
                import statistics


                def standardise(values: list[float]) -> list[float]:
                    """R2"""
                    mean = statistics.fmean(values)
                    deviation = statistics.pstdev(values)
                    return [(v - mean) / deviation if deviation else 0.0 for v in values]
            '''
            ),
            "test_standardise.py": text(
                '''
                import subprocess
                import sys
                import unittest

                from standardise.core import standardise


                class TestProgram(unittest.TestCase):
                    """R1: the program as a user runs it."""

                    def run_with(self, *lines: str) -> list[str]:
                        command = [sys.executable, "-m", "standardise"]
                        text = chr(10).join(lines)
                        return subprocess.check_output(command, input=text, text=True).splitlines()

                    def test_two_numbers(self) -> None:
                        self.assertEqual(self.run_with("1", "3"), ["-1.000", "1.000"])

                    def test_equal_numbers(self) -> None:
                        self.assertEqual(self.run_with("4", "4", "4"), ["0.000"] * 3)


                class TestFunction(unittest.TestCase):
                    """R2: the formula."""

                    def test_values(self) -> None:
                        self.assertEqual(standardise([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])[0], -1.5)

                    def test_equal(self) -> None:
                        self.assertEqual(standardise([1.0, 1.0]), [0.0, 0.0])
            '''
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="seeded_split_cli",
        kind="command line tested by subprocess",
        requirements=[
            requirement(
                "R1",
                "procedure",
                (
                    "`split N --seed S` prints the numbers of the training samples: four fifths of N, drawn at "
                    "random, sorted."
                ),
            ),
            requirement("R2", "procedure", "The same seed gives the same split, another seed another one."),
            requirement("R3", "hyperparameter", "The seed is 1234 by default."),
        ],
        files={
            "split.py": text(
                '''
                """A seeded split of N samples (R1, R2)."""

                import argparse
                import json
                import random

                SEED = 1234  # R3


                def draw(n: int, seed: int) -> list[int]:
                    return sorted(random.Random(seed).sample(range(n), n * 4 // 5))


                def main(arguments: list[str] | None = None) -> None:
                    parser = argparse.ArgumentParser()
                    parser.add_argument("n", type=int)
                    parser.add_argument("--seed", type=int, default=SEED)
                    options = parser.parse_args(arguments)
                    print(json.dumps(draw(options.n, options.seed)))


                if __name__ == "__main__":
                    main()
            '''
            ),
            "tests/test_split.py": text(
                """
                import json
                import subprocess
                import sys

                import pytest

                import split


                def run(*arguments: str) -> list[int]:
                    return json.loads(subprocess.check_output([sys.executable, "split.py", *arguments]))


                def test_r1_four_fifths() -> None:
                    numbers = run("50", "--seed", "1")
                    assert len(numbers) == 40
                    assert numbers == sorted(set(numbers))
                    assert set(numbers) < set(range(50))


                def test_r2_seeds() -> None:
                    assert run("50", "--seed", "1") == run("50", "--seed", "1")
                    assert run("50", "--seed", "1") != run("50", "--seed", "2")


                def test_r3_default_seed(capsys: pytest.CaptureFixture[str]) -> None:
                    assert split.SEED == 1234
                    split.main(["30"])
                    assert json.loads(capsys.readouterr().out) == run("30", "--seed", "1234")
            """
            ),
        },
        verify="python -m pytest -q tests",
    ),
    Case(
        name="scoring_cli_with_commands",
        kind="command line tested by subprocess",
        requirements=[
            requirement("R1", "equation", "`score.py accuracy A B`: the share of equal lines of two files."),
            requirement(
                "R2", "equation", ("`score.py kappa A B`: Cohen's kappa (po - pe) / (1 - pe) of the two files' lines.")
            ),
            requirement("R3", "procedure", "Results are printed as JSON with the command's name and its value."),
        ],
        files={
            "score.py": text(
                """
                import json
                import sys
                from collections import Counter
                from pathlib import Path


                def accuracy(a: list[str], b: list[str]) -> float:
                    return sum(x == y for x, y in zip(a, b, strict=True)) / len(a)


                def kappa(a: list[str], b: list[str]) -> float:
                    left, right = Counter(a), Counter(b)
                    by_chance = sum(left[label] * right[label] for label in left) / len(a) ** 2
                    return (accuracy(a, b) - by_chance) / (1 - by_chance)


                COMMANDS = {"accuracy": accuracy, "kappa": kappa}

                if __name__ == "__main__":
                    command, *paths = sys.argv[1:]
                    a, b = (Path(path).read_text(encoding="utf-8").split() for path in paths)
                    print(json.dumps({command: COMMANDS[command](a, b)}))
            """
            ),
            "test_score.py": text(
                '''
                """The command line of score.py.

                test_accuracy: R1, R3
                test_kappa: R2, R3
                """

                import json
                import subprocess
                import sys
                import tempfile
                import unittest
                from pathlib import Path


                class TestScore(unittest.TestCase):
                    def setUp(self) -> None:
                        folder = tempfile.TemporaryDirectory()
                        self.addCleanup(folder.cleanup)
                        self.paths = [str(Path(folder.name, name)) for name in "ab"]
                        for path, lines in zip(self.paths, ("y y n n", "y n n n"), strict=True):
                            Path(path).write_text(lines, encoding="utf-8")

                    def score(self, command: str) -> dict:
                        return json.loads(subprocess.check_output([sys.executable, "score.py", command, *self.paths]))

                    def test_accuracy(self) -> None:
                        """R1, R3"""
                        self.assertEqual(self.score("accuracy"), {"accuracy": 0.75})

                    def test_kappa(self) -> None:
                        """R2, R3"""
                        self.assertEqual(self.score("kappa"), {"kappa": 0.5})
            '''
            ),
            "Makefile": text(
                """
                test:
                \tpython -m unittest -q test_score.py
            """
            ),
        },
        verify="make test",
    ),
    Case(
        name="readme_with_usage",
        kind="README or notebook artifact",
        requirements=[
            requirement("R1", "artifact", "A README that says how to install, run and test the project."),
            requirement("R2", "equation", "Celsius to Fahrenheit: 9/5 * c + 32."),
        ],
        files={
            "README.md": text(
                """
                # Degrees

                ## Install

                Nothing to install: Python 3.11 is enough.

                ## Run

                    python degrees.py 100

                ## Test

                    python -m pytest -q
            """
            ),
            "degrees.py": text(
                '''
                import sys


                def fahrenheit(celsius: float) -> float:
                    """R2"""
                    return celsius * 9 / 5 + 32


                if __name__ == "__main__":
                    print(fahrenheit(float(sys.argv[1])))
            '''
            ),
            "test_degrees.py": text(
                """
                import shlex
                import subprocess
                import sys
                from pathlib import Path

                import pytest

                from degrees import fahrenheit

                README = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")


                def test_r1_readme_has_its_sections() -> None:
                    headings = [line for line in README.splitlines() if line.startswith("## ")]
                    assert headings == ["## Install", "## Run", "## Test"]


                def test_r1_the_example_runs() -> None:
                    command = next(line for line in README.splitlines() if line.startswith("    python degrees"))
                    output = subprocess.check_output([sys.executable, *shlex.split(command)[1:]], text=True)
                    assert output.strip() == "212.0"


                @pytest.mark.parametrize(("celsius", "expected"), [(0.0, 32.0), (-40.0, -40.0), (37.0, 98.6)])
                def test_r2_fahrenheit(celsius: float, expected: float) -> None:
                    assert fahrenheit(celsius) == pytest.approx(expected)
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="readme_as_doctest",
        kind="README or notebook artifact",
        requirements=[
            requirement("R1", "artifact", "A README whose examples run."),
            requirement("R2", "algorithm", "Roman numerals of the numbers 1 to 3999."),
            requirement("R3", "algorithm", "The number of a Roman numeral."),
        ],
        files={
            "README.md": text(
                """
                # Roman numerals (R1)

                >>> from roman import to_roman, from_roman
                >>> to_roman(1994)
                'MCMXCIV'
                >>> from_roman("XLII")
                42
            """
            ),
            "roman.py": text(
                """
                STEPS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC")]
                STEPS += [(50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


                def to_roman(number: int) -> str:
                    result = ""
                    for value, letters in STEPS:
                        count, number = divmod(number, value)
                        result += letters * count
                    return result


                def from_roman(numeral: str) -> int:
                    total = 0
                    for value, letters in STEPS:
                        while numeral.startswith(letters):
                            total += value
                            numeral = numeral[len(letters) :]
                    return total
            """
            ),
            "test_roman.py": text(
                '''
                import doctest
                import unittest

                from roman import from_roman, to_roman


                class TestReadme(unittest.TestCase):
                    """R1"""

                    def test_examples(self) -> None:
                        results = doctest.testfile("README.md")
                        self.assertEqual(results.failed, 0)
                        self.assertEqual(results.attempted, 3)


                class TestRoman(unittest.TestCase):
                    """R2 and R3"""

                    def test_r2_numerals(self) -> None:
                        self.assertEqual([to_roman(n) for n in (3, 4, 49, 888)], ["III", "IV", "XLIX", "DCCCLXXXVIII"])

                    def test_r3_back_again(self) -> None:
                        for number in range(1, 4000):
                            self.assertEqual(from_roman(to_roman(number)), number)

                    def test_r3_numbers(self) -> None:
                        self.assertEqual([from_roman(n) for n in ("MMXXIV", "XIV")], [2024, 14])
            '''
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="notebook_that_runs",
        kind="README or notebook artifact",
        requirements=[
            requirement("R1", "artifact", "A notebook that shows the fit of a line to four points."),
            requirement(
                "R2",
                "algorithm",
                ("Least squares: slope = covariance / variance of x, intercept = mean y - slope * mean x."),
            ),
        ],
        files={
            "fit.ipynb": text(
                """
                {
                 "nbformat": 4,
                 "nbformat_minor": 5,
                 "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
                 "cells": [
                  {"cell_type": "markdown", "id": "a1", "metadata": {}, "source": ["# Fit of a line (R1)"]},
                  {"cell_type": "code", "id": "a2", "metadata": {}, "execution_count": null, "outputs": [],
                   "source": ["from line import fit"]},
                  {"cell_type": "code", "id": "a3", "metadata": {}, "execution_count": null, "outputs": [],
                   "source": ["slope, intercept = fit([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0])"]}
                 ]
                }
            """
            ),
            "line.py": text(
                '''
                def fit(x: list[float], y: list[float]) -> tuple[float, float]:
                    """R2: the line of least squares."""
                    mean_x = sum(x) / len(x)
                    mean_y = sum(y) / len(y)
                    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
                    slope = covariance / sum((a - mean_x) ** 2 for a in x)
                    return slope, mean_y - slope * mean_x
            '''
            ),
            "test_line.py": text(
                """
                import json
                from pathlib import Path
                from typing import Any

                import pytest

                from line import fit


                def test_r1_notebook_runs_from_top_to_bottom() -> None:
                    notebook = json.loads((Path(__file__).parent / "fit.ipynb").read_text(encoding="utf-8"))
                    names: dict[str, Any] = {}
                    for cell in notebook["cells"]:
                        if cell["cell_type"] == "code":
                            exec("".join(cell["source"]), names)
                    assert names["slope"] == pytest.approx(2.0)
                    assert names["intercept"] == pytest.approx(1.0)


                def test_r2_fit_of_scattered_points() -> None:
                    assert fit([1.0, 2.0, 3.0], [2.0, 2.0, 5.0]) == pytest.approx((1.5, 0.0))
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="model_card_is_written",
        kind="README or notebook artifact",
        requirements=[
            requirement("R1", "artifact", "A model card MODEL_CARD.md with the number of parameters and the accuracy."),
            requirement("R2", "equation", "The number of parameters of a dense layer: inputs * outputs + outputs."),
            requirement("R3", "procedure", "The card is written anew by `python card.py`."),
        ],
        files={
            "MODEL_CARD.md": text(
                """
                # Model card

                - parameters: 55
                - accuracy: 0.925
            """
            ),
            "card.py": text(
                """
                from pathlib import Path

                SIZES = [4, 8, 1, 3]
                ACCURACY = 0.925


                def parameters(inputs: int, outputs: int) -> int:
                    return inputs * outputs + outputs


                def write(path: Path) -> None:
                    total = sum(parameters(a, b) for a, b in zip(SIZES, SIZES[1:]))
                    lines = ["# Model card", "", f"- parameters: {total}", f"- accuracy: {ACCURACY}"]
                    with path.open("w", encoding="utf-8") as file:
                        for line in lines:
                            print(line, file=file)


                if __name__ == "__main__":
                    write(Path(__file__).parent / "MODEL_CARD.md")
            """
            ),
            "tests/test_card.py": text(
                '''
                import tempfile
                import unittest
                from pathlib import Path

                import card

                CARD = Path(card.__file__).parent / "MODEL_CARD.md"


                class TestCard(unittest.TestCase):
                    def test_card_is_up_to_date(self) -> None:
                        """R1 and R3: the card in the project is the one that the script writes."""
                        with tempfile.TemporaryDirectory() as folder:
                            path = Path(folder) / "card.md"
                            card.write(path)
                            self.assertEqual(path.read_text(encoding="utf-8"), CARD.read_text(encoding="utf-8"))

                    def test_parameters(self) -> None:
                        """R2: weights and biases."""
                        self.assertEqual(card.parameters(4, 8), 40)
                        self.assertEqual(card.parameters(1, 1), 2)
            '''
            ),
        },
        verify="python -m unittest discover -s tests",
    ),
    Case(
        name="retry_and_cache_decorators",
        kind="decorators, dataclasses, generators, async, operators",
        requirements=[
            requirement("R1", "procedure", "A call that fails is retried up to 3 times."),
            requirement("R2", "equation", "The pause before retry k, counted from 0, is 0.5 * 2^k seconds."),
            requirement("R3", "procedure", "Results are kept, so that the same arguments are computed once."),
        ],
        files={
            "calls.py": text(
                '''
                import functools
                import time
                from collections.abc import Callable
                from typing import Any


                def pause(k: int) -> float:
                    """R2"""
                    return 0.5 * 2**k


                def retried(times: int = 3, sleep: Callable[[float], None] = time.sleep) -> Callable[..., Any]:
                    """R1: retry a failing call."""

                    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
                        @functools.wraps(function)
                        def call(*args: Any) -> Any:
                            for k in range(times):
                                try:
                                    return function(*args)
                                except OSError:
                                    sleep(pause(k))
                            return function(*args)

                        return call

                    return decorate


                def kept(function: Callable[..., Any]) -> Callable[..., Any]:
                    """R3: keep the results."""
                    results: dict[tuple[Any, ...], Any] = {}

                    @functools.wraps(function)
                    def call(*args: Any) -> Any:
                        if args not in results:
                            results[args] = function(*args)
                        return results[args]

                    return call
            '''
            ),
            "test_calls.py": text(
                """
                import pytest

                from calls import kept, pause, retried


                def failing(times: int):
                    outcomes = [OSError()] * times

                    def function(x: int) -> int:
                        if outcomes:
                            raise outcomes.pop()
                        return x + 1

                    return function


                def test_r1_three_failures_are_survived() -> None:
                    pauses: list[float] = []
                    assert retried(sleep=pauses.append)(failing(3))(1) == 2
                    assert pauses == [0.5, 1.0, 2.0]  # R2


                def test_r1_four_are_not() -> None:
                    with pytest.raises(OSError):
                        retried(sleep=lambda seconds: None)(failing(4))(1)


                def test_r2_pauses_double() -> None:
                    assert [pause(k) for k in range(4)] == [0.5, 1.0, 2.0, 4.0]


                def test_r3_computed_once() -> None:
                    seen: list[int] = []

                    @kept
                    def square(x: int) -> int:
                        seen.append(x)
                        return x * x

                    assert [square(3), square(3), square(4)] == [9, 9, 16]
                    assert seen == [3, 4]
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="dataclass_with_properties",
        kind="decorators, dataclasses, generators, async, operators",
        requirements=[
            requirement(
                "R1",
                "architecture",
                ("A confusion matrix holds the four counts of a binary classifier, none of them negative."),
            ),
            requirement("R2", "equation", "Sensitivity TP / (TP + FN), specificity TN / (TN + FP)."),
            requirement("R3", "equation", "Balanced accuracy: the mean of sensitivity and specificity."),
        ],
        files={
            "confusion.py": text(
                '''
                from dataclasses import astuple, dataclass
                from functools import cached_property


                @dataclass(frozen=True)
                class Confusion:
                    """R1: the four counts."""

                    tp: int
                    fp: int
                    tn: int
                    fn: int

                    def __post_init__(self) -> None:
                        if min(astuple(self)) < 0:
                            raise ValueError("a count is negative")

                    @property
                    def sensitivity(self) -> float:
                        """R2"""
                        return self.tp / (self.tp + self.fn)

                    @property
                    def specificity(self) -> float:
                        """R2"""
                        return self.tn / (self.tn + self.fp)

                    @cached_property
                    def balanced_accuracy(self) -> float:
                        """R3"""
                        return (self.sensitivity + self.specificity) / 2
            '''
            ),
            "test_confusion.py": text(
                '''
                import unittest

                from confusion import Confusion


                class TestConfusion(unittest.TestCase):
                    """R1-R3"""

                    def setUp(self) -> None:
                        self.confusion = Confusion(tp=3, fp=2, tn=6, fn=1)

                    def test_r1_counts(self) -> None:
                        self.assertEqual(self.confusion, Confusion(3, 2, 6, 1))
                        with self.assertRaises(ValueError):
                            Confusion(1, 1, -1, 1)

                    def test_r2_rates(self) -> None:
                        self.assertEqual(self.confusion.sensitivity, 0.75)
                        self.assertEqual(self.confusion.specificity, 0.75)
                        self.assertEqual(Confusion(1, 3, 1, 0).specificity, 0.25)

                    def test_r3_balanced(self) -> None:
                        self.assertEqual(Confusion(1, 3, 1, 0).balanced_accuracy, 0.625)
            '''
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="generators_of_batches",
        kind="decorators, dataclasses, generators, async, operators",
        requirements=[
            requirement("R1", "algorithm", "Batches of n samples in order, the last one may be shorter."),
            requirement("R2", "algorithm", "Sliding windows of n neighbours."),
            requirement("R3", "algorithm", "An endless cycle over the samples, in a new seeded order in every round."),
        ],
        files={
            "stream.py": text(
                '''
                import random
                from collections import deque
                from collections.abc import Iterable, Iterator
                from itertools import islice


                def batches(samples: Iterable[int], n: int) -> Iterator[list[int]]:
                    """R1"""
                    iterator = iter(samples)
                    while batch := list(islice(iterator, n)):
                        yield batch


                def windows(samples: Iterable[int], n: int) -> Iterator[tuple[int, ...]]:
                    """R2"""
                    window: deque[int] = deque(maxlen=n)
                    for sample in samples:
                        window.append(sample)
                        if len(window) == n:
                            yield tuple(window)


                def rounds(samples: list[int], seed: int) -> Iterator[int]:
                    """R3"""
                    generator = random.Random(seed)
                    while True:
                        yield from generator.sample(samples, len(samples))
            '''
            ),
            "test_stream.py": text(
                """
                from itertools import islice

                from stream import batches, rounds, windows


                def test_r1_batches() -> None:
                    assert list(batches(range(5), 2)) == [[0, 1], [2, 3], [4]]
                    assert list(batches([], 2)) == []


                def test_r2_windows() -> None:
                    assert list(windows([1, 2, 3, 4], 3)) == [(1, 2, 3), (2, 3, 4)]
                    assert list(windows([1], 3)) == []


                def test_r3_rounds() -> None:
                    samples = list(range(20))
                    first, second = (list(islice(stream, 20)) for stream in [rounds(samples, 3)] * 2)
                    assert sorted(first) == sorted(second) == samples
                    assert first != second
                    assert first == list(islice(rounds(samples, 3), 20))
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="asynchronous_workers",
        kind="decorators, dataclasses, generators, async, operators",
        requirements=[
            requirement("R1", "procedure", "All jobs run, their results in the order of the jobs."),
            requirement("R2", "hyperparameter", "At most 2 jobs run at a time."),
            requirement("R3", "procedure", "A job that takes too long gives None."),
        ],
        files={
            "workers.py": text(
                '''
                import asyncio
                from collections.abc import Awaitable, Callable

                LIMIT = 2  # R2
                Job = Callable[[], Awaitable[int]]


                async def limited(job: Job, seconds: float) -> int | None:
                    """R3: a job with a time limit."""
                    try:
                        return await asyncio.wait_for(job(), seconds)
                    except TimeoutError:
                        return None


                async def run_all(jobs: list[Job], seconds: float = 1.0) -> list[int | None]:
                    """R1: run all jobs, R2 of them at a time."""
                    gate = asyncio.Semaphore(LIMIT)

                    async def run(job: Job) -> int | None:
                        async with gate:
                            return await limited(job, seconds)

                    return list(await asyncio.gather(*map(run, jobs)))
            '''
            ),
            "test_workers.py": text(
                """
                import asyncio
                import unittest

                from workers import run_all


                class TestWorkers(unittest.IsolatedAsyncioTestCase):
                    def setUp(self) -> None:
                        self.running = 0
                        self.most = 0

                    def job(self, value: int, seconds: float = 0.0):
                        async def work() -> int:
                            self.running += 1
                            self.most = max(self.most, self.running)
                            await asyncio.sleep(seconds)
                            self.running -= 1
                            return value

                        return work

                    async def test_r1_order(self) -> None:
                        self.assertEqual(await run_all([self.job(1, 0.02), self.job(2), self.job(3)]), [1, 2, 3])

                    async def test_r2_two_at_a_time(self) -> None:
                        await run_all([self.job(n, 0.01) for n in range(6)])
                        self.assertEqual(self.most, 2)

                    async def test_r3_slow_jobs(self) -> None:
                        self.assertEqual(await run_all([self.job(1, 5.0), self.job(2)], seconds=0.05), [None, 2])
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="closures_of_schedules",
        kind="decorators, dataclasses, generators, async, operators",
        requirements=[
            requirement("R1", "algorithm", "Step decay: multiply the rate with a factor every n epochs."),
            requirement(
                "R2",
                "algorithm",
                (
                    "Warm-up before any other schedule: rises linearly over n epochs, then the other schedule "
                    "runs from its epoch 0."
                ),
            ),
            requirement(
                "R3",
                "equation",
                ("Cosine annealing from the rate to 0 over n epochs: rate * (1 + cos(pi * e / n)) / 2."),
            ),
        ],
        files={
            "schedules.py": text(
                """
                import math
                from collections.abc import Callable

                Schedule = Callable[[int], float]


                def step_decay(rate: float, factor: float, every: int) -> Schedule:
                    # R1
                    return lambda epoch: rate * factor ** (epoch // every)


                def warmed_up(after: Schedule, epochs: int) -> Schedule:
                    # R2
                    def schedule(epoch: int) -> float:
                        if epoch < epochs:
                            return after(0) * epoch / epochs
                        return after(epoch - epochs)

                    return schedule


                def annealed(rate: float, epochs: int) -> Schedule:
                    # R3
                    def schedule(epoch: int) -> float:
                        return rate * (1 + math.cos(math.pi * epoch / epochs)) / 2

                    return schedule
            """
            ),
            "test_schedules.py": text(
                """
                import pytest

                from schedules import annealed, step_decay, warmed_up


                def values(schedule, *epochs: int) -> list[float]:
                    return [schedule(epoch) for epoch in epochs]


                def test_step_decay() -> None:
                    # R1: halved every 10 epochs
                    assert values(step_decay(0.8, 0.5, 10), 0, 9, 10, 25) == pytest.approx([0.8, 0.8, 0.4, 0.2])


                def test_warmed_up() -> None:
                    # R2: over 4 epochs
                    schedule = warmed_up(step_decay(0.8, 0.5, 10), 4)
                    assert values(schedule, 0, 1, 3, 4, 13, 14) == pytest.approx([0.0, 0.2, 0.6, 0.8, 0.8, 0.4])


                def test_annealed() -> None:
                    # R3: from 1 to 0 over 6 epochs
                    assert values(annealed(1.0, 6), 0, 2, 3, 6) == pytest.approx([1.0, 0.75, 0.5, 0.0])
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="dual_numbers_by_operators",
        kind="decorators, dataclasses, generators, async, operators",
        requirements=[
            requirement("R1", "equation", "Sum of dual numbers: (a + b) with derivative (a' + b')."),
            requirement("R2", "equation", "Product rule: (a b)' = a' b + a b'."),
            requirement("R3", "equation", "Chain rule for sine: sin(a)' = cos(a) a'."),
            requirement(
                "R4", "algorithm", "The derivative of a function at x is the dual part of its value at (x, 1)."
            ),
        ],
        files={
            "dual.py": text(
                '''
                import math
                from collections.abc import Callable


                class Dual:
                    """A value with its derivative: R1 (+), R2 (*), R3 (sin)."""

                    __slots__ = ("slope", "value")

                    def __init__(self, value: float, slope: float = 0.0) -> None:
                        self.value = value
                        self.slope = slope

                    def __add__(self, other: "Dual") -> "Dual":
                        return Dual(self.value + other.value, self.slope + other.slope)

                    def __mul__(self, other: "Dual") -> "Dual":
                        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

                    def sin(self) -> "Dual":
                        return Dual(math.sin(self.value), math.cos(self.value) * self.slope)


                def derivative(f: Callable[[Dual], Dual], x: float) -> float:
                    """R4"""
                    return f(Dual(x, 1.0)).slope
            '''
            ),
            "test_dual.py": text(
                """
                import math
                import unittest

                from dual import Dual, derivative


                class TestDual(unittest.TestCase):
                    def test_r1_add(self) -> None:
                        total = Dual(1.0, 2.0) + Dual(3.0, 4.0)
                        self.assertEqual((total.value, total.slope), (4.0, 6.0))

                    def test_r2_multiply(self) -> None:
                        product = Dual(2.0, 3.0) * Dual(5.0, 7.0)
                        self.assertEqual((product.value, product.slope), (10.0, 29.0))

                    def test_r3_sine(self) -> None:
                        sine = Dual(math.pi / 3, 2.0).sin()
                        self.assertAlmostEqual(sine.value, math.sqrt(3) / 2)
                        self.assertAlmostEqual(sine.slope, 1.0)

                    def test_r4_derivative(self) -> None:
                        self.assertAlmostEqual(derivative(lambda x: x * x * x, 2.0), 12.0)
                        self.assertAlmostEqual(derivative(lambda x: (x * x + x).sin(), 0.5), 2 * math.cos(0.75))
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="reviews_from_csv",
        kind="data pipeline and experiment",
        requirements=[
            requirement("R1", "dataset", "Six labelled reviews in data/reviews.csv, read as pairs of text and label."),
            requirement("R2", "procedure", "Texts are lowered and stripped of punctuation."),
            requirement(
                "R3", "procedure", ("Every third sample belongs to the test set, the others to the training set.")
            ),
        ],
        files={
            "data/reviews.csv": text(
                """
                text,label
                "Fine film, really!",1
                Dull.,0
                Great cast,1
                Too long,0
                A joy,1
                Never again...,0
            """
            ),
            "reviews.py": text(
                '''
                import csv
                import string
                from pathlib import Path

                Sample = tuple[str, int]
                PATH = Path(__file__).parent / "data" / "reviews.csv"


                def load(path: Path = PATH) -> list[Sample]:
                    """R1: the reviews."""
                    with path.open(newline="", encoding="utf-8") as file:
                        return [(row["text"], int(row["label"])) for row in csv.DictReader(file)]


                def clean(text: str) -> str:
                    """R2"""
                    return text.lower().translate(str.maketrans("", "", string.punctuation))


                def split(samples: list[Sample]) -> tuple[list[Sample], list[Sample]]:
                    """R3: training and test samples."""
                    test = samples[2::3]
                    return [sample for i, sample in enumerate(samples) if i % 3 != 2], test
            '''
            ),
            "test_reviews.py": text(
                """
                from reviews import clean, load, split


                def test_r1_reviews() -> None:
                    samples = load()
                    assert len(samples) == 6
                    assert sum(label for _, label in samples) == 3
                    assert samples[0] == ("Fine film, really!", 1)


                def test_r2_clean() -> None:
                    assert clean("Fine film, REALLY!") == "fine film really"


                def test_r3_split() -> None:
                    train, test = split([(str(n), 0) for n in range(7)])
                    assert [text for text, _ in train] == ["0", "1", "3", "4", "6"]
                    assert [text for text, _ in test] == ["2", "5"]
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="experiment_writes_its_result",
        kind="data pipeline and experiment",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                ("Perceptron: on a mistake add label * input to the weights, the bias being a weight of input 1."),
            ),
            requirement(
                "R2", "experiment", ("Trained for 10 epochs on logical OR, the accuracy is written to results/or.json.")
            ),
            requirement("R3", "hyperparameter", "10 epochs."),
        ],
        files={
            "perceptron.py": text(
                '''
                """The perceptron: R1."""

                EPOCHS = 10  # R3
                Sample = tuple[tuple[float, ...], int]


                def predict(weights: list[float], x: tuple[float, ...]) -> int:
                    return 1 if sum(w * a for w, a in zip(weights, (*x, 1.0), strict=True)) > 0 else -1


                def train(samples: list[Sample], epochs: int = EPOCHS) -> list[float]:
                    weights = [0.0] * (len(samples[0][0]) + 1)
                    for _ in range(epochs):
                        for x, label in samples:
                            if predict(weights, x) != label:
                                weights = [w + label * a for w, a in zip(weights, (*x, 1.0), strict=True)]
                    return weights
            '''
            ),
            "experiment.py": text(
                '''
                """The experiment of the paper (R2): python experiment.py FOLDER"""

                import json
                import sys
                from pathlib import Path

                from perceptron import EPOCHS, predict, train

                OR = [((0.0, 0.0), -1), ((0.0, 1.0), 1), ((1.0, 0.0), 1), ((1.0, 1.0), 1)]


                def run(folder: Path) -> dict[str, float]:
                    weights = train(OR)
                    hits = sum(predict(weights, x) == label for x, label in OR)
                    result = {"epochs": EPOCHS, "accuracy": hits / len(OR)}
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / "or.json").write_text(json.dumps(result), encoding="utf-8")
                    return result


                if __name__ == "__main__":
                    run(Path(sys.argv[1] if len(sys.argv) > 1 else "results"))
            '''
            ),
            "test_perceptron.py": text(
                """
                import json
                import subprocess
                import sys
                import tempfile
                import unittest
                from pathlib import Path

                from perceptron import EPOCHS, predict, train


                class TestPerceptron(unittest.TestCase):
                    def test_r1_one_epoch(self) -> None:
                        self.assertEqual(train([((2.0,), 1), ((3.0,), -1)], epochs=1), [-1.0, 0.0])

                    def test_r1_predict(self) -> None:
                        self.assertEqual(predict([1.0, -1.0], (2.0,)), 1)
                        self.assertEqual(predict([1.0, -1.0], (1.0,)), -1)

                    def test_r2_experiment(self) -> None:
                        with tempfile.TemporaryDirectory() as folder:
                            subprocess.run([sys.executable, "experiment.py", folder], check=True)
                            result = json.loads(Path(folder, "or.json").read_text(encoding="utf-8"))
                        self.assertEqual(result, {"epochs": 10, "accuracy": 1.0})

                    def test_r3_epochs(self) -> None:
                        self.assertEqual(EPOCHS, 10)
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="stages_of_jsonl_files",
        kind="data pipeline and experiment",
        requirements=[
            requirement("R1", "procedure", "Stage 1 drops records without text and those seen before."),
            requirement("R2", "procedure", "Stage 2 adds the number of words of every record."),
            requirement(
                "R3", "procedure", ("The pipeline reads raw.jsonl, runs the stages in order and writes clean.jsonl.")
            ),
        ],
        files={
            "pipeline.py": text(
                '''
                import json
                from collections.abc import Iterable, Iterator
                from pathlib import Path
                from typing import Any

                Record = dict[str, Any]


                def drop(records: Iterable[Record]) -> Iterator[Record]:
                    """Stage 1 (R1)."""
                    seen: set[str] = set()
                    for record in records:
                        text = record.get("text", "").strip()
                        if text and text not in seen:
                            seen.add(text)
                            yield record


                def count(records: Iterable[Record]) -> Iterator[Record]:
                    """Stage 2 (R2)."""
                    for record in records:
                        yield record | {"words": len(record["text"].split())}


                def run(folder: Path) -> None:
                    """The whole pipeline (R3)."""
                    raw = map(json.loads, (folder / "raw.jsonl").read_text(encoding="utf-8").splitlines())
                    with (folder / "clean.jsonl").open("w", encoding="utf-8") as target:
                        for record in count(drop(raw)):
                            print(json.dumps(record), file=target)
            '''
            ),
            "test_pipeline.py": text(
                """
                import json
                from pathlib import Path

                from pipeline import count, drop, run

                RAW = [{"text": "one two"}, {"text": " "}, {"text": "one two"}, {"id": 4}, {"text": "three"}]


                def test_r1_drop() -> None:
                    assert list(drop(RAW)) == [{"text": "one two"}, {"text": "three"}]


                def test_r2_count() -> None:
                    assert list(count([{"text": "a b  c", "id": 1}])) == [{"text": "a b  c", "id": 1, "words": 3}]


                def test_r3_run(tmp_path: Path) -> None:
                    (tmp_path / "raw.jsonl").write_text(chr(10).join(map(json.dumps, RAW)), encoding="utf-8")
                    run(tmp_path)
                    lines = (tmp_path / "clean.jsonl").read_text(encoding="utf-8").splitlines()
                    records = [json.loads(line) for line in lines]
                    assert records == [{"text": "one two", "words": 2}, {"text": "three", "words": 1}]
            """
            ),
            "Makefile": text(
                """
                .PHONY: test
                test:
                \tpython -m pytest -q
            """
            ),
        },
        verify="make test",
    ),
    Case(
        name="synthetic_data_with_a_seed",
        kind="data pipeline and experiment",
        requirements=[
            requirement(
                "R1",
                "dataset",
                (
                    "200 points around the line y = 3x + 1, x even between 0 and 1, Gaussian noise of "
                    "deviation 0.1, seed 7."
                ),
            ),
            requirement("R2", "algorithm", "Gradient descent on the squared error of a line."),
            requirement(
                "R3",
                "experiment",
                ("The line found lies within 0.1 of the true one; slope and intercept go to results.csv."),
            ),
        ],
        files={
            "line.py": text(
                '''
                import csv
                import random
                from pathlib import Path

                Points = list[tuple[float, float]]


                def points(n: int = 200, seed: int = 7) -> Points:
                    """R1: the synthetic data."""
                    generator = random.Random(seed)
                    return [(i / (n - 1), 3 * i / (n - 1) + 1 + generator.gauss(0.0, 0.1)) for i in range(n)]


                def step(data: Points, slope: float, intercept: float, rate: float) -> tuple[float, float]:
                    """R2: one step of descent."""
                    errors = [(x, slope * x + intercept - y) for x, y in data]
                    slope -= rate * 2 * sum(e * x for x, e in errors) / len(data)
                    intercept -= rate * 2 * sum(e for _, e in errors) / len(data)
                    return slope, intercept


                def experiment(path: Path) -> tuple[float, float]:
                    """R3: the line that is found."""
                    data = points()
                    line = (0.0, 0.0)
                    for _ in range(500):
                        line = step(data, *line, rate=0.5)
                    with path.open("w", newline="", encoding="utf-8") as file:
                        csv.writer(file).writerows([("slope", "intercept"), line])
                    return line
            '''
            ),
            "test_line.py": text(
                '''
                import csv
                import statistics
                from pathlib import Path

                import pytest

                from line import experiment, points, step


                def test_data() -> None:
                    """R1"""
                    data = points()
                    assert len(data) == 200
                    assert (data[0][0], data[-1][0]) == (0.0, 1.0)
                    assert statistics.pstdev(y - 3 * x - 1 for x, y in data) == pytest.approx(0.1, abs=0.02)
                    assert data == points(seed=7)
                    assert data != points(seed=8)


                def test_step() -> None:
                    """R2"""
                    assert step([(1.0, 2.0), (2.0, 4.0)], 0.0, 0.0, rate=0.1) == pytest.approx((1.0, 0.6))


                def test_experiment(tmp_path: Path) -> None:
                    """R3"""
                    slope, intercept = experiment(tmp_path / "results.csv")
                    assert slope == pytest.approx(3.0, abs=0.1)
                    assert intercept == pytest.approx(1.0, abs=0.1)
                    with (tmp_path / "results.csv").open(newline="", encoding="utf-8") as file:
                        assert [float(v) for v in list(csv.reader(file))[1]] == [slope, intercept]
            '''
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="src_layout_with_pytest",
        kind="src layout",
        requirements=[
            requirement("R1", "equation", "Minkowski distance of order p: (sum |x_i - y_i|^p)^(1/p)."),
            requirement("R2", "algorithm", "k nearest neighbours: the most frequent label of the k closest samples."),
            requirement("R3", "hyperparameter", "k = 3 and p = 2."),
        ],
        files={
            "pyproject.toml": text(
                """
                [project]
                name = "neighbours"
                version = "0.1"

                [tool.pytest.ini_options]
                pythonpath = ["src"]
                testpaths = ["tests"]
            """
            ),
            "src/neighbours/__init__.py": text(
                """
                from neighbours.distance import minkowski
                from neighbours.vote import classify

                __all__ = ["classify", "minkowski"]
            """
            ),
            "src/neighbours/distance.py": text(
                '''
                P = 2  # R3


                def minkowski(x: list[float], y: list[float], p: float = P) -> float:
                    """R1"""
                    return sum(abs(a - b) ** p for a, b in zip(x, y, strict=True)) ** (1 / p)
            '''
            ),
            "src/neighbours/vote.py": text(
                '''
                from collections import Counter

                from neighbours.distance import minkowski

                K = 3  # R3


                def classify(x: list[float], samples: list[tuple[list[float], str]], k: int = K) -> str:
                    """R2"""
                    closest = sorted(samples, key=lambda sample: minkowski(x, sample[0]))[:k]
                    return Counter(label for _, label in closest).most_common(1)[0][0]
            '''
            ),
            "tests/test_neighbours.py": text(
                """
                import pytest

                from neighbours import classify, minkowski
                from neighbours.distance import P
                from neighbours.vote import K


                @pytest.mark.parametrize(("p", "expected"), [(1, 7.0), (2, 5.0), (3, 91 ** (1 / 3))])
                def test_r1_minkowski(p: int, expected: float) -> None:
                    assert minkowski([0.0, 0.0], [3.0, -4.0], p) == pytest.approx(expected)


                def test_r2_classify() -> None:
                    samples = [([0.0], "a"), ([1.0], "b"), ([2.0], "b"), ([9.0], "a"), ([10.0], "a")]
                    assert classify([0.1], samples) == "b"
                    assert classify([0.1], samples, k=1) == "a"
                    assert classify([0.1], samples, k=5) == "a"


                def test_r3_constants() -> None:
                    assert (K, P) == (3, 2)
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="src_layout_with_unittest",
        kind="src layout",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                ("Huffman code: join the two rarest symbols until one tree is left; left is 0, right is 1."),
            ),
            requirement("R2", "procedure", "Encoding and decoding give the text back."),
            requirement(
                "R3", "equation", ("Mean code length: the sum of frequency times length of code over all symbols.")
            ),
        ],
        files={
            "src/huffman/__init__.py": text(
                '''
                """Huffman codes."""
            '''
            ),
            "src/huffman/code.py": text(
                '''
                import heapq
                from collections import Counter


                def codes(text: str) -> dict[str, str]:
                    """R1: the code of every symbol."""
                    heap = [(count, symbol, {symbol: ""}) for symbol, count in Counter(text).items()]
                    heapq.heapify(heap)
                    while len(heap) > 1:
                        (n, first, left), (m, second, right) = heapq.heappop(heap), heapq.heappop(heap)
                        joined = {s: "0" + c for s, c in left.items()} | {s: "1" + c for s, c in right.items()}
                        heapq.heappush(heap, (n + m, min(first, second), joined))
                    return heap[0][2]


                def mean_length(text: str) -> float:
                    """R3"""
                    table = codes(text)
                    return sum(count / len(text) * len(table[symbol]) for symbol, count in Counter(text).items())
            '''
            ),
            "src/huffman/text.py": text(
                '''
                def encode(text: str, table: dict[str, str]) -> str:
                    """R2"""
                    return "".join(table[symbol] for symbol in text)


                def decode(bits: str, table: dict[str, str]) -> str:
                    """R2"""
                    symbols = {code: symbol for symbol, code in table.items()}
                    text, code = "", ""
                    for bit in bits:
                        code += bit
                        if code in symbols:
                            text, code = text + symbols[code], ""
                    return text
            '''
            ),
            "tests/test_huffman.py": text(
                """
                import unittest

                from huffman.code import codes, mean_length
                from huffman.text import decode, encode


                class TestHuffman(unittest.TestCase):
                    def test_r1_frequent_symbols_have_short_codes(self) -> None:
                        self.assertEqual(codes("aaaabbc"), {"c": "00", "b": "01", "a": "1"})

                    def test_r2_there_and_back(self) -> None:
                        table = codes("abracadabra")
                        self.assertEqual(decode(encode("abracadabra", table), table), "abracadabra")
                        self.assertEqual(encode("ab", {"a": "1", "b": "01"}), "101")

                    def test_r3_mean_length(self) -> None:
                        self.assertAlmostEqual(mean_length("aaaabbc"), 10 / 7)
                        self.assertEqual(mean_length("abcd"), 2.0)
            """
            ),
        },
        verify="PYTHONPATH=src python -m unittest discover -s tests",
    ),
    Case(
        name="src_layout_experiment",
        kind="src layout",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                ("Epsilon-greedy: with probability epsilon a random arm, else the one with the highest estimate."),
            ),
            requirement("R2", "equation", "Estimate of an arm: the running mean q + (reward - q) / n."),
            requirement("R3", "hyperparameter", "epsilon = 0.1."),
            requirement(
                "R4",
                "experiment",
                ("Over 2000 pulls of three arms the best arm is pulled most; the counts go to counts.json."),
            ),
        ],
        files={
            "pyproject.toml": text(
                """
                [project]
                name = "bandit"
                version = "0.1"

                [tool.bandit]
                epsilon = 0.1
            """
            ),
            "src/bandit/__init__.py": text(
                """
                from bandit.agent import Agent

                __all__ = ["Agent"]
            """
            ),
            "src/bandit/agent.py": text(
                '''
                import random

                EPSILON = 0.1  # R3


                class Agent:
                    def __init__(self, arms: int, seed: int, epsilon: float = EPSILON) -> None:
                        self.generator = random.Random(seed)
                        self.epsilon = epsilon
                        self.estimates = [0.0] * arms
                        self.counts = [0] * arms

                    def choose(self) -> int:
                        """R1"""
                        if self.generator.random() < self.epsilon:
                            return self.generator.randrange(len(self.estimates))
                        return self.estimates.index(max(self.estimates))

                    def learn(self, arm: int, reward: float) -> None:
                        """R2"""
                        self.counts[arm] += 1
                        self.estimates[arm] += (reward - self.estimates[arm]) / self.counts[arm]
            '''
            ),
            "scripts/run_experiment.py": text(
                '''
                """R4: python scripts/run_experiment.py OUTPUT"""

                import json
                import random
                import sys
                from pathlib import Path

                sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

                from bandit import Agent

                agent = Agent(3, seed=5)
                world = random.Random(11)
                for _ in range(2000):
                    arm = agent.choose()
                    agent.learn(arm, world.gauss([0.1, 0.9, 0.4][arm], 1.0))
                Path(sys.argv[1]).write_text(json.dumps(agent.counts), encoding="utf-8")
            '''
            ),
            "tests/conftest.py": text(
                """
                import sys
                from pathlib import Path

                sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
            """
            ),
            "tests/test_bandit.py": text(
                """
                import json
                import subprocess
                import sys
                import tomllib
                from pathlib import Path

                import pytest

                from bandit import Agent
                from bandit.agent import EPSILON

                ROOT = Path(__file__).parents[1]


                def test_r1_greedy() -> None:
                    agent = Agent(3, seed=1, epsilon=0.0)
                    agent.estimates = [0.1, 0.5, 0.2]
                    assert {agent.choose() for _ in range(50)} == {1}


                def test_r1_curious() -> None:
                    agent = Agent(3, seed=1, epsilon=0.3)
                    chosen = [agent.choose() for _ in range(3000)]
                    assert chosen.count(2) == pytest.approx(300, abs=60)


                def test_r2_running_mean() -> None:
                    agent = Agent(2, seed=1)
                    for reward in (1.0, 2.0, 6.0):
                        agent.learn(1, reward)
                    assert agent.estimates == [0.0, pytest.approx(3.0)]
                    assert agent.counts == [0, 3]


                def test_r3_epsilon() -> None:
                    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
                    assert project["tool"]["bandit"]["epsilon"] == EPSILON == 0.1


                def test_r4_experiment(tmp_path: Path) -> None:
                    output = tmp_path / "counts.json"
                    subprocess.run([sys.executable, "scripts/run_experiment.py", str(output)], cwd=ROOT, check=True)
                    counts = json.loads(output.read_text(encoding="utf-8"))
                    assert sum(counts) == 2000
                    assert max(counts) == counts[1]
            """
            ),
        },
        verify="python -m pytest -q tests",
    ),
]
