"""`pipeline reproduce`: run the experiments of a task, and compare the paper's tables."""

from __future__ import annotations

from typing import Any

import click

from pipeline.cli.arguments import complete_directories, task_or_newest, tasks_dir_option
from pipeline.cli.assembly import newest_task, open_task
from pipeline.cli.options import allow_data_option, data_option
from pipeline.cli.run_task import check_options, run_task


@click.command("reproduce")
@task_or_newest
@click.option("--size", type=click.Choice(["quick", "full"]), default="full", help="How much to run (default: full).")
@click.option("--tolerance", metavar="N", help="By how many percent a figure may differ from the paper's.")
@click.option(
    "--held-out",
    metavar="DIR",
    shell_complete=complete_directories,
    help="Data of your own for the experiments, which never see DIR/labels.",
)
@click.option(
    "--reproduce-attempts", metavar="N", help="Send what differs back to the agent, up to N times (default: 0)."
)
@click.option("--max-usd", metavar="N", help="Pause the attempts before they cost more than this, in dollars.")
@click.option("--max-minutes", metavar="N", help="Pause the attempts after this many minutes.")
@data_option
@allow_data_option
@click.option("--experiment-minutes", metavar="N", help="Stop an experiment after N minutes (default: 60).")
@click.option(
    "--redo", is_flag=True, help="Run experiments again that are done; the old results are kept as results.prev."
)
@click.option("-v", "--verbose", is_flag=True, help="Show the log as it is written, DEBUG lines too.")
@click.option("--json", "as_json", is_flag=True, help="Print report.json instead of the closing screen.")
@tasks_dir_option
def reproduce_command(task: str | None, size: str, redo: bool, **given: Any) -> int:
    """Run the experiments that the code of a task (the newest without ID) declares, and compare the paper's tables.

    What is done is not run again, and what failed is. `pipeline results ID` shows every cell.

    \b
    pipeline reproduce paper --size quick
    pipeline reproduce paper --held-out my_data/
    pipeline reproduce paper --reproduce-attempts 2 --max-usd 3
    """
    options = {**dict.fromkeys(("fast", "password", "add_usd")), **given, "redo": "reproduce" if redo else ""}
    settings, flags = check_options({**options, "reproduce": size, "only": "reproduce"})
    store = open_task(settings, task or newest_task(settings))
    return run_task(store, settings, flags, {**options, "only": "reproduce"})
