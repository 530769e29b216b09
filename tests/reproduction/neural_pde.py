"""Code for a real paper that trains: "[Re] Learning Neural PDE Solvers with Convergence Guarantees" (ReScience C 5.2 #3).

The paper's data are made: Poisson problems on a square, with a random value on each side. What its Table 2 reports is measured:
how many iterations a trained solver takes, as a share of what the Jacobi method takes, and what that costs in operations.
"""

from __future__ import annotations

from typing import Any

SOLVER = '''\
"""The Jacobi method, and the solver with a learned correction, for Laplace's equation (sections 2.3 and 3)."""

import numpy as np

JACOBI = np.array([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]])


def convolve(kernel, grid):
    """R3, section 3, page 4: a 2D convolution with a 3 x 3 kernel, zero padding and no bias."""
    rows, columns = grid.shape[-2:]
    padded = np.pad(grid, [(0, 0)] * (grid.ndim - 2) + [(1, 1), (1, 1)])
    parts = (
        kernel[i, j] * padded[..., i : i + rows, j : j + columns] for i in range(3) for j in range(3) if kernel[i, j]
    )
    return sum(parts, np.zeros_like(grid))


def iterate_jacobi(grid, inner, border):
    """One step of the Jacobi method, section 2.3: the mean of the neighbours inside, the border values outside."""
    return inner * convolve(JACOBI, grid) + border


def correct(residual, inner, kernels):
    """R2, section 3, page 4: H, the composition of K convolutions, each of them zero at the border; also every step of it."""
    steps = [residual]
    for kernel in kernels:
        steps.append(inner * convolve(kernel, steps[-1]))
    return steps[-1], steps


def iterate_learned(grid, inner, border, kernels):
    """R1, section 3, page 3: one Jacobi step, and H of what that step changed; also every step of H."""
    jacobi = iterate_jacobi(grid, inner, border)
    correction, steps = correct(jacobi - grid, inner, kernels)
    return jacobi + correction, steps


def count_operations(layers):
    """Section 5, page 6: 4 multiply-adds a point of the grid for Jacobi, and 9 more for each layer."""
    return 4 + 9 * layers
'''
PROBLEMS = '''\
"""Poisson problems with f = 0 and their solutions (sections 4.1 and 5)."""

import numpy as np


def make_problem(size, draw, shape="square"):
    """R9, section 4.1, page 4: the points inside, as 1, and the values at the border; each side has a value of its own."""
    inner, border = np.zeros((size, size)), np.zeros((size, size))
    inner[1:-1, 1:-1] = 1
    values = draw.uniform(-1, 1, 6)
    border[0], border[-1], border[:, 0], border[:, -1] = values[:4]
    if shape == "l_shape":
        half = size // 2
        inner[: half + 1, half:] = 0
        border[: half + 1, half:] = 0
        border[half, half:] = values[4]
        border[: half + 1, half] = values[5]
    return inner, border


def solve_directly(inner, borders):
    """The ground truth, by elimination: what the Jacobi method comes to after very many iterations."""
    points = np.argwhere(inner == 1)
    number = {tuple(point): index for index, point in enumerate(points)}
    matrix, right = np.eye(len(points)) * 4, np.zeros((len(points), len(borders)))
    for (i, j), index in number.items():
        for beside in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            if beside in number:
                matrix[index, number[beside]] = -1
            else:
                right[index] += borders[:, beside[0], beside[1]]
    solutions = borders.copy()
    solutions[:, points[:, 0], points[:, 1]] = np.linalg.solve(matrix, right).T
    return solutions
'''
TRAINING = '''\
"""Trains the kernels of H with Adadelta (Algorithm 1, Table 1)."""

import numpy as np

from problems import make_problem, solve_directly
from solver import JACOBI, convolve, iterate_learned

SIZE = 16  # Table 1, page 5
PROBLEMS = 50  # Table 1, page 5
BATCH = 10  # Table 1, page 5
MAX_EPOCHS = 1000  # Table 1, page 5
TOLERANCE = 1e-6  # Table 1, page 5
DECAY = 0.9  # Table 1, page 5
MOST_STEPS = 20  # section 4.1, page 5
STABILISER = 1e-6


def compute_loss(kernels, inner, borders, starts, truths, steps):
    """R10, equation (5), page 4: the squared error of each problem after its own number of steps; and its gradients."""
    grid, tape, error = starts, [], np.zeros_like(starts)
    for step in range(1, steps.max() + 1):
        grid, parts = iterate_learned(grid, inner, borders, kernels)
        tape.append(parts)
        ends = (steps == step)[:, None, None]
        error += ends * (grid - truths)
    gradients = [np.zeros((3, 3)) for _ in kernels]
    flow = np.zeros_like(starts)
    for step in range(steps.max(), 0, -1):
        flow = flow + 2 * error * (steps == step)[:, None, None]
        back = flow
        for layer in reversed(range(len(kernels))):
            back = inner * back
            gradients[layer] += correlate(tape[step - 1][layer], back)
            back = convolve(kernels[layer][::-1, ::-1], back)
        flow = convolve(JACOBI, inner * (flow + back)) - back
    return float((error**2).sum()), gradients


def correlate(grid, flow):
    """The gradient of a kernel: what each of its nine places saw, weighed by what came back."""
    rows, columns = grid.shape[-2:]
    padded = np.pad(grid, [(0, 0), (1, 1), (1, 1)])
    return np.array([[(padded[:, i : i + rows, j : j + columns] * flow).sum() for j in range(3)] for i in range(3)])


def train(layers, epochs=MAX_EPOCHS, seed=0):
    """R7, section 4.1, page 4: kernels of 3 x 3 without bias or activation, trained until the loss stands still."""
    draw = np.random.default_rng(seed)
    pairs = [make_problem(SIZE, draw) for _ in range(PROBLEMS)]
    inner, borders = pairs[0][0], np.array([border for _, border in pairs])
    truths = solve_directly(inner, borders)
    starts = inner * draw.standard_normal(borders.shape) + borders
    steps = draw.integers(1, MOST_STEPS, PROBLEMS, endpoint=True)
    kernels = [0.1 * draw.standard_normal((3, 3)) / layers for _ in range(layers)]
    squares, moves = [np.zeros((3, 3)) for _ in kernels], [np.zeros((3, 3)) for _ in kernels]
    before = np.inf
    for epoch in range(epochs):
        total, order = 0.0, draw.permutation(PROBLEMS)
        for first in range(0, PROBLEMS, BATCH):
            rows = order[first : first + BATCH]
            loss, gradients = compute_loss(kernels, inner, borders[rows], starts[rows], truths[rows], steps[rows])
            total += loss
            for layer, gradient in enumerate(gradients):
                squares[layer] = DECAY * squares[layer] + (1 - DECAY) * gradient**2
                move = -np.sqrt((moves[layer] + STABILISER) / (squares[layer] + STABILISER)) * gradient
                moves[layer] = DECAY * moves[layer] + (1 - DECAY) * move**2
                kernels[layer] = kernels[layer] + move
        if epoch % 50 == 0:
            print(f"K = {layers}, epoch {epoch}: loss {total:.6g}", flush=True)
        if abs(before - total) < TOLERANCE:
            break
        before = total
    return kernels
'''
STUDY = '''\
"""Table 2: iterations and operations of a trained solver, as shares of those of the Jacobi method (section 5)."""

import argparse
import csv

import numpy as np

from problems import make_problem, solve_directly
from solver import count_operations, iterate_jacobi, iterate_learned
from training import MAX_EPOCHS, train

NEAR_ENOUGH, STANDS_STILL = 1e-6, 1e-12  # Table 2, page 8
SHAPES = ("l_shape", "square")


def count_iterations(step, starts, truths, most=200_000):
    """How many iterations each problem takes until it is near the truth, or stands still."""
    counts, grid = np.zeros(len(starts), int), starts
    for iteration in range(1, most):
        after = step(grid)
        far = np.sqrt(((after - truths) ** 2).sum((1, 2))) >= NEAR_ENOUGH
        moves = np.sqrt(((after - grid) ** 2).sum((1, 2))) >= STANDS_STILL
        counts[(counts == 0) & ~(far & moves)] = iteration
        if counts.all():
            break
        grid = after
    return counts


def compare(kernels, size, shape, samples, seed=1):
    """For each problem: the trained solver's iterations as a share of Jacobi's."""
    draw = np.random.default_rng(seed)
    pairs = [make_problem(size, draw, shape) for _ in range(samples)]
    inner, borders = pairs[0][0], np.array([border for _, border in pairs])
    truths = solve_directly(inner, borders)
    learned = count_iterations(lambda grid: iterate_learned(grid, inner, borders, kernels)[0], borders, truths)
    jacobi = count_iterations(lambda grid: iterate_jacobi(grid, inner, borders), borders, truths)
    return learned / jacobi


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--epochs", type=int, default=MAX_EPOCHS)
    parser.add_argument("--samples", type=int, default=20)
    chosen = parser.parse_args()
    kernels = train(chosen.layers, chosen.epochs)
    with open("results/measurements.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["result", "value"])
        for size in chosen.sizes:
            for shape in SHAPES:
                place = 8 * (chosen.layers - 1) + 4 * (size == 64) + 2 * SHAPES.index(shape)
                for share in compare(kernels, size, shape, chosen.samples):
                    table.writerow([f"E{place + 1}", share * count_operations(chosen.layers) / count_operations(0)])
                    table.writerow([f"E{place + 2}", share])


if __name__ == "__main__":
    main()
'''
TEST = """\
import numpy as np

from problems import make_problem, solve_directly
from solver import convolve, correct, count_operations, iterate_jacobi, iterate_learned
from training import compute_loss, train


def test_r3_convolve_is_the_sum_over_the_window_with_zeros_outside():
    kernel, grid = np.arange(9.0).reshape(3, 3), np.arange(1.0, 10).reshape(3, 3)
    assert convolve(kernel, grid)[1, 1] == (np.arange(9.0) * np.arange(1.0, 10)).sum()
    assert convolve(kernel, grid)[0, 0] == 4 * 1 + 5 * 2 + 7 * 4 + 8 * 5


def test_r9_a_problem_has_one_value_a_side_and_its_solution_is_the_mean_of_the_neighbours():
    inner, border = make_problem(16, np.random.default_rng(3))
    assert inner.sum() == 14 * 14
    assert (inner * border == 0).all()
    assert len({border[0, 5], border[-1, 5], border[5, 0], border[5, -1]}) == 4
    [solution] = solve_directly(inner, border[None])
    assert np.allclose(iterate_jacobi(solution, inner, border), solution)
    assert make_problem(16, np.random.default_rng(3), "l_shape")[0].sum() == 14 * 14 - 8 * 7


def test_r1_r2_the_correction_is_h_of_what_the_jacobi_step_changed():
    draw = np.random.default_rng(0)
    inner, border = make_problem(8, draw)
    grid, kernels = draw.standard_normal((8, 8)), [draw.standard_normal((3, 3)) for _ in range(2)]
    jacobi = iterate_jacobi(grid, inner, border)
    by_hand = inner * convolve(kernels[1], inner * convolve(kernels[0], jacobi - grid))
    assert np.allclose(correct(jacobi - grid, inner, kernels)[0], by_hand)
    assert np.allclose(iterate_learned(grid, inner, border, kernels)[0], jacobi + by_hand)
    assert count_operations(2) == 22


def test_r10_the_gradient_is_that_of_the_squared_error_after_each_ones_steps():
    draw = np.random.default_rng(1)
    pairs = [make_problem(6, draw) for _ in range(3)]
    inner, borders = pairs[0][0], np.array([border for _, border in pairs])
    truths, starts = solve_directly(inner, borders), draw.standard_normal((3, 6, 6))
    steps, kernels = np.array([1, 3, 2]), [0.1 * draw.standard_normal((3, 3)) for _ in range(2)]
    loss, gradients = compute_loss(kernels, inner, borders, starts, truths, steps)
    by_hand = 0.0
    for number, start in enumerate(starts):
        for _ in range(steps[number]):
            start = iterate_learned(start, inner, borders[number], kernels)[0]
        by_hand += ((start - truths[number]) ** 2).sum()
    assert np.isclose(loss, by_hand)
    for layer in range(2):
        moved = [kernel.copy() for kernel in kernels]
        moved[layer][0, 2] += 1e-6
        other = compute_loss(moved, inner, borders, starts, truths, steps)[0]
        assert np.isclose((other - loss) / 1e-6, gradients[layer][0, 2], rtol=1e-3)


def test_r7_training_gives_kernels_of_three_by_three_that_help():
    kernels = train(1, epochs=30)
    assert [kernel.shape for kernel in kernels] == [(3, 3)]
    inner, border = make_problem(16, np.random.default_rng(5))
    [truth] = solve_directly(inner, border[None])
    plain = learned = border
    for _ in range(30):
        plain, learned = iterate_jacobi(plain, inner, border), iterate_learned(learned, inner, border, kernels)[0]
    assert ((learned - truth) ** 2).sum() < ((plain - truth) ** 2).sum() / 4
"""
LAYERS = (1, 2, 3)
TABLE = {
    (1, 32, "l_shape"): ("0.688 ± 0.001", "0.212 ± 0.000"),
    (1, 32, "square"): ("0.688 ± 0.000", "0.212 ± 0.000"),
    (1, 64, "l_shape"): ("0.689 ± 0.001", "0.212 ± 0.000"),
    (1, 64, "square"): ("0.686 ± 0.011", "0.211 ± 0.003"),
    (2, 32, "l_shape"): ("0.518 ± 0.001", "0.094 ± 0.000"),
    (2, 32, "square"): ("0.518 ± 0.001", "0.094 ± 0.000"),
    (2, 64, "l_shape"): ("0.521 ± 0.001", "0.095 ± 0.000"),
    (2, 64, "square"): ("0.519 ± 0.008", "0.094 ± 0.001"),
    (3, 32, "l_shape"): ("0.421 ± 0.001", "0.054 ± 0.000"),
    (3, 32, "square"): ("0.421 ± 0.001", "0.054 ± 0.000"),
    (3, 64, "l_shape"): ("0.426 ± 0.001", "0.055 ± 0.000"),
    (3, 64, "square"): ("0.425 ± 0.007", "0.055 ± 0.001"),
}
"""The paper's Table 2, of one, two and three layers: operations and iterations. Its processor times are of another machine."""
FILES = {"solver.py": SOLVER, "problems.py": PROBLEMS, "training.py": TRAINING, "study.py": STUDY}
IMPLEMENTS = {
    "solver.py": ("R1", "R2", "R3"),
    "problems.py": ("R9",),
    "training.py": ("R7", "R10"),
    "study.py": (),
    "test_study.py": (),
    "experiments.yaml": (),
}


def expected_results() -> list[dict[str, Any]]:
    """The cells of Table 2, as a plan has them."""
    rows = [
        (f"{layers} layers, {size}, {shape}", column, value)
        for (layers, size, shape), values in TABLE.items()
        for column, value in zip(("FLOPS", "#iterations"), values, strict=True)
    ]
    return [
        {
            "id": f"E{number}",
            "table": "Table 2",
            "row": row,
            "column": column,
            "condition": "",
            "metric": "ratio",
            "value": value,
            "unit": "",
            "page": 8,
        }
        for number, (row, column, value) in enumerate(rows, 1)
    ]


def declare(more: str = "", full: str = "") -> str:
    """experiments.yaml: an experiment for each number of layers. `full`: what is added to its command."""
    return "experiments:\n" + "".join(
        f"  - name: layers-{layers}\n    results: [{', '.join(f'E{8 * (layers - 1) + n}' for n in range(1, 9))}]\n"
        f"    quick: python study.py --layers {layers} --sizes 32 --epochs 40 --samples 3\n"
        f"    full: python study.py --layers {layers}{full}\n{more}"
        for layers in LAYERS
    )
