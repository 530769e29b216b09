.PHONY: setup run demo test check drills bench

setup: .venv/ready ## a virtual environment in .venv, and the system packages where that is allowed

.venv/ready: pyproject.toml scripts/setup
	@scripts/setup

run: setup ## the main job on the project's own example paper; exit code 3 (incomplete) is the honest end of an offline run
	@.venv/bin/pipeline run --fast examples/averaged-perceptron/paper.pdf || [ $$? -eq 3 ]

demo: setup ## the agent at work on the example paper, from recorded replies: a failing test, a repair, acceptance
	@.venv/bin/pipeline run --fast examples/averaged-perceptron/paper.pdf --id demo --review auto --model replay:examples/averaged-perceptron/replies.jsonl

test: check ## everything that must hold, in minutes
	@.venv/bin/python -m pytest -n auto -m "not drill" -rs

check: setup ## types, lint, import contracts
	@.venv/bin/ruff check . && .venv/bin/mypy && .venv/bin/lint-imports

drills: setup ## every fault drill, at every point
	@.venv/bin/python -m pytest -n auto -m "drill" -rs

bench: setup ## the figures of docs/benchmarks.md
	@.venv/bin/python benchmarks/runner/bench.py
	@.venv/bin/python benchmarks/reader/bench.py
	@.venv/bin/python benchmarks/agent/bench.py
	@.venv/bin/python benchmarks/acceptance/bench.py
