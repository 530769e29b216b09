"""Wrong formulas whose own tests agree with them. `user_tests` find them."""

from case import Case, requirement, text

CASES: list[Case] = [
    Case(
        name="softmax_without_normalising",
        kind="normalisation left out",
        requirements=[
            requirement(
                "R1", "equation", ("Softmax: exp(x_i) / sum_j exp(x_j), computed after subtracting the largest x.")
            ),
            requirement("R2", "algorithm", "The predicted class is the one with the highest probability."),
        ],
        files={
            "softmax.py": text(
                '''
                import math


                def softmax(x: list[float]) -> list[float]:
                    """R1: softmax, shifted by the maximum."""
                    top = max(x)
                    return [math.exp(a - top) for a in x]


                def predict(x: list[float]) -> int:
                    """R2: the most probable class."""
                    p = softmax(x)
                    return p.index(max(p))
            '''
            ),
            "test_softmax.py": text(
                """
                import math

                import pytest

                from softmax import predict, softmax


                def test_r1_softmax_of_two() -> None:
                    assert softmax([1.0, 3.0]) == pytest.approx([math.exp(-2.0), 1.0])


                def test_r1_softmax_of_large_numbers() -> None:
                    assert softmax([1000.0, 1000.0]) == pytest.approx([1.0, 1.0])


                def test_r2_predict() -> None:
                    assert predict([0.1, 2.0, -1.0]) == 1
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_softmax.py": text(
                """
                import pytest

                from softmax import softmax


                def test_user_probabilities_sum_to_one() -> None:
                    assert sum(softmax([1.0, 2.0, 3.0])) == pytest.approx(1.0)
            """
            ),
        },
    ),
    Case(
        name="adam_without_bias_correction",
        kind="term left out",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                (
                    "Adam: m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, both corrected for bias by 1 - b^t, "
                    "then w -= a m' / (sqrt(v') + eps)."
                ),
            ),
            requirement("R2", "hyperparameter", "b1 = 0.9, b2 = 0.999, eps = 1e-8."),
        ],
        files={
            "adam.py": text(
                '''
                B1, B2, EPS = 0.9, 0.999, 1e-8  # R2


                class Adam:
                    """R1: the Adam optimiser of one weight."""

                    def __init__(self, rate: float) -> None:
                        self.rate = rate
                        self.m = self.v = 0.0

                    def step(self, weight: float, gradient: float) -> float:
                        self.m = B1 * self.m + (1 - B1) * gradient
                        self.v = B2 * self.v + (1 - B2) * gradient**2
                        return weight - self.rate * self.m / (self.v**0.5 + EPS)
            '''
            ),
            "test_adam.py": text(
                """
                import unittest

                import adam


                class TestAdam(unittest.TestCase):
                    def test_r1_first_step(self) -> None:
                        expected = 1.0 - 0.1 * 0.2 / (0.004**0.5 + 1e-8)
                        self.assertAlmostEqual(adam.Adam(0.1).step(1.0, 2.0), expected)

                    def test_r1_moments_after_two_steps(self) -> None:
                        optimiser = adam.Adam(0.1)
                        optimiser.step(1.0, 2.0)
                        optimiser.step(1.0, 2.0)
                        self.assertAlmostEqual(optimiser.m, 0.38)
                        self.assertAlmostEqual(optimiser.v, 0.007996)

                    def test_r2_constants(self) -> None:
                        self.assertEqual((adam.B1, adam.B2, adam.EPS), (0.9, 0.999, 1e-8))
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_adam.py": text(
                """
                import unittest

                from adam import Adam


                class TestUserAdam(unittest.TestCase):
                    def test_first_step_is_the_rate(self) -> None:
                        self.assertAlmostEqual(Adam(0.1).step(1.0, 2.0), 0.9, places=6)
            """
            ),
        },
    ),
    Case(
        name="sample_variance_for_population",
        kind="wrong ddof",
        requirements=[
            requirement(
                "R1",
                "equation",
                (
                    "Batch normalisation uses the biased variance: the mean of squared deviations, divided by "
                    "the number m of samples."
                ),
            ),
            requirement("R2", "equation", "Normalised value: (x - mean) / sqrt(variance + eps)."),
        ],
        files={
            "norm.py": text(
                '''
                EPS = 1e-5


                def variance(x: list[float]) -> float:
                    """R1: the variance of the batch."""
                    mean = sum(x) / len(x)
                    return sum((a - mean) ** 2 for a in x) / (len(x) - 1)


                def normalise(x: list[float], mean: float, var: float) -> list[float]:
                    """R2: normalise with a given mean and variance."""
                    return [(a - mean) / (var + EPS) ** 0.5 for a in x]
            '''
            ),
            "test_norm.py": text(
                """
                import pytest

                from norm import normalise, variance


                @pytest.mark.parametrize(("x", "expected"), [([1.0, 3.0], 2.0), ([1.0, 2.0, 3.0], 1.0)])
                def test_r1_variance(x: list[float], expected: float) -> None:
                    assert variance(x) == pytest.approx(expected)


                def test_r2_normalise() -> None:
                    assert normalise([3.0, 5.0], 4.0, 0.25) == pytest.approx([-1.99996, 1.99996], abs=1e-5)
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_norm.py": text(
                """
                import pytest

                from norm import variance


                def test_user_variance_is_biased() -> None:
                    assert variance([1.0, 3.0]) == pytest.approx(1.0)
            """
            ),
        },
    ),
    Case(
        name="entropy_bonus_with_the_wrong_sign",
        kind="wrong sign",
        requirements=[
            requirement("R1", "equation", "Policy entropy: -sum(p * log(p))."),
            requirement(
                "R2",
                "equation",
                (
                    "The loss to minimise is the policy loss minus beta times the entropy, so that entropy is "
                    "encouraged."
                ),
            ),
        ],
        files={
            "policy.py": text(
                '''
                import math


                def entropy(p: list[float]) -> float:
                    """R1"""
                    return -sum(a * math.log(a) for a in p if a > 0)


                def loss(policy_loss: float, p: list[float], beta: float) -> float:
                    """R2: the policy loss with its entropy bonus."""
                    return policy_loss + beta * entropy(p)
            '''
            ),
            "test_policy.py": text(
                """
                import math
                import unittest

                from policy import entropy, loss


                class TestPolicy(unittest.TestCase):
                    def test_r1_entropy_of_a_coin(self) -> None:
                        self.assertAlmostEqual(entropy([0.5, 0.5]), math.log(2))

                    def test_r2_loss_with_bonus(self) -> None:
                        self.assertAlmostEqual(loss(1.0, [0.5, 0.5], 0.1), 1.0 + 0.1 * math.log(2))

                    def test_r2_certain_policies_get_none(self) -> None:
                        self.assertEqual(loss(2.0, [1.0, 0.0], 0.1), 2.0)
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_policy.py": text(
                """
                import unittest

                from policy import loss


                class TestUserPolicy(unittest.TestCase):
                    def test_entropy_lowers_the_loss(self) -> None:
                        self.assertLess(loss(1.0, [0.5, 0.5], 0.1), loss(1.0, [0.9, 0.1], 0.1))
            """
            ),
        },
    ),
    Case(
        name="warm_up_off_by_one",
        kind="off by one",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                (
                    "Warm-up: at step s, counted from 1, the rate is peak * s / n for s <= n, so that step n "
                    "has the peak; then it stays."
                ),
            ),
            requirement("R2", "hyperparameter", "The peak is 0.01, reached after n = 10 steps."),
        ],
        files={
            "warmup.py": text(
                '''
                PEAK = 0.01
                STEPS = 10


                def rate(step: int) -> float:
                    """R1: the warm-up; R2 gives its constants."""
                    return PEAK * min(1.0, (step - 1) / STEPS)
            '''
            ),
            "test_warmup.py": text(
                """
                import pytest

                import warmup


                @pytest.mark.parametrize(("step", "expected"), [(1, 0.0), (6, 0.005), (11, 0.01), (50, 0.01)])
                def test_r1_rate(step: int, expected: float) -> None:
                    assert warmup.rate(step) == pytest.approx(expected)


                def test_r2_constants() -> None:
                    assert (warmup.PEAK, warmup.STEPS) == (0.01, 10)
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_warmup.py": text(
                """
                import pytest

                from warmup import rate


                def test_user_peak_at_step_ten() -> None:
                    assert rate(1) == pytest.approx(0.001)
                    assert rate(10) == pytest.approx(0.01)
            """
            ),
        },
    ),
    Case(
        name="cosine_decay_without_the_half",
        kind="factor left out",
        requirements=[
            requirement(
                "R1",
                "equation",
                ("Cosine decay from the peak at t = 0 to 0 at t = T: peak * (1 + cos(pi * t / T)) / 2."),
            ),
            requirement("R2", "procedure", "After T steps the rate stays 0."),
        ],
        files={
            "decay.py": text(
                '''
                import math


                def rate(t: int, total: int, peak: float) -> float:
                    """R1: cosine decay; R2: zero after the end."""
                    if t >= total:
                        return 0.0
                    return peak * math.cos(math.pi * t / total / 2)
            '''
            ),
            "test_decay.py": text(
                """
                import math
                import unittest

                from decay import rate


                class TestDecay(unittest.TestCase):
                    def test_r1_starts_at_the_peak(self) -> None:
                        self.assertAlmostEqual(rate(0, 100, 0.2), 0.2)

                    def test_r1_half_way(self) -> None:
                        self.assertAlmostEqual(rate(50, 100, 0.2), 0.2 * math.sqrt(0.5))

                    def test_r2_stays_zero(self) -> None:
                        self.assertEqual(rate(100, 100, 0.2), 0.0)
                        self.assertEqual(rate(170, 100, 0.2), 0.0)
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_decay.py": text(
                """
                import unittest

                from decay import rate


                class TestUserDecay(unittest.TestCase):
                    def test_half_way_is_half_the_peak(self) -> None:
                        self.assertAlmostEqual(rate(50, 100, 0.2), 0.1)
            """
            ),
        },
    ),
    Case(
        name="epsilon_outside_the_root",
        kind="misplaced term",
        requirements=[
            requirement(
                "R1",
                "equation",
                ("Layer normalisation: (x - mean) / sqrt(variance + eps), the epsilon inside the root."),
            ),
            requirement("R2", "hyperparameter", "eps = 0.01."),
        ],
        files={
            "layernorm.py": text(
                '''
                EPS = 0.01  # R2


                def layer_norm(x: list[float]) -> list[float]:
                    """R1: layer normalisation of one sample."""
                    mean = sum(x) / len(x)
                    variance = sum((a - mean) ** 2 for a in x) / len(x)
                    return [(a - mean) / (variance**0.5 + EPS) for a in x]
            '''
            ),
            "test_layernorm.py": text(
                """
                import pytest

                from layernorm import EPS, layer_norm


                def test_r1_two_values() -> None:
                    assert layer_norm([1.0, 3.0]) == pytest.approx([-1 / 1.01, 1 / 1.01])


                def test_r1_equal_values() -> None:
                    assert layer_norm([2.0, 2.0]) == [0.0, 0.0]


                def test_r2_eps() -> None:
                    assert EPS == 0.01
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_layernorm.py": text(
                """
                import pytest

                from layernorm import layer_norm


                def test_user_epsilon_in_the_root() -> None:
                    assert layer_norm([0.9, 1.1])[1] == pytest.approx(0.1 / 0.02**0.5)
            """
            ),
        },
    ),
    Case(
        name="attention_scaled_by_the_dimension",
        kind="wrong power",
        requirements=[
            requirement(
                "R1",
                "equation",
                (
                    "Attention scores are the dot products of a query with the keys, divided by the square "
                    "root of their dimension d."
                ),
            ),
            requirement("R2", "equation", "Attention weights are the softmax of the scores."),
        ],
        files={
            "scores.py": text(
                '''
                import math


                def scores(query: list[float], keys: list[list[float]]) -> list[float]:
                    """R1: scaled dot products."""
                    return [sum(a * b for a, b in zip(query, key, strict=True)) / len(query) for key in keys]


                def weights(values: list[float]) -> list[float]:
                    """R2: softmax."""
                    exponentials = [math.exp(v - max(values)) for v in values]
                    return [e / sum(exponentials) for e in exponentials]
            '''
            ),
            "test_scores.py": text(
                '''
                import unittest

                from scores import scores, weights


                class TestScores(unittest.TestCase):
                    """R1 and R2."""

                    def test_r1_scores(self) -> None:
                        self.assertEqual(scores([2.0, 4.0], [[1.0, 1.0], [0.0, 1.0]]), [3.0, 2.0])

                    def test_r1_one_dimension(self) -> None:
                        self.assertEqual(scores([3.0], [[2.0]]), [6.0])

                    def test_r2_weights(self) -> None:
                        self.assertAlmostEqual(weights([0.0, 1.0])[1], 0.7310586)
            '''
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_scores.py": text(
                """
                import unittest

                from scores import scores


                class TestUserScores(unittest.TestCase):
                    def test_four_dimensions_are_halved(self) -> None:
                        self.assertEqual(scores([1.0, 1.0, 1.0, 1.0], [[1.0, 1.0, 1.0, 1.0]]), [2.0])
            """
            ),
        },
    ),
    Case(
        name="position_code_with_the_wrong_exponent",
        kind="wrong exponent",
        requirements=[
            requirement(
                "R1",
                "equation",
                ("Position code: PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(p / 10000^(2i/d))."),
            ),
            requirement("R2", "procedure", "The position code is added to the embedding."),
        ],
        files={
            "positions.py": text(
                '''
                import math


                def position_code(p: int, d: int) -> list[float]:
                    """R1: sine at even places, cosine at odd ones."""
                    code = []
                    for i in range(d):
                        angle = p / 10000 ** (i / d)
                        code.append(math.sin(angle) if i % 2 == 0 else math.cos(angle))
                    return code


                def embed(embedding: list[float], p: int) -> list[float]:
                    """R2: the embedding with its position code."""
                    return [a + b for a, b in zip(embedding, position_code(p, len(embedding)), strict=True)]
            '''
            ),
            "test_positions.py": text(
                """
                import math

                import pytest

                from positions import embed, position_code


                def test_r1_position_zero() -> None:
                    assert position_code(0, 4) == [0.0, 1.0, 0.0, 1.0]


                def test_r1_position_three() -> None:
                    expected = [math.sin(3), math.cos(3 / 10), math.sin(3 / 100), math.cos(3 / 1000)]
                    assert position_code(3, 4) == pytest.approx(expected)


                def test_r2_embed() -> None:
                    assert embed([0.5, 0.5], 0) == [0.5, 1.5]
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_positions.py": text(
                """
                import math

                import pytest

                from positions import position_code


                def test_user_pairs_share_an_angle() -> None:
                    code = position_code(3, 4)
                    assert code[0] ** 2 + code[1] ** 2 == pytest.approx(1.0)
                    assert code[3] == pytest.approx(math.cos(0.03))
            """
            ),
        },
    ),
    Case(
        name="kl_term_without_the_half",
        kind="factor left out",
        requirements=[
            requirement(
                "R1",
                "equation",
                ("KL term of N(mean, exp(log_var)) from N(0, 1): -0.5 * sum(1 + log_var - mean^2 - exp(log_var))."),
            ),
            requirement("R2", "equation", "Sample: mean + exp(log_var / 2) * noise."),
        ],
        files={
            "latent.py": text(
                '''
                import math


                def kl(mean: list[float], log_var: list[float]) -> float:
                    """R1: the KL term."""
                    return -sum(1 + v - m**2 - math.exp(v) for m, v in zip(mean, log_var, strict=True))


                def sample(mean: float, log_var: float, noise: float) -> float:
                    """R2: a sample by reparameterisation."""
                    return mean + math.exp(log_var / 2) * noise
            '''
            ),
            "test_latent.py": text(
                """
                import math
                import unittest

                from latent import kl, sample


                class TestLatent(unittest.TestCase):
                    def test_r1_zero_for_the_unit_gaussian(self) -> None:
                        self.assertEqual(kl([0.0, 0.0], [0.0, 0.0]), 0.0)

                    def test_r1_of_two_means(self) -> None:
                        self.assertAlmostEqual(kl([1.0, 2.0], [0.0, 0.0]), 5.0)

                    def test_r1_of_a_variance(self) -> None:
                        self.assertAlmostEqual(kl([0.0], [1.0]), math.e - 2)

                    def test_r2_sample(self) -> None:
                        self.assertAlmostEqual(sample(1.0, math.log(4.0), 0.5), 2.0)
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_latent.py": text(
                """
                import unittest

                from latent import kl


                class TestUserLatent(unittest.TestCase):
                    def test_half_the_squared_mean(self) -> None:
                        self.assertAlmostEqual(kl([3.0], [0.0]), 4.5)
            """
            ),
        },
    ),
    Case(
        name="momentum_with_dampening",
        kind="wrong weights",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                ("Momentum: velocity = mu * velocity + gradient (the gradient undampened); weight -= rate * velocity."),
            ),
            requirement("R2", "hyperparameter", "mu = 0.9."),
        ],
        files={
            "momentum.py": text(
                '''
                MU = 0.9  # R2


                class Momentum:
                    """R1: gradient descent with momentum."""

                    def __init__(self, rate: float) -> None:
                        self.rate = rate
                        self.velocity = 0.0

                    def step(self, weight: float, gradient: float) -> float:
                        self.velocity = MU * self.velocity + (1 - MU) * gradient
                        return weight - self.rate * self.velocity
            '''
            ),
            "test_momentum.py": text(
                """
                import pytest

                from momentum import MU, Momentum


                @pytest.fixture
                def optimiser() -> Momentum:
                    return Momentum(0.5)


                def test_r1_first_step(optimiser: Momentum) -> None:
                    assert optimiser.step(1.0, 2.0) == pytest.approx(0.9)


                def test_r1_second_step(optimiser: Momentum) -> None:
                    weight = optimiser.step(optimiser.step(1.0, 2.0), 2.0)
                    assert weight == pytest.approx(0.71)


                def test_r2_mu() -> None:
                    assert MU == 0.9
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_momentum.py": text(
                """
                import pytest

                from momentum import Momentum


                def test_user_first_step_is_plain_descent() -> None:
                    assert Momentum(0.5).step(1.0, 2.0) == pytest.approx(0.0)
            """
            ),
        },
    ),
    Case(
        name="returns_discounted_once_too_often",
        kind="off by one",
        requirements=[
            requirement("R1", "equation", "Return at t: G_t = r_t + gamma * r_(t+1) + gamma^2 * r_(t+2) + ..."),
            requirement("R2", "equation", "Advantage: the return minus the value estimate."),
        ],
        files={
            "returns.py": text(
                '''
                def returns(rewards: list[float], gamma: float) -> list[float]:
                    """R1: discounted returns of an episode."""
                    result = []
                    total = 0.0
                    for reward in reversed(rewards):
                        total = gamma * (reward + total)
                        result.append(total)
                    return result[::-1]


                def advantages(rewards: list[float], values: list[float], gamma: float) -> list[float]:
                    """R2: returns minus values."""
                    return [g - v for g, v in zip(returns(rewards, gamma), values, strict=True)]
            '''
            ),
            "test_returns.py": text(
                """
                import unittest

                from returns import advantages, returns


                class TestReturns(unittest.TestCase):
                    def test_r1_two_rewards(self) -> None:
                        self.assertEqual(returns([1.0, 2.0], 0.5), [1.0, 1.0])

                    def test_r1_no_discount(self) -> None:
                        self.assertEqual(returns([1.0, 1.0, 1.0], 1.0), [3.0, 2.0, 1.0])

                    def test_r2_advantages(self) -> None:
                        self.assertEqual(advantages([1.0, 1.0], [0.5, 0.5], 1.0), [1.5, 0.5])
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_returns.py": text(
                """
                import unittest

                from returns import returns


                class TestUserReturns(unittest.TestCase):
                    def test_the_first_reward_counts_in_full(self) -> None:
                        self.assertEqual(returns([1.0, 2.0], 0.5), [2.0, 2.0])
            """
            ),
        },
    ),
    Case(
        name="f1_as_the_arithmetic_mean",
        kind="wrong mean",
        requirements=[
            requirement("R1", "equation", "Precision TP / (TP + FP) and recall TP / (TP + FN)."),
            requirement("R2", "equation", "F1 is the harmonic mean of precision and recall: 2 P R / (P + R)."),
        ],
        files={
            "fscore.py": text(
                '''
                def precision_recall(tp: int, fp: int, fn: int) -> tuple[float, float]:
                    """R1: precision and recall."""
                    return tp / (tp + fp), tp / (tp + fn)


                def f1(tp: int, fp: int, fn: int) -> float:
                    """R2: the mean of precision and recall."""
                    precision, recall = precision_recall(tp, fp, fn)
                    return (precision + recall) / 2
            '''
            ),
            "test_fscore.py": text(
                """
                import pytest

                from fscore import f1, precision_recall


                def test_r1_precision_recall() -> None:
                    assert precision_recall(3, 1, 2) == pytest.approx((0.75, 0.6))


                @pytest.mark.parametrize(("counts", "expected"), [((3, 1, 1), 0.75), ((3, 1, 2), 0.675)])
                def test_r2_f1(counts: tuple[int, int, int], expected: float) -> None:
                    assert f1(*counts) == pytest.approx(expected)
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_fscore.py": text(
                """
                import pytest

                from fscore import f1


                def test_user_f1() -> None:
                    assert f1(1, 0, 3) == pytest.approx(0.4)
            """
            ),
        },
    ),
    Case(
        name="perplexity_with_mixed_bases",
        kind="wrong base",
        requirements=[
            requirement(
                "R1",
                "equation",
                ("Cross-entropy of a text: the mean negative natural logarithm of its tokens' probabilities."),
            ),
            requirement("R2", "equation", "Perplexity: e to the power of the cross-entropy."),
        ],
        files={
            "language.py": text(
                '''
                import math


                def cross_entropy(p: list[float]) -> float:
                    """R1: mean negative log probability, in nats."""
                    return -sum(math.log(a) for a in p) / len(p)


                def perplexity(p: list[float]) -> float:
                    """R2: the perplexity."""
                    return 2 ** cross_entropy(p)
            '''
            ),
            "test_language.py": text(
                '''
                import math
                import unittest

                from language import cross_entropy, perplexity


                class TestLanguage(unittest.TestCase):
                    def test_cross_entropy(self) -> None:
                        """R1: of a uniform choice of four."""
                        self.assertAlmostEqual(cross_entropy([0.25, 0.25]), math.log(4))

                    def test_perplexity(self) -> None:
                        """R2: of a uniform choice of four, and of certainty."""
                        self.assertAlmostEqual(perplexity([0.25, 0.25]), 2 ** math.log(4))
                        self.assertEqual(perplexity([1.0]), 1.0)
            '''
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_language.py": text(
                """
                import unittest

                from language import perplexity


                class TestUserLanguage(unittest.TestCase):
                    def test_a_choice_of_four(self) -> None:
                        self.assertAlmostEqual(perplexity([0.25, 0.25, 0.25]), 4.0)
            """
            ),
        },
    ),
    Case(
        name="triplet_loss_with_swapped_distances",
        kind="wrong sign",
        requirements=[
            requirement("R1", "equation", "Squared Euclidean distance of two vectors."),
            requirement("R2", "equation", "Triplet loss: max(0, d(anchor, positive) - d(anchor, negative) + margin)."),
        ],
        files={
            "triplet.py": text(
                '''
                Vector = list[float]


                def distance(a: Vector, b: Vector) -> float:
                    """R1: the squared distance."""
                    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


                def triplet_loss(anchor: Vector, positive: Vector, negative: Vector, margin: float = 1.0) -> float:
                    """R2: the triplet loss."""
                    return max(0.0, distance(anchor, negative) - distance(anchor, positive) + margin)
            '''
            ),
            "test_triplet.py": text(
                """
                from triplet import distance, triplet_loss


                def test_r1_distance() -> None:
                    assert distance([0.0, 0.0], [3.0, 4.0]) == 25.0


                def test_r2_equal_distances_cost_the_margin() -> None:
                    assert triplet_loss([0.0], [1.0], [-1.0], margin=0.5) == 0.5


                def test_r2_far_and_near() -> None:
                    assert triplet_loss([0.0], [1.0], [2.0]) == 4.0
                    assert triplet_loss([0.0], [3.0], [1.0]) == 0.0
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_triplet.py": text(
                """
                from triplet import triplet_loss


                def test_user_far_negatives_cost_nothing() -> None:
                    assert triplet_loss([0.0], [1.0], [5.0]) == 0.0
            """
            ),
        },
    ),
    Case(
        name="gelu_with_a_shifted_constant",
        kind="wrong constant",
        requirements=[
            requirement(
                "R1", "equation", ("GELU, approximated: 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).")
            ),
            requirement("R2", "equation", "Quick GELU: x * sigmoid(1.702 * x)."),
        ],
        files={
            "gelu.py": text(
                '''
                import math


                def gelu(x: float) -> float:
                    """R1: GELU by tanh."""
                    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.44715 * x**3)))


                def quick_gelu(x: float) -> float:
                    """R2: GELU by the sigmoid."""
                    return x / (1 + math.exp(-1.702 * x))
            '''
            ),
            "test_gelu.py": text(
                """
                import unittest

                from gelu import gelu, quick_gelu


                class TestGelu(unittest.TestCase):
                    def test_r1_values(self) -> None:
                        self.assertEqual(gelu(0.0), 0.0)
                        self.assertAlmostEqual(gelu(1.0), 0.9096458, places=6)
                        self.assertAlmostEqual(gelu(-1.0), -0.0903542, places=6)

                    def test_r2_values(self) -> None:
                        self.assertAlmostEqual(quick_gelu(1.0), 0.8457958, places=6)
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_gelu.py": text(
                """
                import unittest

                from gelu import gelu


                class TestUserGelu(unittest.TestCase):
                    def test_close_to_the_normal_distribution(self) -> None:
                        self.assertAlmostEqual(gelu(1.0), 0.8413, places=3)
            """
            ),
        },
    ),
    Case(
        name="weight_decay_in_the_gradient",
        kind="coupled instead of decoupled",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                (
                    "Sign descent with decoupled weight decay: w = w - rate * sign(g) - rate * decay * w, the "
                    "decay not part of the sign."
                ),
            ),
            requirement("R2", "hyperparameter", "decay = 0.1."),
        ],
        files={
            "lion.py": text(
                '''
                DECAY = 0.1  # R2


                def sign(x: float) -> int:
                    return (x > 0) - (x < 0)


                def step(weight: float, gradient: float, rate: float) -> float:
                    """R1: one step of sign descent with weight decay."""
                    return weight - rate * sign(gradient + DECAY * weight)
            '''
            ),
            "test_lion.py": text(
                """
                import pytest

                from lion import DECAY, step


                @pytest.mark.parametrize(
                    ("weight", "gradient", "expected"),
                    [(1.0, 1.0, 0.99), (1.0, -1.0, 1.01), (1.0, 0.0, 0.99), (20.0, -1.0, 19.99), (0.0, 0.0, 0.0)],
                )
                def test_r1_step(weight: float, gradient: float, expected: float) -> None:
                    assert step(weight, gradient, 0.01) == pytest.approx(expected)


                def test_r2_decay() -> None:
                    assert DECAY == 0.1
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_lion.py": text(
                """
                import pytest

                from lion import step


                def test_user_decay_beside_the_sign() -> None:
                    assert step(1.0, 1.0, 0.01) == pytest.approx(0.989)
            """
            ),
        },
    ),
    Case(
        name="smoothing_over_the_other_classes",
        kind="wrong denominator",
        requirements=[
            requirement(
                "R1",
                "equation",
                (
                    "Label smoothing over K classes: the target is (1 - eps) * onehot + eps / K, for every "
                    "class, the true one too."
                ),
            ),
            requirement("R2", "hyperparameter", "eps = 0.1."),
        ],
        files={
            "smoothing.py": text(
                '''
                EPS = 0.1  # R2


                def smooth(label: int, classes: int) -> list[float]:
                    """R1: the smoothed target."""
                    rest = EPS / (classes - 1)
                    return [1 - EPS if i == label else rest for i in range(classes)]
            '''
            ),
            "test_smoothing.py": text(
                """
                import unittest

                from smoothing import EPS, smooth


                class TestSmoothing(unittest.TestCase):
                    def test_r1_of_three_classes(self) -> None:
                        for got, expected in zip(smooth(1, 3), [0.05, 0.9, 0.05], strict=True):
                            self.assertAlmostEqual(got, expected)

                    def test_r1_sums_to_one(self) -> None:
                        self.assertAlmostEqual(sum(smooth(0, 7)), 1.0)

                    def test_r2_eps(self) -> None:
                        self.assertEqual(EPS, 0.1)
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_smoothing.py": text(
                """
                import unittest

                from smoothing import smooth


                class TestUserSmoothing(unittest.TestCase):
                    def test_the_true_class_has_its_share(self) -> None:
                        self.assertAlmostEqual(smooth(0, 2)[0], 0.95)
            """
            ),
        },
    ),
    Case(
        name="moving_average_with_swapped_weights",
        kind="swapped weights",
        requirements=[
            requirement("R1", "equation", "Target network: target = tau * online + (1 - tau) * target."),
            requirement("R2", "hyperparameter", "tau = 0.005."),
            requirement("R3", "procedure", "Every weight of the target network is updated at every step."),
        ],
        files={
            "target.py": text(
                '''
                TAU = 0.005  # R2


                def blend(target: float, online: float) -> float:
                    """R1: the soft update of one weight."""
                    return TAU * target + (1 - TAU) * online


                def update(target: dict[str, float], online: dict[str, float]) -> dict[str, float]:
                    """R3: the soft update of all weights."""
                    return {name: blend(weight, online[name]) for name, weight in target.items()}
            '''
            ),
            "test_target.py": text(
                """
                import pytest

                from target import TAU, blend, update


                def test_r1_blend() -> None:
                    assert blend(1.0, 3.0) == pytest.approx(2.99)
                    assert blend(2.0, 2.0) == pytest.approx(2.0)


                def test_r2_tau() -> None:
                    assert TAU == 0.005


                def test_r3_update() -> None:
                    updated = update({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0})
                    assert updated == pytest.approx({"a": 1.0, "b": 2.0})
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_target.py": text(
                """
                import pytest

                from target import blend


                def test_user_targets_move_slowly() -> None:
                    assert blend(1.0, 3.0) == pytest.approx(1.01)
            """
            ),
        },
    ),
    Case(
        name="clipping_by_value_for_norm",
        kind="wrong algorithm",
        requirements=[
            requirement(
                "R1",
                "algorithm",
                (
                    "Clip by global norm: where the Euclidean norm n of all gradients exceeds c, multiply "
                    "every gradient by c / n."
                ),
            ),
            requirement("R2", "hyperparameter", "c = 1.0."),
        ],
        files={
            "clipping.py": text(
                '''
                LIMIT = 1.0  # R2


                def clip(gradients: list[float], limit: float = LIMIT) -> list[float]:
                    """R1: keep the gradients within the limit."""
                    return [max(-limit, min(limit, g)) for g in gradients]
            '''
            ),
            "test_clipping.py": text(
                """
                import unittest

                from clipping import LIMIT, clip


                class TestClipping(unittest.TestCase):
                    # R1
                    def test_large_gradients_are_clipped(self) -> None:
                        self.assertEqual(clip([3.0, -4.0]), [1.0, -1.0])

                    # R1
                    def test_small_gradients_stay(self) -> None:
                        self.assertEqual(clip([0.3, -0.4]), [0.3, -0.4])

                    # R2
                    def test_limit(self) -> None:
                        self.assertEqual(LIMIT, 1.0)
            """
            ),
        },
        verify="python -m unittest discover",
        user_tests={
            "test_user_clipping.py": text(
                """
                import unittest

                from clipping import clip


                class TestUserClipping(unittest.TestCase):
                    def test_the_direction_stays(self) -> None:
                        first, second = clip([3.0, -4.0])
                        self.assertAlmostEqual(first, 0.6)
                        self.assertAlmostEqual(second, -0.8)
            """
            ),
        },
    ),
    Case(
        name="initial_bound_of_another_scheme",
        kind="wrong constant",
        requirements=[
            requirement(
                "R1",
                "equation",
                ("Glorot's uniform initialisation draws from [-b, b] with b = sqrt(6 / (fan_in + fan_out))."),
            ),
            requirement("R2", "procedure", "Biases start at 0."),
        ],
        files={
            "init.py": text(
                '''
                import math
                import random


                def bound(fan_in: int, fan_out: int) -> float:
                    """R1: the bound of the uniform distribution."""
                    return math.sqrt(3 / (fan_in + fan_out))


                def layer(fan_in: int, fan_out: int, seed: int) -> tuple[list[list[float]], list[float]]:
                    """R1: the weights; R2: the biases."""
                    generator = random.Random(seed)
                    b = bound(fan_in, fan_out)
                    return [[generator.uniform(-b, b) for _ in range(fan_in)] for _ in range(fan_out)], [0.0] * fan_out
            '''
            ),
            "test_init.py": text(
                """
                import pytest

                from init import bound, layer


                def test_r1_bound() -> None:
                    assert bound(1, 2) == pytest.approx(1.0)
                    assert bound(6, 6) == pytest.approx(0.5)


                def test_r1_weights_lie_within() -> None:
                    weights, _ = layer(6, 6, seed=1)
                    assert all(abs(w) <= 0.5 for row in weights for w in row)


                def test_r2_biases() -> None:
                    assert layer(2, 3, seed=1)[1] == [0.0, 0.0, 0.0]
            """
            ),
        },
        verify="python -m pytest -q",
        user_tests={
            "test_user_init.py": text(
                """
                import pytest

                from init import bound


                def test_user_bound() -> None:
                    assert bound(3, 3) == pytest.approx(1.0)
            """
            ),
        },
    ),
]
