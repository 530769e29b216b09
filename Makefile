.PHONY: setup run demo reproduce test test-slow check drills mutants bench lock audit release

setup: .venv/ready ## all that the program and its tests need, in .venv, and the system packages where that is allowed

.venv/program: pyproject.toml scripts/setup
	@scripts/setup program

.venv/ready: .venv/program
	@scripts/setup tests

run: .venv/program ## the main job on the project's own example paper; exit code 3 (incomplete) is the honest end of an offline run
	@.venv/bin/pipeline run --fast examples/averaged-perceptron/paper.pdf || [ $$? -eq 3 ]

demo: .venv/program ## the agent at work on the example paper, from recorded replies: a failing test, a repair, acceptance
	@.venv/bin/pipeline run --fast examples/averaged-perceptron/paper.pdf --id demo --review auto --model replay:examples/averaged-perceptron/replies.jsonl

reproduce: demo ## the experiments of the demo, on streams that its code has never seen, and the paper's tables beside them
	@.venv/bin/python examples/averaged-perceptron/held_out.py tasks/demo-held-out
	@.venv/bin/pipeline reproduce demo --held-out tasks/demo-held-out
	@.venv/bin/pipeline results demo

# The tests' own bytecode is kept whatever the user's variable says: each worker would else compile 80,000 lines anew.
test: check ## everything that must hold, in minutes
	@PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest -n auto --dist worksteal -m "not slow" -rs

test-slow: setup ## every test that `make test` leaves out; TORCH=1: papers that need torch, too
	@PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest -n auto --dist worksteal -m "slow" -rs

test-%: setup ## the fast tests of one package alone, of the folder tests/NAME: `make test-planning`
	@PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest -n auto --dist worksteal -m "not slow" -rs tests/$*

lock: .venv/program ## requirements.lock: every package of development and CI, by version and hash
	@.venv/bin/python -m scripts.release lock

audit: setup ## known holes in the packages of requirements.lock; where that cannot be looked up it says "not checked"
	@.venv/bin/python -m scripts.release audit || [ $$? -eq 75 ]

release: setup ## dist/: the wheel and the source, the same bytes each time, their list of parts (CycloneDX) and their digests
	@.venv/bin/python -m scripts.release build

check: setup ## types, lint, import contracts
	@.venv/bin/ruff check . && .venv/bin/mypy && .venv/bin/lint-imports

drills: setup ## every fault drill at every point, for hours; `make test` and `make test-slow` try a few points, which the commit chooses
	@DRILL_POINTS=all PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest -n auto --dist worksteal tests/drills -rs

mutants: setup ## 200 small changes to the code by a fixed seed: which of them does a test notice?
	@.venv/bin/python scripts/mutants.py

bench: setup ## the figures of docs/benchmarks.md
	@.venv/bin/python benchmarks/runner/bench.py
	@.venv/bin/python benchmarks/reader/bench.py
	@.venv/bin/python benchmarks/agent/bench.py
	@.venv/bin/python benchmarks/acceptance/bench.py
