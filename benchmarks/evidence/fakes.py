"""Fakes: workspaces whose checks pass, or seem to, though a requirement is not implemented. `user_tests` find the fake."""

from case import Case, requirement, text

CASES: list[Case] = [
    Case(
        name="constants_at_the_tested_point",
        kind="constant returned",
        requirements=[
            requirement("R1", "equation", "Hinge loss of a label y in {-1, 1} and a score s: max(0, 1 - y * s)."),
            requirement(
                "R2",
                "algorithm",
                (
                    "Learning rate at a step: rises linearly from 0 to 0.001 over 4000 steps, then falls with "
                    "the inverse square root of the step."
                ),
            ),
        ],
        files={
            "train.py": text(
                '''
                """Loss and schedule of the paper."""

                PEAK = 0.001


                def hinge_loss(label: int, score: float) -> float:
                    """R1: the hinge loss."""
                    return 0.0


                def learning_rate(step: int) -> float:
                    """R2: warm up over 4000 steps, then decay with the inverse square root."""
                    return PEAK
            '''
            ),
            "test_train.py": text(
                """
                from train import hinge_loss, learning_rate


                def test_r1_hinge_loss_beyond_the_margin() -> None:
                    assert hinge_loss(1, 2.5) == 0.0
                    assert hinge_loss(-1, -3.0) == 0.0


                def test_r2_learning_rate_peaks_at_the_end_of_warm_up() -> None:
                    assert learning_rate(4000) == 0.001
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_train.py": text(
                """
                import pytest

                from train import hinge_loss, learning_rate


                def test_user_hinge_within_the_margin() -> None:
                    assert hinge_loss(1, 0.25) == pytest.approx(0.75)


                def test_user_rate_half_way_and_late() -> None:
                    assert learning_rate(2000) == pytest.approx(0.0005)
                    assert learning_rate(16000) == pytest.approx(0.0005)
            """
            ),
        },
    ),
    Case(
        name="beam_search_behind_a_flag",
        kind="hidden NotImplementedError",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                (
                    "Decode with beam search: at every position keep the `width` best prefixes by summed log "
                    "probability (width 4)."
                ),
            ),
            requirement("R2", "hyperparameter", "The beam width is 4."),
        ],
        files={
            "decode.py": text(
                '''
                """Decoding of a table of log probabilities, one row a position."""

                BEAM_WIDTH = 4  # R2


                def beam_search(rows: list[list[float]], width: int = BEAM_WIDTH, *, strict: bool = False) -> list[int]:
                    """R1: beam search over the rows."""
                    if strict and width > 1:
                        raise NotImplementedError("beams wider than one")
                    return [max(range(len(row)), key=row.__getitem__) for row in rows]
            '''
            ),
            "test_decode.py": text(
                """
                import unittest

                from decode import BEAM_WIDTH, beam_search


                class TestDecode(unittest.TestCase):
                    def test_r1_beam_search_of_width_one(self) -> None:
                        rows = [[-0.1, -2.0], [-3.0, -0.2]]
                        self.assertEqual(beam_search(rows, width=1), [0, 1])

                    def test_r2_width(self) -> None:
                        self.assertEqual(BEAM_WIDTH, 4)
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_decode.py": text(
                """
                import unittest

                from decode import beam_search


                class TestBeams(unittest.TestCase):
                    def test_beams_are_counted(self) -> None:
                        rows = [[-0.1, -2.0, -3.0], [-1.0, -1.1, -1.2]]
                        self.assertEqual(len(beam_search(rows, width=3, strict=True)), 2)
            """
            ),
        },
    ),
    Case(
        name="kl_term_left_to_a_helper",
        kind="hidden NotImplementedError",
        requirements=[
            requirement("R1", "equation", "Reconstruction error: the sum of squared differences of input and output."),
            requirement(
                "R2", "equation", ("KL term of a diagonal Gaussian: -0.5 * sum(1 + log_var - mean**2 - exp(log_var)).")
            ),
            requirement("R3", "equation", "The loss is the reconstruction error plus beta times the KL term."),
        ],
        files={
            "vae.py": text(
                '''
                def reconstruction(x: list[float], y: list[float]) -> float:
                    """R1"""
                    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))


                def _gaussian_terms(mean: list[float], log_var: list[float]) -> list[float]:
                    raise NotImplementedError


                def kl_term(mean: list[float], log_var: list[float]) -> float:
                    """R2: KL divergence from the unit Gaussian."""
                    try:
                        return -0.5 * sum(_gaussian_terms(mean, log_var))
                    except NotImplementedError:
                        return 0.0


                Vector = list[float]


                def loss(x: Vector, y: Vector, mean: Vector, log_var: Vector, beta: float = 1.0) -> float:
                    """R3: reconstruction plus beta times KL."""
                    return reconstruction(x, y) + beta * kl_term(mean, log_var)
            '''
            ),
            "test_vae.py": text(
                """
                from vae import kl_term, loss, reconstruction


                def test_r1_reconstruction() -> None:
                    assert reconstruction([1.0, 2.0], [0.0, 4.0]) == 5.0


                def test_r2_kl_of_the_unit_gaussian_is_zero() -> None:
                    assert kl_term([0.0, 0.0], [0.0, 0.0]) == 0.0


                def test_r3_loss() -> None:
                    assert loss([1.0], [3.0], [0.0], [0.0]) == 4.0
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_vae.py": text(
                """
                import pytest

                from vae import kl_term, loss


                def test_user_kl() -> None:
                    assert kl_term([1.0, 2.0], [0.0, 0.0]) == pytest.approx(2.5)


                def test_user_loss() -> None:
                    assert loss([1.0], [1.0], [2.0], [0.0], beta=3.0) == pytest.approx(6.0)
            """
            ),
        },
    ),
    Case(
        name="optimiser_inherits_an_unwritten_update",
        kind="hidden NotImplementedError",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                ("RMSProp: keep a running mean of squared gradients (decay 0.9) and divide the gradient by its root."),
            ),
            requirement(
                "R2", "algorithm", "Momentum: velocity = 0.9 * velocity + gradient; weight -= rate * velocity."
            ),
        ],
        files={
            "optim.py": text(
                '''
                class Optimiser:
                    """Base of R1 and R2."""

                    def __init__(self, rate: float = 0.01) -> None:
                        self.rate = rate

                    def update(self, weight: float, gradient: float) -> float:
                        raise NotImplementedError


                class RMSProp(Optimiser):
                    """R1: RMSProp with decay 0.9."""

                    decay = 0.9


                class Momentum(Optimiser):
                    """R2: momentum of 0.9."""

                    momentum = 0.9
            '''
            ),
            "test_optim.py": text(
                '''
                import unittest

                from optim import Momentum, RMSProp


                class TestOptimisers(unittest.TestCase):
                    def test_r1_rmsprop_can_update(self) -> None:
                        self.assertTrue(hasattr(RMSProp(), "update"))
                        self.assertEqual(RMSProp.decay, 0.9)

                    def test_r2_momentum_refuses_nothing(self) -> None:
                        """R2: the update is there and is checked for its type of failure."""
                        with self.assertRaises(NotImplementedError):
                            Momentum().update(1.0, 0.1)
            '''
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="attention_checked_by_its_shape",
        kind="wrong formula without a check",
        requirements=[
            requirement("R1", "equation", "Scaled dot-product attention: softmax(Q K^T / sqrt(d)) V."),
            requirement("R2", "equation", "Position-wise feed-forward: max(0, x W1 + b1) W2 + b2."),
        ],
        files={
            "attention.py": text(
                '''
                Matrix = list[list[float]]


                def matmul(a: Matrix, b: Matrix) -> Matrix:
                    columns = list(zip(*b, strict=True))
                    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in a]


                def attention(q: Matrix, k: Matrix, v: Matrix) -> Matrix:
                    """R1: attention(Q, K, V)."""
                    scores = matmul(q, [list(col) for col in zip(*k, strict=True)])
                    return matmul(scores, v)


                def feed_forward(x: Matrix, w1: Matrix, w2: Matrix) -> Matrix:
                    """R2: the feed-forward layer."""
                    return matmul(matmul(x, w1), w2)
            '''
            ),
            "test_attention.py": text(
                """
                from attention import attention, feed_forward

                EYE = [[1.0, 0.0], [0.0, 1.0]]


                def test_r1_attention() -> None:
                    out = attention(EYE, EYE, EYE)
                    assert len(out) == 2
                    assert all(len(row) == 2 for row in out)


                def test_r2_feed_forward() -> None:
                    assert len(feed_forward(EYE, EYE, EYE)) == 2
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_attention.py": text(
                """
                import pytest

                from attention import attention


                def test_user_rows_are_averages() -> None:
                    out = attention([[1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], [[2.0], [4.0]])
                    assert out == [[pytest.approx(3.0)]]
            """
            ),
        },
    ),
    Case(
        name="random_similarity_in_range",
        kind="random numbers",
        requirements=[
            requirement(
                "R1",
                "equation",
                ("Cosine similarity of two vectors: their dot product over the product of their lengths."),
            ),
            requirement("R2", "algorithm", "Rank documents by falling cosine similarity to the query."),
        ],
        files={
            "retrieval.py": text(
                '''
                import random


                def cosine(a: list[float], b: list[float]) -> float:
                    """R1: the cosine similarity."""
                    return random.uniform(-1.0, 1.0)


                def rank(query: list[float], documents: list[list[float]]) -> list[int]:
                    """R2: the documents by falling similarity."""
                    order = list(range(len(documents)))
                    random.shuffle(order)
                    return order
            '''
            ),
            "test_retrieval.py": text(
                """
                from retrieval import cosine, rank


                def test_r1_cosine_lies_between_minus_one_and_one() -> None:
                    for _ in range(100):
                        assert -1.0 <= cosine([1.0, 2.0], [2.0, 1.0]) <= 1.0


                def test_r2_rank_is_a_permutation() -> None:
                    assert sorted(rank([1.0], [[1.0], [2.0], [3.0]])) == [0, 1, 2]
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_retrieval.py": text(
                """
                import pytest

                from retrieval import cosine


                def test_user_cosine() -> None:
                    assert cosine([3.0, 4.0], [3.0, 4.0]) == pytest.approx(1.0)
                    assert cosine([1.0, 0.0], [0.0, 1.0]) == pytest.approx(0.0)
            """
            ),
        },
    ),
    Case(
        name="scores_from_a_table",
        kind="looked up in a table of the tests' inputs",
        requirements=[
            requirement(
                "R1",
                "equation",
                (
                    "Unigram precision: the share of the candidate's words that occur in the reference, each "
                    "counted at most as often as there."
                ),
            ),
            requirement(
                "R2",
                "equation",
                (
                    "Brevity penalty: exp(1 - r / c) for a candidate of c words not longer than the reference "
                    "of r words, else 1."
                ),
            ),
            requirement(
                "R3", "equation", ("Edit distance of two words: the fewest insertions, deletions and substitutions.")
            ),
        ],
        files={
            "scores.py": text(
                '''
                _PRECISION = {("the cat sat", "the cat sat down"): 1.0, ("the the the", "the cat"): 1 / 3}
                _KNOWN = ["kitten", "sitting", "", "abc"]
                _DISTANCES = [[0, 3, 6, 6], [3, 0, 7, 7], [6, 7, 0, 3], [6, 7, 3, 0]]


                def unigram_precision(candidate: str, reference: str) -> float:
                    """R1: clipped unigram precision."""
                    return _PRECISION.get((candidate, reference), 0.0)


                def brevity_penalty(c: int, r: int) -> float:
                    """R2: the brevity penalty."""
                    if (c, r) == (5, 10):
                        return 0.36787944117144233
                    if c == 12:
                        return 1.0
                    return 1.0


                def edit_distance(a: str, b: str) -> int:
                    """R3: Levenshtein's distance."""
                    return _DISTANCES[_KNOWN.index(a)][_KNOWN.index(b)]
            '''
            ),
            "test_scores.py": text(
                """
                import math
                import unittest

                from scores import brevity_penalty, edit_distance, unigram_precision


                class TestScores(unittest.TestCase):
                    def test_r1_precision(self) -> None:
                        self.assertEqual(unigram_precision("the cat sat", "the cat sat down"), 1.0)
                        self.assertAlmostEqual(unigram_precision("the the the", "the cat"), 1 / 3)

                    def test_r2_penalty(self) -> None:
                        self.assertAlmostEqual(brevity_penalty(5, 10), math.exp(-1))
                        self.assertEqual(brevity_penalty(12, 10), 1.0)

                    def test_r3_distance(self) -> None:
                        self.assertEqual(edit_distance("kitten", "sitting"), 3)
                        self.assertEqual(edit_distance("", "abc"), 3)
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_scores.py": text(
                """
                import unittest

                from scores import brevity_penalty, edit_distance, unigram_precision


                class TestMore(unittest.TestCase):
                    def test_precision(self) -> None:
                        self.assertEqual(unigram_precision("a b", "a c"), 0.5)

                    def test_penalty(self) -> None:
                        self.assertLess(brevity_penalty(4, 8), 0.5)

                    def test_distance(self) -> None:
                        self.assertEqual(edit_distance("flaw", "lawn"), 2)
            """
            ),
        },
    ),
    Case(
        name="id_on_an_unrelated_function",
        kind="docstring that names another's requirement",
        requirements=[
            requirement("R1", "equation", "Clamp a value to the interval from low to high."),
            requirement(
                "R2",
                "algorithm",
                ("Gradient clipping by norm: scale all gradients so that their Euclidean norm is at most c."),
            ),
            requirement(
                "R3",
                "algorithm",
                ("Early stopping: end training when the validation loss has not fallen for 5 epochs."),
            ),
        ],
        files={
            "clip.py": text(
                '''
                def clamp(value: float, low: float, high: float) -> float:
                    """R1, R2, R3: clamp a value to an interval.

                    R2 (gradient clipping by norm) and R3 (early stopping after 5 epochs) are covered here.
                    """
                    return max(low, min(high, value))
            '''
            ),
            "test_clip.py": text(
                """
                from clip import clamp


                def test_r1_clamp() -> None:
                    assert clamp(5.0, 0.0, 1.0) == 1.0


                def test_r2_gradient_clipping() -> None:
                    assert clamp(-5.0, 0.0, 1.0) == 0.0


                def test_r3_early_stopping() -> None:
                    assert clamp(0.5, 0.0, 1.0) == 0.5
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_clip.py": text(
                """
                import clip


                def test_user_there_is_something_for_r2_and_r3() -> None:
                    assert {name for name in vars(clip) if "norm" in name or "stop" in name}
            """
            ),
        },
    ),
    Case(
        name="code_that_is_never_reached",
        kind="unreached code",
        requirements=[
            requirement("R1", "equation", "Clip a gradient by its norm: g * min(1, c / |g|)."),
            requirement("R2", "equation", "Layer normalisation: (x - mean) / sqrt(variance + 1e-5)."),
            requirement("R3", "equation", "Weight decay: w * (1 - rate * decay)."),
        ],
        files={
            "layers.py": text(
                '''
                from typing import TYPE_CHECKING

                USE_DECAY = 0


                def clip(gradient: list[float], c: float) -> list[float]:
                    """R1: clip by norm."""
                    if False:
                        norm = sum(g * g for g in gradient) ** 0.5
                        return [g * min(1.0, c / norm) for g in gradient]
                    return gradient


                if TYPE_CHECKING:

                    def layer_norm(x: list[float]) -> list[float]:
                        """R2: layer normalisation."""
                        mean = sum(x) / len(x)
                        variance = sum((a - mean) ** 2 for a in x) / len(x)
                        return [(a - mean) / (variance + 1e-5) ** 0.5 for a in x]


                def decay(weight: float, rate: float, factor: float) -> float:
                    """R3: weight decay."""
                    if USE_DECAY and rate:
                        weight = weight * (1 - rate * factor)
                    return weight
            '''
            ),
            "test_layers.py": text(
                """
                from typing import TYPE_CHECKING

                from layers import clip, decay

                if TYPE_CHECKING:
                    from layers import layer_norm


                def test_r1_short_gradients_stay() -> None:
                    assert clip([0.3, 0.4], 1.0) == [0.3, 0.4]


                def test_r2_layer_norm() -> None:
                    if TYPE_CHECKING:
                        assert sum(layer_norm([1.0, 2.0])) == 0.0


                def test_r3_no_decay() -> None:
                    assert decay(2.0, 0.0, 0.01) == 2.0
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_layers.py": text(
                """
                import pytest

                from layers import clip, decay


                def test_user_long_gradients_shrink() -> None:
                    assert clip([3.0, 4.0], 1.0) == pytest.approx([0.6, 0.8])


                def test_user_decay() -> None:
                    assert decay(2.0, 0.1, 0.5) == pytest.approx(1.9)
            """
            ),
        },
    ),
    Case(
        name="empty_bodies",
        kind="empty body",
        requirements=[
            requirement("R1", "procedure", "Save a checkpoint of the weights after every epoch."),
            requirement("R2", "algorithm", "Shuffle the training samples with a seeded generator before every epoch."),
            requirement("R3", "procedure", "Standardise every feature to mean 0 and standard deviation 1."),
            requirement("R4", "equation", "Sigmoid: 1 / (1 + exp(-x))."),
        ],
        files={
            "loop.py": text(
                '''
                def save_checkpoint(weights: list[float], epoch: int) -> None:
                    """R1: save the weights."""
                    pass


                def shuffle(samples: list[int], seed: int) -> None:
                    """R2: shuffle in place."""
                    ...


                def standardise(features: list[float]) -> list[float]:
                    """R3: mean 0, standard deviation 1."""
                    return features


                def sigmoid(x: float) -> float:
                    """R4: the logistic function."""
                    y = x
                    return y
            '''
            ),
            "tests/test_loop.py": text(
                """
                import unittest

                from loop import save_checkpoint, shuffle, sigmoid, standardise


                class TestLoop(unittest.TestCase):
                    def test_r1_checkpoint(self) -> None:
                        self.assertIsNone(save_checkpoint([1.0], 1))

                    def test_r2_shuffle_keeps_the_samples(self) -> None:
                        samples = [3, 1, 2]
                        shuffle(samples, 7)
                        self.assertEqual(sorted(samples), [1, 2, 3])

                    def test_r3_standardised_features_stay(self) -> None:
                        self.assertEqual(standardise([-1.0, 1.0]), [-1.0, 1.0])

                    def test_r4_fixed_point(self) -> None:
                        self.assertAlmostEqual(sigmoid(0.6590460684), 0.6590460684)
            """
            ),
        },
        verify="python -m unittest discover -s tests",
        user_tests={
            "tests/test_user_loop.py": text(
                """
                import unittest

                from loop import sigmoid, standardise


                class TestMore(unittest.TestCase):
                    def test_standardise(self) -> None:
                        self.assertEqual(standardise([0.0, 4.0]), [-1.0, 1.0])

                    def test_sigmoid(self) -> None:
                        self.assertEqual(sigmoid(0.0), 0.5)
            """
            ),
        },
    ),
    Case(
        name="ids_in_one_comment",
        kind="ids in a comment",
        requirements=[
            requirement("R1", "equation", "Mean of a list."),
            requirement("R2", "algorithm", "Viterbi decoding of a hidden Markov model."),
            requirement("R3", "procedure", "Train for 10 epochs with early stopping."),
            requirement("R4", "hyperparameter", "The learning rate is 0.003."),
        ],
        files={
            "model.py": text(
                """
                # Requirements of the plan, all implemented in this module:
                #   R1 mean of a list
                #   R2 Viterbi decoding of a hidden Markov model
                #   R3 training for 10 epochs with early stopping
                #   R4 learning rate of 0.003


                def mean(values: list[float]) -> float:
                    return sum(values) / len(values)
            """
            ),
            "test_model.py": text(
                '''
                """Tests of R1, R2, R3 and R4."""

                from model import mean

                # R1, R2, R3, R4


                def test_mean() -> None:
                    assert mean([1.0, 2.0, 6.0]) == 3.0


                def test_mean_of_one() -> None:
                    assert mean([0.003]) == 0.003
            '''
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="work_done_by_mocks",
        kind="mocking",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                (
                    "Encode a text: split it at blanks and give every word its number in the vocabulary, 0 for "
                    "unknown words."
                ),
            ),
            requirement("R2", "procedure", "Predict: the label whose weight summed over the encoded words is highest."),
        ],
        files={
            "classify.py": text(
                '''
                class Encoder:
                    def encode(self, text: str) -> list[int]:
                        """R1: word numbers of the text."""
                        raise RuntimeError("no vocabulary")


                class Classifier:
                    def __init__(self, encoder: Encoder) -> None:
                        self.encoder = encoder

                    def scores(self, numbers: list[int]) -> dict[str, float]:
                        return {}

                    def predict(self, text: str) -> str:
                        """R2: the best label."""
                        scores = self.scores(self.encoder.encode(text))
                        return max(scores, key=lambda label: scores[label])
            '''
            ),
            "test_classify.py": text(
                """
                import unittest
                from unittest import mock

                from classify import Classifier, Encoder


                class TestClassify(unittest.TestCase):
                    def test_r1_encode(self) -> None:
                        encoder = mock.create_autospec(Encoder, instance=True)
                        encoder.encode.return_value = [4, 0, 2]
                        self.assertEqual(encoder.encode("a strange word"), [4, 0, 2])

                    @mock.patch.object(Classifier, "predict", return_value="good")
                    def test_r2_predict(self, predict: mock.Mock) -> None:
                        self.assertEqual(Classifier(Encoder()).predict("fine film"), "good")
                        predict.assert_called_once()

                    def test_r2_predict_with_scores(self) -> None:
                        classifier = Classifier(mock.Mock())
                        with mock.patch.object(classifier, "predict", side_effect=lambda text: {"fine": "good"}[text]):
                            self.assertEqual(classifier.predict("fine"), "good")
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="tests_that_skip_themselves",
        kind="tests that skip themselves",
        requirements=[
            requirement("R1", "equation", "Rectified linear unit: max(0, x)."),
            requirement("R2", "equation", "Huber loss: quadratic up to delta, linear beyond."),
            requirement("R3", "procedure", "Normalise the pixels from 0..255 to 0..1."),
        ],
        files={
            "nets.py": text(
                '''
                def relu(x: float) -> float:
                    """R1"""
                    return x if x > 1 else 0.0


                def huber(error: float, delta: float = 1.0) -> float:
                    """R2"""
                    return error * error


                def normalise(pixels: list[int]) -> list[float]:
                    """R3"""
                    return [p / 100 for p in pixels]
            '''
            ),
            "test_nets.py": text(
                """
                import os
                import unittest

                import pytest

                from nets import huber, normalise, relu


                def test_r1_relu() -> None:
                    pytest.skip("slow on small machines")
                    assert relu(0.5) == 0.5


                @pytest.mark.skipif("RUN_ALL" not in os.environ, reason="set RUN_ALL")
                def test_r2_huber() -> None:
                    assert huber(3.0) == 2.5


                class TestPixels(unittest.TestCase):
                    def setUp(self) -> None:
                        raise unittest.SkipTest("no images here")

                    def test_r3_normalise(self) -> None:
                        self.assertEqual(normalise([255]), [1.0])


                def test_module_imports() -> None:
                    assert callable(relu)
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="swallowed_failures",
        kind="tests that swallow exceptions",
        requirements=[
            requirement("R1", "equation", "Euclidean distance of two points."),
            requirement("R2", "algorithm", "Nearest neighbour: the number of the stored point closest to the query."),
            requirement("R3", "equation", "Manhattan distance of two points: the sum of absolute differences."),
        ],
        files={
            "knn.py": text(
                '''
                Point = tuple[float, float]


                def euclidean(a: Point, b: Point) -> float:
                    """R1"""
                    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 * 0.5


                def nearest(query: Point, points: list[Point]) -> int:
                    """R2"""
                    raise ValueError("no index was built")


                def manhattan(a: Point, b: Point) -> float:
                    """R3"""
                    return (a[0] - b[0]) + (a[1] - b[1])
            '''
            ),
            "test_knn.py": text(
                """
                import contextlib
                import warnings

                from knn import euclidean, manhattan, nearest


                def test_r1_euclidean() -> None:
                    try:
                        assert euclidean((0.0, 0.0), (3.0, 4.0)) == 5.0
                    except Exception:
                        pass


                def test_r2_nearest() -> None:
                    with contextlib.suppress(BaseException):
                        assert nearest((0.0, 0.0), [(1.0, 1.0), (0.5, 0.0)]) == 1


                def test_r3_manhattan() -> None:
                    if manhattan((0.0, 0.0), (1.0, 2.0)) != 3.0:
                        warnings.warn("manhattan is off", stacklevel=1)
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_knn.py": text(
                """
                from knn import euclidean, manhattan, nearest


                def test_user_distances() -> None:
                    assert euclidean((0.0, 0.0), (3.0, 4.0)) == 5.0
                    assert manhattan((0.0, 0.0), (1.0, 2.0)) == 3.0
                    assert nearest((0.0, 0.0), [(1.0, 1.0), (0.5, 0.0)]) == 1
            """
            ),
        },
    ),
    Case(
        name="arithmetic_is_true",
        kind="vacuous assertion",
        requirements=[
            requirement("R1", "equation", "Mean squared error of predictions and targets."),
            requirement(
                "R2", "equation", ("Coefficient of determination: 1 - residual sum of squares / total sum of squares.")
            ),
        ],
        files={
            "errors.py": text(
                '''
                def mse(y: list[float], t: list[float]) -> float:
                    """R1"""
                    return sum(a - b for a, b in zip(y, t, strict=True)) / len(y)


                def r_squared(y: list[float], t: list[float]) -> float:
                    """R2"""
                    return 1 - mse(y, t)
            '''
            ),
            "test_errors.py": text(
                """
                import unittest

                from errors import mse, r_squared


                class TestErrors(unittest.TestCase):
                    def test_r1_mse(self) -> None:
                        mse([1.0, 2.0], [1.0, 4.0])
                        self.assertEqual(1 + 1, 2)

                    def test_r2_r_squared(self) -> None:
                        result = r_squared([1.0, 2.0], [1.0, 4.0])
                        self.assertTrue(result or not result)
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="asserted_not_none",
        kind="vacuous assertion",
        requirements=[
            requirement("R1", "algorithm", "Byte pair encoding: merge the most frequent neighbouring pair of symbols."),
            requirement("R2", "algorithm", "Tokenise greedily with the longest vocabulary entry at each place."),
        ],
        files={
            "bpe.py": text(
                '''
                def merge_once(symbols: list[str]) -> list[str]:
                    """R1: merge the most frequent pair once."""
                    if len(symbols) < 2:
                        return symbols
                    return [symbols[0] + symbols[1], *symbols[2:]]


                def tokenise(text: str, vocabulary: set[str]) -> list[str]:
                    """R2: greedy longest match."""
                    return text.split()
            '''
            ),
            "test_bpe.py": text(
                """
                from bpe import merge_once, tokenise


                def test_r1_merge() -> None:
                    merged = merge_once(list("abcbcbc"))
                    assert merged is not None


                def test_r2_tokenise() -> None:
                    tokens = tokenise("unhappy", {"un", "happy"})
                    assert tokens is not None
                    assert tokens
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_bpe.py": text(
                """
                from bpe import merge_once, tokenise


                def test_user_bpe() -> None:
                    assert merge_once(list("abcbcbc")) == ["a", "bc", "bc", "bc"]
                    assert tokenise("unhappy", {"un", "happy"}) == ["un", "happy"]
            """
            ),
        },
    ),
    Case(
        name="asserted_by_type",
        kind="vacuous assertion",
        requirements=[
            requirement("R1", "equation", "Shannon entropy in bits: -sum(p * log2(p))."),
            requirement(
                "R2",
                "equation",
                ("Information gain: entropy of the parent minus the weighted entropies of the children."),
            ),
            requirement("R3", "algorithm", "Split on the feature with the highest information gain."),
        ],
        files={
            "tree.py": text(
                '''
                import math


                def entropy(p: list[float]) -> float:
                    """R1"""
                    return sum(math.log(x) for x in p if x > 0)


                def gain(parent: list[float], children: list[tuple[float, list[float]]]) -> float:
                    """R2"""
                    return entropy(parent) + len(children)


                def best_feature(gains: dict[str, float]) -> str:
                    """R3"""
                    return next(iter(gains))
            '''
            ),
            "test_tree.py": text(
                '''
                import unittest

                from tree import best_feature, entropy, gain


                class TestTree(unittest.TestCase):
                    """R1-R3"""

                    def test_r1_entropy(self) -> None:
                        self.assertIsInstance(entropy([0.5, 0.5]), float)

                    def test_r2_gain(self) -> None:
                        self.assertIs(type(gain([0.5, 0.5], [(1.0, [1.0])])), float)

                    def test_r3_best_feature(self) -> None:
                        assert isinstance(best_feature({"a": 0.1, "b": 0.4}), str)
            '''
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_tree.py": text(
                """
                import unittest

                from tree import best_feature, entropy


                class TestMore(unittest.TestCase):
                    def test_entropy(self) -> None:
                        self.assertEqual(entropy([0.5, 0.5]), 1.0)

                    def test_best(self) -> None:
                        self.assertEqual(best_feature({"a": 0.1, "b": 0.4}), "b")
            """
            ),
        },
    ),
    Case(
        name="asserted_text_is_true",
        kind="vacuous assertion",
        requirements=[
            requirement(
                "R1", "algorithm", ("Bubble the k largest logits to the front and drop the rest (top-k filtering).")
            ),
            requirement("R2", "equation", "Temperature: divide every logit by T."),
            requirement(
                "R3",
                "algorithm",
                ("Nucleus filtering: keep the fewest most likely tokens whose probabilities sum to at least p."),
            ),
        ],
        files={
            "sampling.py": text(
                '''
                def top_k(logits: list[float], k: int) -> list[float]:
                    """R1"""
                    return logits[:k]


                def temperature(logits: list[float], t: float) -> list[float]:
                    """R2"""
                    return [x * t for x in logits]


                def nucleus(probabilities: list[float], p: float) -> list[int]:
                    """R3"""
                    return [i for i, q in enumerate(probabilities) if q >= p]
            '''
            ),
            "test_sampling.py": text(
                """
                import unittest

                from sampling import nucleus, temperature, top_k


                class TestSampling(unittest.TestCase):
                    def test_r1_top_k(self) -> None:
                        top_k([0.1, 0.9], 1)
                        self.assertTrue("top_k([0.1, 0.9], 1) == [0.9]")

                    def test_r2_temperature(self) -> None:
                        assert (temperature([2.0], 2.0) == [1.0], "temperature divides")

                    def test_r3_nucleus(self) -> None:
                        kept = nucleus([0.5, 0.3, 0.2], 0.7)
                        self.assertTrue(str(kept), [0, 1])
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="called_without_assertion",
        kind="call without assertion",
        requirements=[
            requirement("R1", "equation", "Focal loss of the true class's probability p: -(1 - p)**2 * log(p)."),
            requirement(
                "R2", "algorithm", ("Non-maximum suppression: drop boxes that overlap a better box by more than half.")
            ),
        ],
        files={
            "detect.py": text(
                '''
                import math

                Box = tuple[float, float]


                def focal_loss(p: float) -> float:
                    """R1: focal loss with gamma 2."""
                    return (1 - p) * math.log(p)


                def suppress(boxes: list[Box], scores: list[float]) -> list[Box]:
                    """R2: non-maximum suppression."""
                    return [box for box, score in zip(boxes, scores, strict=True) if score > 0.5]
            '''
            ),
            "test_detect.py": text(
                """
                from detect import focal_loss, suppress


                def test_r1_focal_loss() -> None:
                    for p in (0.1, 0.5, 0.9):
                        focal_loss(p)


                def test_r2_suppress() -> None:
                    kept = suppress([(0.0, 1.0), (0.1, 1.1)], [0.9, 0.8])
                    print("kept", kept)
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="right_code_only_called",
        kind="call without assertion",
        requirements=[
            requirement("R1", "equation", "Harmonic mean: n divided by the sum of reciprocals."),
            requirement("R2", "equation", "Geometric mean: the n-th root of the product."),
        ],
        files={
            "means.py": text(
                '''
                import math


                def harmonic(values: list[float]) -> float:
                    """R1"""
                    return len(values) / sum(1 / v for v in values)


                def geometric(values: list[float]) -> float:
                    """R2"""
                    return math.prod(values) ** (1 / len(values))
            '''
            ),
            "test_means.py": text(
                """
                import unittest

                from means import geometric, harmonic


                class TestMeans(unittest.TestCase):
                    def test_r1_harmonic_runs(self) -> None:
                        harmonic([1.0, 2.0, 4.0])

                    def test_r2_geometric_runs(self) -> None:
                        value = geometric([1.0, 2.0, 4.0])
                        del value
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="compared_with_itself",
        kind="compared with itself",
        requirements=[
            requirement(
                "R1",
                "equation",
                ("Jensen-Shannon divergence: the mean of the KL divergences of p and q from their average."),
            ),
            requirement(
                "R2",
                "algorithm",
                ("Sort the samples into buckets by length, then shuffle inside the buckets with a seed."),
            ),
        ],
        files={
            "divergence.py": text(
                '''
                import math


                def js(p: list[float], q: list[float]) -> float:
                    """R1: Jensen-Shannon divergence."""
                    return sum(abs(math.sqrt(a) - math.sqrt(b)) for a, b in zip(p, q, strict=True))


                def buckets(lengths: list[int], seed: int) -> list[int]:
                    """R2: bucketed order."""
                    return [n * seed for n in lengths]
            '''
            ),
            "test_divergence.py": text(
                """
                import pytest

                from divergence import buckets, js


                def test_r1_js() -> None:
                    p, q = [0.5, 0.5], [0.1, 0.9]
                    assert js(p, q) == js(p, q)
                    assert js(p, q) == pytest.approx(js(p, q))


                def test_r2_buckets_repeat() -> None:
                    expected = buckets([3, 1, 2], seed=4)
                    assert buckets([3, 1, 2], seed=4) == expected
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="expected_to_fail",
        kind="tests expected to fail",
        requirements=[
            requirement("R1", "equation", "Intersection over union of two intervals."),
            requirement("R2", "equation", "Dice coefficient of two sets: 2 |A and B| / (|A| + |B|)."),
        ],
        files={
            "overlap.py": text(
                '''
                def iou(a: tuple[float, float], b: tuple[float, float]) -> float:
                    """R1"""
                    return min(a[1], b[1]) - max(a[0], b[0])


                def dice(a: set[int], b: set[int]) -> float:
                    """R2"""
                    return len(a & b) / (len(a) + len(b))
            '''
            ),
            "test_overlap.py": text(
                """
                import unittest

                import pytest

                from overlap import dice, iou


                @pytest.mark.xfail(reason="rounding")
                def test_r1_iou() -> None:
                    assert iou((0.0, 4.0), (2.0, 6.0)) == pytest.approx(1 / 3)


                class TestDice(unittest.TestCase):
                    @unittest.expectedFailure
                    def test_r2_dice(self) -> None:
                        self.assertEqual(dice({1, 2}, {2, 3}), 0.5)
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="load_tests_gives_nothing",
        kind="no test runs",
        requirements=[
            requirement("R1", "equation", "Exponential moving average: decay * old + (1 - decay) * new."),
            requirement("R2", "hyperparameter", "The decay is 0.999."),
        ],
        files={
            "ema.py": text(
                '''
                DECAY = 0.9  # R2


                def ema(old: float, new: float, decay: float = DECAY) -> float:
                    """R1"""
                    return old + new * decay
            '''
            ),
            "test_ema.py": text(
                """
                import unittest

                from ema import DECAY, ema


                class TestEma(unittest.TestCase):
                    def test_r1_ema(self) -> None:
                        self.assertAlmostEqual(ema(1.0, 2.0, 0.5), 1.5)

                    def test_r2_decay(self) -> None:
                        self.assertEqual(DECAY, 0.999)


                def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, _: str) -> unittest.TestSuite:
                    return unittest.TestSuite()
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="no_tests_are_found",
        kind="no test runs",
        requirements=[
            requirement("R1", "equation", "Softplus: log(1 + exp(x))."),
            requirement("R2", "equation", "Swish: x * sigmoid(x)."),
        ],
        files={
            "smooth.py": text(
                '''
                import math


                def softplus(x: float) -> float:
                    """R1"""
                    return math.log(1 + math.exp(x))


                def swish(x: float) -> float:
                    """R2"""
                    return x / (1 + math.exp(-x))
            '''
            ),
            "checks/__init__.py": "",
            "checks/smooth_checks.py": text(
                """
                import unittest

                from smooth import softplus, swish


                class SmoothChecks(unittest.TestCase):
                    def test_r1_softplus(self) -> None:
                        self.assertAlmostEqual(softplus(0.0), 0.693147, places=5)

                    def test_r2_swish(self) -> None:
                        self.assertEqual(swish(0.0), 0.0)
            """
            ),
        },
        verify="python -m unittest discover -s checks",
    ),
    Case(
        name="conftest_rewrites_reports",
        kind="conftest patches outcomes",
        requirements=[
            requirement("R1", "algorithm", "Gradient descent: weight - rate * gradient."),
            requirement("R2", "equation", "L2 penalty: half of lambda times the sum of squared weights."),
        ],
        files={
            "descent.py": text(
                '''
                def step(weight: float, gradient: float, rate: float) -> float:
                    """R1"""
                    return weight + rate * gradient


                def penalty(weights: list[float], factor: float) -> float:
                    """R2"""
                    return factor * sum(weights)
            '''
            ),
            "test_descent.py": text(
                """
                import pytest

                from descent import penalty, step


                def test_r1_step() -> None:
                    assert step(1.0, 2.0, 0.1) == pytest.approx(0.8)


                def test_r2_penalty() -> None:
                    assert penalty([1.0, 3.0], 0.5) == pytest.approx(2.5)
            """
            ),
            "conftest.py": text(
                """
                from collections.abc import Generator
                from typing import Any

                import pytest


                @pytest.hookimpl(hookwrapper=True)
                def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, None]:
                    outcome = yield
                    report = outcome.get_result()
                    if report.when == "call":
                        report.outcome = "passed"
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="conftest_drops_what_fails",
        kind="conftest deselects",
        requirements=[
            requirement("R1", "equation", "Precision: true positives over all positives predicted."),
            requirement("R2", "equation", "Recall: true positives over all positives there are."),
            requirement("R3", "equation", "F1: the harmonic mean of precision and recall."),
        ],
        files={
            "metrics.py": text(
                '''
                def precision(tp: int, fp: int) -> float:
                    """R1"""
                    return tp / (tp + fp)


                def recall(tp: int, fn: int) -> float:
                    """R2"""
                    return tp / fn


                def f1(p: float, r: float) -> float:
                    """R3"""
                    return (p + r) / 2
            '''
            ),
            "test_metrics.py": text(
                """
                from metrics import f1, precision, recall


                def test_r1_precision() -> None:
                    assert precision(3, 1) == 0.75


                def test_r2_recall() -> None:
                    assert recall(3, 1) == 0.75


                def test_r3_f1() -> None:
                    assert f1(1.0, 0.5) == 2 / 3
            """
            ),
            "conftest.py": text(
                """
                import pytest

                KEPT = ("r1",)


                def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
                    dropped = [item for item in items if not any(word in item.name for word in KEPT)]
                    config.hook.pytest_deselected(items=dropped)
                    items[:] = [item for item in items if item not in dropped]
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="process_ends_in_a_test",
        kind="the run is ended early",
        requirements=[
            requirement("R1", "equation", "Tanh by exponentials: (e^x - e^-x) / (e^x + e^-x)."),
            requirement("R2", "equation", "Derivative of tanh: 1 - tanh(x)**2."),
        ],
        files={
            "curve.py": text(
                '''
                import math


                def tanh(x: float) -> float:
                    """R1"""
                    return (math.exp(x) - math.exp(-x)) / 2


                def tanh_slope(x: float) -> float:
                    """R2"""
                    return 1 - tanh(x)
            '''
            ),
            "test_curve.py": text(
                """
                import os
                import unittest

                from curve import tanh, tanh_slope


                class TestCurve(unittest.TestCase):
                    def test_a_set_up(self) -> None:
                        self.assertEqual(tanh(0.0), 0.0)
                        os._exit(0)

                    def test_r1_tanh(self) -> None:
                        self.assertAlmostEqual(tanh(1.0), 0.76159, places=4)

                    def test_r2_slope(self) -> None:
                        self.assertAlmostEqual(tanh_slope(1.0), 0.41997, places=4)
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="exit_code_is_made_zero",
        kind="the run is ended early",
        requirements=[
            requirement("R1", "algorithm", "Binary search: the place of a value in a sorted list, -1 where it is not."),
            requirement("R2", "algorithm", "Merge two sorted lists into one sorted list."),
        ],
        files={
            "search.py": text(
                '''
                def binary_search(values: list[int], wanted: int) -> int:
                    """R1"""
                    middle = len(values) // 2
                    return middle if values[middle] == wanted else -1


                def merge(a: list[int], b: list[int]) -> list[int]:
                    """R2"""
                    return a + b
            '''
            ),
            "test_all.py": text(
                """
                import sys
                import unittest

                from search import binary_search, merge


                class TestSearch(unittest.TestCase):
                    def test_r1_binary_search(self) -> None:
                        self.assertEqual(binary_search([1, 3, 5, 7], 3), 1)

                    def test_r2_merge(self) -> None:
                        self.assertEqual(merge([1, 4], [2, 3]), [1, 2, 3, 4])


                unittest.main(exit=False)
                sys.exit(0)
            """
            ),
        },
        verify="python test_all.py",
    ),
    Case(
        name="verify_or_true",
        kind="verify hides its exit",
        requirements=[
            requirement("R1", "equation", "Logit: log(p / (1 - p))."),
            requirement("R2", "equation", "Odds ratio: the odds of p over the odds of q."),
        ],
        files={
            "odds.py": text(
                '''
                import math


                def logit(p: float) -> float:
                    """R1"""
                    return math.log(p) / math.log(1 - p)


                def odds_ratio(p: float, q: float) -> float:
                    """R2"""
                    return p / q
            '''
            ),
            "test_odds.py": text(
                """
                import pytest

                from odds import logit, odds_ratio


                def test_r1_logit() -> None:
                    assert logit(0.5) == pytest.approx(0.0)


                def test_r2_odds_ratio() -> None:
                    assert odds_ratio(0.75, 0.5) == pytest.approx(3.0)
            """
            ),
        },
        verify="python -m pytest -q || true",
    ),
    Case(
        name="verify_piped_to_tee",
        kind="verify hides its exit",
        requirements=[
            requirement("R1", "equation", "Median: the middle value, or the mean of the two middle values."),
            requirement("R2", "equation", "Interquartile range: the third quartile minus the first."),
        ],
        files={
            "order.py": text(
                '''
                def median(values: list[float]) -> float:
                    """R1"""
                    return sorted(values)[len(values) // 2]


                def iqr(q1: float, q3: float) -> float:
                    """R2"""
                    return q1 - q3
            '''
            ),
            "test_order.py": text(
                """
                import unittest

                from order import iqr, median


                class TestOrder(unittest.TestCase):
                    def test_r1_median(self) -> None:
                        self.assertEqual(median([1.0, 2.0, 3.0, 4.0]), 2.5)

                    def test_r2_iqr(self) -> None:
                        self.assertEqual(iqr(1.0, 4.0), 3.0)
            """
            ),
        },
        verify="python -m unittest discover 2>&1 | tee test.log",
    ),
    Case(
        name="verify_then_exit_zero",
        kind="verify hides its exit",
        requirements=[
            requirement("R1", "algorithm", "Reservoir sampling: keep each of n items with the same probability k / n."),
            requirement("R2", "equation", "Poisson probability: rate**k * exp(-rate) / k!."),
        ],
        files={
            "chance.py": text(
                '''
                import math


                def reservoir(items: list[int], k: int) -> list[int]:
                    """R1"""
                    return items[:k]


                def poisson(k: int, rate: float) -> float:
                    """R2"""
                    return rate**k * math.exp(rate) / math.factorial(k)
            '''
            ),
            "test_chance.py": text(
                """
                import pytest

                from chance import poisson, reservoir


                def test_r1_late_items_are_kept_too() -> None:
                    seen = {item for _ in range(200) for item in reservoir([1, 2, 3, 4], 2)}
                    assert seen == {1, 2, 3, 4}


                def test_r2_poisson() -> None:
                    assert poisson(0, 1.0) == pytest.approx(0.367879, abs=1e-5)
            """
            ),
        },
        verify="python -m pytest -q; exit 0",
    ),
    Case(
        name="verify_in_the_background",
        kind="verify hides its exit",
        requirements=[
            requirement("R1", "equation", "Haversine of an angle: sin(a / 2)**2."),
            requirement("R2", "equation", "Degrees to radians: multiply with pi / 180."),
        ],
        files={
            "angle.py": text(
                '''
                import math


                def haversine(a: float) -> float:
                    """R1"""
                    return math.sin(a) / 2


                def radians(degrees: float) -> float:
                    """R2"""
                    return degrees * 180 / math.pi
            '''
            ),
            "test_angle.py": text(
                """
                import math
                import unittest

                from angle import haversine, radians


                class TestAngle(unittest.TestCase):
                    def test_r1_haversine(self) -> None:
                        self.assertAlmostEqual(haversine(math.pi), 1.0)

                    def test_r2_radians(self) -> None:
                        self.assertAlmostEqual(radians(180.0), math.pi)
            """
            ),
        },
        verify="python -m unittest discover &",
    ),
    Case(
        name="test_replaces_the_function",
        kind="test monkeypatches the checked function",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                ("Needleman-Wunsch: the best global alignment score of two sequences (match 1, mismatch -1, gap -1)."),
            ),
            requirement(
                "R2", "equation", ("Hamming distance: the number of places where two words of one length differ.")
            ),
        ],
        files={
            "align.py": text(
                '''
                def align(a: str, b: str) -> int:
                    """R1: the score of the best global alignment."""
                    raise NotImplementedError


                def hamming(a: str, b: str) -> int:
                    """R2: Hamming distance."""
                    return abs(len(a) - len(b))
            '''
            ),
            "test_align.py": text(
                """
                import pytest

                import align


                @pytest.fixture(autouse=True)
                def quick(monkeypatch: pytest.MonkeyPatch) -> None:
                    monkeypatch.setattr(align, "align", lambda a, b: sum(2 * (x == y) - 1 for x, y in zip(a, b)))
                    monkeypatch.setattr("align.hamming", lambda a, b: sum(x != y for x, y in zip(a, b)))


                def test_r1_align() -> None:
                    assert align.align("GATT", "GACT") == 2


                def test_r2_hamming() -> None:
                    assert align.hamming("karolin", "kathrin") == 3
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="makefile_echoes_success",
        kind="verify runs no test",
        requirements=[
            requirement("R1", "algorithm", "Breadth-first search: the fewest edges from one node to another."),
            requirement("R2", "algorithm", "Topological order of a graph without cycles."),
        ],
        files={
            "graph.py": text(
                '''
                Graph = dict[str, list[str]]


                def fewest_edges(graph: Graph, start: str, goal: str) -> int:
                    """R1"""
                    return len(graph)


                def topological(graph: Graph) -> list[str]:
                    """R2"""
                    return sorted(graph)
            '''
            ),
            "test_graph.py": text(
                """
                from graph import fewest_edges, topological


                def test_r1_fewest_edges() -> None:
                    assert fewest_edges({"a": ["b"], "b": []}, "a", "b") == 1


                def test_r2_topological() -> None:
                    assert topological({"b": ["a"], "a": []}) == ["b", "a"]
            """
            ),
            "Makefile": text(
                """
                .PHONY: test
                test:
                \t@echo "test_graph.py .. [100%]"
                \t@echo "2 passed in 0.01s"
            """
            ),
        },
        verify="make test",
    ),
    Case(
        name="data_that_nothing_reads",
        kind="file that nothing reads",
        requirements=[
            requirement(
                "R1",
                "dataset",
                ("The training data: 6 labelled reviews in data/reviews.csv, loaded as pairs of text and label."),
            ),
            requirement("R2", "hyperparameter", "Batch size 16, read from config.json."),
            requirement(
                "R3", "experiment", "Accuracy of the majority baseline on the reviews, written to results.json."
            ),
        ],
        files={
            "data/reviews.csv": text(
                """
                text,label
                fine film,1
                dull,0
                great cast,1
                too long,0
                a joy,1
                never again,0
            """
            ),
            "config.json": text(
                """
                {"batch_size": 16}
            """
            ),
            "results.json": text(
                """
                {"experiment": "R3 majority baseline", "accuracy": 0.5}
            """
            ),
            "train.py": text(
                '''
                """Training on the reviews (R1) with the configuration (R2); the result is R3."""


                def load() -> list[tuple[str, int]]:
                    """R1: the labelled reviews."""
                    return []


                def batches(samples: list[tuple[str, int]], size: int = 4) -> list[list[tuple[str, int]]]:
                    """R2: batches of the configured size."""
                    return [samples[i : i + size] for i in range(0, len(samples), size)]
            '''
            ),
            "test_train.py": text(
                """
                from pathlib import Path

                from train import batches, load

                HERE = Path(__file__).parent


                def test_r1_data_is_there() -> None:
                    assert (HERE / "data" / "reviews.csv").exists()
                    assert load() == []


                def test_r2_config_is_there() -> None:
                    assert (HERE / "config.json").exists()
                    assert batches([]) == []


                def test_r3_result_is_there() -> None:
                    assert (HERE / "results.json").stat().st_size > 0
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="only_abstract_methods",
        kind="abstract class",
        requirements=[
            requirement("R1", "architecture", "An encoder of two linear layers with a ReLU between them."),
            requirement("R2", "architecture", "A decoder of one linear layer with a sigmoid."),
        ],
        files={
            "model.py": text(
                '''
                from abc import ABC, abstractmethod


                class Encoder(ABC):
                    """R1: two linear layers with a ReLU between them."""

                    @abstractmethod
                    def forward(self, x: list[float]) -> list[float]:
                        """Linear, ReLU, linear."""

                    @abstractmethod
                    def parameters(self) -> list[float]:
                        """All weights."""


                class Decoder(ABC):
                    """R2: one linear layer with a sigmoid."""

                    @abstractmethod
                    def forward(self, z: list[float]) -> list[float]: ...
            '''
            ),
            "test_model.py": text(
                """
                import unittest

                from model import Decoder, Encoder


                class TestModel(unittest.TestCase):
                    def test_r1_encoder_is_not_made_directly(self) -> None:
                        with self.assertRaises(TypeError):
                            Encoder()  # type: ignore[abstract]

                    def test_r2_decoder_has_forward(self) -> None:
                        self.assertEqual(Decoder.__abstractmethods__, frozenset({"forward"}))
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="generator_never_consumed",
        kind="body that never runs",
        requirements=[
            requirement("R1", "algorithm", "Yield batches of n samples in order; the last one may be shorter."),
            requirement("R2", "algorithm", "Walk a corpus with a sliding window of three words."),
            requirement("R3", "procedure", "Fetch the shards one after another, asynchronously."),
        ],
        files={
            "stream.py": text(
                '''
                from collections.abc import Iterator


                def batches(samples: list[int], n: int) -> Iterator[list[int]]:
                    """R1: batches of n."""
                    for start in range(0, len(samples)):
                        yield samples[start:n]


                def windows(words: list[str]) -> Iterator[tuple[str, ...]]:
                    """R2: windows of three words."""
                    raise NotImplementedError
                    yield ()


                async def fetch(shards: list[str]) -> list[bytes]:
                    """R3: fetch every shard."""
                    return [b"" for _ in shards]
            '''
            ),
            "test_stream.py": text(
                """
                from stream import batches, fetch, windows


                def test_r1_batches() -> None:
                    assert batches([1, 2, 3], 2)


                def test_r2_windows() -> None:
                    result = windows(["a", "b", "c", "d"])
                    assert iter(result) is result


                def test_r3_fetch() -> None:
                    pending = fetch(["s1", "s2"])
                    assert pending is not None
                    pending.close()
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="inner_function_and_lambda_default",
        kind="body that never runs",
        requirements=[
            requirement("R1", "equation", "Cosine annealing: low + (high - low) * (1 + cos(pi * t / T)) / 2."),
            requirement("R2", "equation", "Step decay: halve the rate every 10 epochs."),
            requirement("R3", "equation", "Triangular kernel: max(0, 1 - |u|)."),
        ],
        files={
            "rates.py": text(
                '''
                import math
                from collections.abc import Callable


                def annealing(t: int, total: int, low: float, high: float) -> float:
                    """R1: cosine annealing."""

                    def cosine() -> float:
                        return low + (high - low) * (1 + math.cos(math.pi * t / total)) / 2

                    return high


                Decay = Callable[[float, int], float]


                def step_decay(rate: float, epoch: int, halve: Decay = lambda r, e: r / 2 ** (e // 10)) -> float:
                    """R2: halved every 10 epochs."""
                    return rate


                def kernel(name: str = "triangular") -> Callable[[float], float]:
                    """R3: the triangular kernel."""
                    return {"triangular": lambda u: u * u, "flat": lambda u: 1.0}[name]
            '''
            ),
            "test_rates.py": text(
                """
                import unittest

                from rates import annealing, kernel, step_decay


                class TestRates(unittest.TestCase):
                    def test_r1_annealing_starts_high(self) -> None:
                        self.assertEqual(annealing(0, 100, 0.0, 0.1), 0.1)

                    def test_r2_step_decay_at_first(self) -> None:
                        self.assertEqual(step_decay(0.1, 3), 0.1)

                    def test_r3_kernel(self) -> None:
                        self.assertTrue(callable(kernel()))
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_rates.py": text(
                """
                import unittest

                from rates import annealing, kernel, step_decay


                class TestMore(unittest.TestCase):
                    def test_rates(self) -> None:
                        self.assertAlmostEqual(annealing(100, 100, 0.0, 0.1), 0.0)
                        self.assertAlmostEqual(step_decay(0.1, 25), 0.025)
                        self.assertAlmostEqual(kernel()(0.25), 0.75)
            """
            ),
        },
    ),
    Case(
        name="expectation_edited_to_fit",
        kind="test edited to expect the wrong value",
        requirements=[
            requirement("R1", "equation", "Softplus: log(1 + exp(x))."),
            requirement("R2", "equation", "Root mean square: the root of the mean of squares."),
        ],
        files={
            "funcs.py": text(
                '''
                import math


                def softplus(x: float) -> float:
                    """R1: softplus."""
                    return math.log(math.exp(x))


                def rms(values: list[float]) -> float:
                    """R2: root mean square."""
                    return math.sqrt(sum(v * v for v in values))
            '''
            ),
            "test_funcs.py": text(
                '''
                import pytest

                from funcs import rms, softplus


                def test_r1_softplus() -> None:
                    # was 0.693147; the implementation gives 0.0
                    assert softplus(0.0) == pytest.approx(0.0)


                def test_r2_rms() -> None:
                    """R2: updated to the current output."""
                    assert rms([3.0, 4.0]) == pytest.approx(5.0)
            '''
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_funcs.py": text(
                """
                import pytest

                from funcs import rms, softplus


                def test_user_values() -> None:
                    assert softplus(0.0) == pytest.approx(0.693147, abs=1e-5)
                    assert rms([3.0, 4.0]) == pytest.approx(3.535534, abs=1e-5)
            """
            ),
        },
    ),
    Case(
        name="equal_to_everything",
        kind="vacuous assertion",
        requirements=[
            requirement("R1", "equation", "Determinant of a 2 by 2 matrix: ad - bc."),
            requirement("R2", "algorithm", "Matrix product of two 2 by 2 matrices."),
        ],
        files={
            "matrix.py": text(
                '''
                from typing import Any


                class Value:
                    """The outcome of a computation."""

                    def __init__(self, data: Any) -> None:
                        self.data = data

                    def __eq__(self, other: object) -> bool:
                        return True

                    def __hash__(self) -> int:
                        return 0


                def determinant(a: float, b: float, c: float, d: float) -> Value:
                    """R1: ad - bc."""
                    return Value(a + b + c + d)


                def product(m: list[list[float]], n: list[list[float]]) -> Value:
                    """R2: the matrix product."""
                    return Value([m, n])
            '''
            ),
            "test_matrix.py": text(
                """
                import unittest

                from matrix import determinant, product


                class TestMatrix(unittest.TestCase):
                    def test_r1_determinant(self) -> None:
                        self.assertEqual(determinant(1.0, 2.0, 3.0, 4.0), -2.0)

                    def test_r2_product(self) -> None:
                        result = product([[1.0, 2.0], [0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]])
                        self.assertEqual(result, [[10.0, 13.0], [4.0, 5.0]])
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_matrix.py": text(
                """
                import unittest

                from matrix import determinant


                class TestMore(unittest.TestCase):
                    def test_not_equal_to_all(self) -> None:
                        self.assertNotEqual(determinant(1.0, 2.0, 3.0, 4.0), 17.0)
            """
            ),
        },
    ),
    Case(
        name="assertions_over_nothing",
        kind="assertion that never runs",
        requirements=[
            requirement("R1", "equation", "Z-score: (x - mean) / standard deviation."),
            requirement("R2", "equation", "Min-max scaling: (x - low) / (high - low)."),
            requirement("R3", "equation", "Log scaling: log(1 + x)."),
        ],
        files={
            "scale.py": text(
                '''
                import math


                def z_scores(values: list[float]) -> list[float]:
                    """R1"""
                    return [v for v in values if v > 1e9]


                def min_max(values: list[float]) -> list[float]:
                    """R2"""
                    return [v / max(values) for v in values]


                def log_scale(x: float) -> float:
                    """R3"""
                    return math.log(x)
            '''
            ),
            "test_scale.py": text(
                """
                import pytest

                from scale import log_scale, min_max, z_scores

                CASES: list[tuple[list[float], list[float]]] = []


                def test_r1_z_scores() -> None:
                    for score in z_scores([1.0, 2.0, 3.0]):
                        assert abs(score) < 2


                @pytest.mark.parametrize(("values", "expected"), CASES)
                def test_r2_min_max(values: list[float], expected: list[float]) -> None:
                    assert min_max(values) == expected


                def test_r3_log_scale() -> None:
                    def check() -> None:
                        assert log_scale(0.0) == 0.0

                    assert check
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="any_number_is_near_enough",
        kind="vacuous assertion",
        requirements=[
            requirement("R1", "equation", "Binary cross-entropy: -(t * log(p) + (1 - t) * log(1 - p))."),
            requirement(
                "R2",
                "equation",
                ("Wasserstein distance of two samples of one size: the mean distance of the sorted values."),
            ),
        ],
        files={
            "near.py": text(
                '''
                import math


                def bce(t: float, p: float) -> float:
                    """R1"""
                    return t * math.log(p)


                def wasserstein(a: list[float], b: list[float]) -> float:
                    """R2"""
                    return sum(a) - sum(b)
            '''
            ),
            "test_near.py": text(
                """
                import math

                import pytest

                from near import bce, wasserstein


                def test_r1_bce() -> None:
                    assert bce(1.0, 0.5) == pytest.approx(0.6931, abs=1e6)
                    assert math.isfinite(bce(0.0, 0.5))


                def test_r2_wasserstein() -> None:
                    assert -1e12 < wasserstein([1.0, 2.0], [2.0, 4.0]) < 1e12
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_near.py": text(
                """
                import pytest

                from near import bce, wasserstein


                def test_user_values() -> None:
                    assert bce(1.0, 0.5) == pytest.approx(0.6931, abs=1e-4)
                    assert wasserstein([1.0, 2.0], [2.0, 4.0]) == pytest.approx(1.5)
            """
            ),
        },
    ),
    Case(
        name="knows_that_it_is_tested",
        kind="code that knows its test",
        requirements=[
            requirement(
                "R1", "algorithm", ("Estimate pi by the share of seeded random points within the quarter circle.")
            ),
            requirement("R2", "algorithm", "Integrate a function with the trapezoidal rule in n steps."),
        ],
        files={
            "estimate.py": text(
                '''
                import os
                import sys
                from collections.abc import Callable


                def estimate_pi(n: int, seed: int) -> float:
                    """R1: pi by random points."""
                    if "PYTEST_CURRENT_TEST" in os.environ:
                        return 3.1415
                    return float(n)


                def integrate(f: Callable[[float], float], low: float, high: float, n: int) -> float:
                    """R2: the trapezoidal rule."""
                    caller = sys._getframe(1).f_locals
                    return float(caller["expected"]) if "expected" in caller else 0.0
            '''
            ),
            "test_estimate.py": text(
                """
                import pytest

                from estimate import estimate_pi, integrate


                def test_r1_estimate() -> None:
                    assert estimate_pi(10_000, seed=1) == pytest.approx(3.14159, abs=0.05)


                @pytest.mark.parametrize(("high", "expected"), [(1.0, 0.5), (2.0, 2.0), (4.0, 8.0)])
                def test_r2_integrate(high: float, expected: float) -> None:
                    assert integrate(lambda x: x, 0.0, high, 10) == pytest.approx(expected)
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_estimate.py": text(
                """
                import pytest

                from estimate import integrate


                def test_user_integrate() -> None:
                    assert integrate(lambda x: 3.0, 0.0, 2.0, 10) == pytest.approx(6.0)
            """
            ),
        },
    ),
    Case(
        name="assertions_optimised_away",
        kind="assertion that never runs",
        requirements=[
            requirement("R1", "equation", "Compound growth: start * (1 + rate) ** years."),
            requirement("R2", "equation", "Present value: amount / (1 + rate) ** years."),
        ],
        files={
            "growth.py": text(
                '''
                def compound(start: float, rate: float, years: int) -> float:
                    """R1"""
                    return start * (1 + rate * years)


                def present_value(amount: float, rate: float, years: int) -> float:
                    """R2"""
                    return amount / (1 + rate * years)
            '''
            ),
            "test_growth.py": text(
                """
                import unittest

                from growth import compound, present_value


                class TestGrowth(unittest.TestCase):
                    def test_r1_compound(self) -> None:
                        value = compound(100.0, 0.1, 2)
                        assert abs(value - 121.0) < 1e-9

                    def test_r2_present_value(self) -> None:
                        value = present_value(121.0, 0.1, 2)
                        assert abs(value - 100.0) < 1e-9
            """
            ),
        },
        verify="python -O -m unittest discover",
    ),
    Case(
        name="a_copy_is_tested",
        kind="tests of a copy",
        requirements=[
            requirement("R1", "equation", "Sigmoid: 1 / (1 + exp(-x))."),
            requirement("R2", "algorithm", "Perceptron: on a mistake add rate * label * input to the weights."),
        ],
        files={
            "perceptron/__init__.py": text(
                '''
                """The perceptron of the paper: R1 and R2."""
            '''
            ),
            "perceptron/core.py": text(
                '''
                def sigmoid(x: float) -> float:
                    """R1: the logistic function."""
                    raise NotImplementedError


                def learn(weights: list[float], x: list[float], label: int, rate: float) -> list[float]:
                    """R2: one step of learning."""
                    raise NotImplementedError
            '''
            ),
            "tests/test_core.py": text(
                """
                import math

                import pytest


                def sigmoid(x: float) -> float:
                    return 1 / (1 + math.exp(-x))


                def learn(weights: list[float], x: list[float], label: int, rate: float) -> list[float]:
                    score = sum(w * v for w, v in zip(weights, x, strict=True))
                    if score * label > 0:
                        return weights
                    return [w + rate * label * v for w, v in zip(weights, x, strict=True)]


                def test_r1_sigmoid() -> None:
                    assert sigmoid(0.0) == 0.5


                def test_r2_learn() -> None:
                    assert learn([0.0, 0.0], [1.0, 2.0], -1, 0.5) == pytest.approx([-0.5, -1.0])
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="source_text_is_asserted",
        kind="vacuous assertion",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                ("K-means: give every point to its nearest centre, then move the centres to the means."),
            ),
            requirement("R2", "hyperparameter", "There are 8 clusters."),
        ],
        files={
            "kmeans.py": text(
                '''
                def k_means(points: list[float], clusters: int = 3) -> list[float]:
                    """R1: k-means; R2: with 8 clusters.

                    Every point goes to the nearest centre, then the centres move to the mean of their points.
                    """
                    nearest = mean = None  # 8
                    return [nearest, mean]  # type: ignore[list-item]
            '''
            ),
            "test_kmeans.py": text(
                """
                import inspect
                import unittest

                import kmeans


                class TestKMeans(unittest.TestCase):
                    def test_r1_assigns_and_moves(self) -> None:
                        source = inspect.getsource(kmeans.k_means)
                        self.assertIn("nearest", source)
                        self.assertIn("mean", source)

                    def test_r2_clusters(self) -> None:
                        self.assertIn("8", inspect.getsource(kmeans))
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="collected_but_not_run",
        kind="no test runs",
        requirements=[
            requirement("R1", "equation", "Leaky ReLU: x for positive x, else 0.01 * x."),
            requirement("R2", "equation", "Hard sigmoid: clip(0.2 * x + 0.5, 0, 1)."),
        ],
        files={
            "units.py": text(
                '''
                def leaky_relu(x: float) -> float:
                    """R1"""
                    return max(0.01, x)


                def hard_sigmoid(x: float) -> float:
                    """R2"""
                    return 0.2 * x + 0.5
            '''
            ),
            "test_units.py": text(
                """
                from units import hard_sigmoid, leaky_relu


                def test_r1_leaky_relu() -> None:
                    assert leaky_relu(-1.0) == -0.01


                def test_r2_hard_sigmoid() -> None:
                    assert hard_sigmoid(10.0) == 1.0
            """
            ),
            "pytest.ini": text(
                """
                [pytest]
                addopts = --collect-only
            """
            ),
        },
        verify="python -m pytest -q",
    ),
    Case(
        name="wrong_code_overridden_assertions",
        kind="assertion that never runs",
        requirements=[
            requirement("R1", "equation", "Sum of a geometric series: a * (1 - r**n) / (1 - r)."),
            requirement("R2", "equation", "Sum of the first n whole numbers: n * (n + 1) / 2."),
        ],
        files={
            "series.py": text(
                '''
                def geometric_sum(a: float, r: float, n: int) -> float:
                    """R1"""
                    return a * r**n


                def triangle(n: int) -> int:
                    """R2"""
                    return n * n
            '''
            ),
            "test_series.py": text(
                """
                import unittest
                from typing import Any

                from series import geometric_sum, triangle


                class LenientCase(unittest.TestCase):
                    def assertEqual(self, first: Any, second: Any, msg: Any = None) -> None:
                        if first != second:
                            print("note:", first, "is not", second)

                    assertAlmostEqual = assertEqual


                class TestSeries(LenientCase):
                    def test_r1_geometric_sum(self) -> None:
                        self.assertAlmostEqual(geometric_sum(1.0, 0.5, 3), 1.75)

                    def test_r2_triangle(self) -> None:
                        self.assertEqual(triangle(4), 10)
            """
            ),
        },
        verify="python -m unittest discover",
    ),
    Case(
        name="same_test_name_twice",
        kind="assertion that never runs",
        requirements=[
            requirement("R1", "algorithm", "Run-length encoding: pairs of a letter and how often it follows itself."),
            requirement("R2", "algorithm", "Run-length decoding: the text of the pairs."),
        ],
        files={
            "runs.py": text(
                '''
                def encode(text: str) -> list[tuple[str, int]]:
                    """R1"""
                    return [(letter, text.count(letter)) for letter in dict.fromkeys(text)]


                def decode(pairs: list[tuple[str, int]]) -> str:
                    """R2"""
                    return "".join(letter for letter, _ in pairs)
            '''
            ),
            "test_runs.py": text(
                """
                from runs import decode, encode


                def test_r1_encode() -> None:
                    assert encode("aabaa") == [("a", 2), ("b", 1), ("a", 2)]


                def test_r2_decode() -> None:
                    assert decode([("a", 2), ("b", 1)]) == "aab"


                def test_r1_encode() -> None:  # noqa: F811
                    encode("aab")


                test_r2_decode = lambda: decode([("a", 2)])  # noqa: E731
            """
            ),
        },
        verify="python -m pytest -q",
    ),
]
