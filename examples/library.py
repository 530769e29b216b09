"""Reads a paper, plans it, writes the code and reports, without the command line: python examples/library.py paper.pdf"""

import sys

import pipeline

source = sys.argv[1] if sys.argv[1:] else sys.exit("usage: python examples/library.py paper.pdf")
paper = pipeline.read_paper(source)
print(f"{paper.title} ({paper.verdict}): {len(paper.outline['sections'])} sections")

planned = pipeline.run(source, mode="fast", until="plan")
plan = pipeline.load_task(planned.task).plan
print(f"{len(plan.requirements)} requirements, the first on page {plan.requirements[0]['source']['page']}")

work = pipeline.events(planned.directory)
for event in work:
    if event.kind == "done":
        print(f"  {event.phase.label}: {event.seconds:.1f} s")
if work.report:
    print(f"{work.report.status}: {work.report.reason}; ${work.report.usd:.2f}")
