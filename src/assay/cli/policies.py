"""`assay policies`, `assay try` and `assay serve`: list, try and serve policies."""

from __future__ import annotations

import contextlib
import inspect
import signal
import sys
from collections import Counter
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Column

from assay.cli import options as cli
from assay.errors import RunError
from assay.runs.options import RunOptions
from assay.support.console import output, print_rows, progress_bar, say, table_of

app = typer.Typer(help="List the built-in policies.", no_args_is_help=True)


@app.command("list")
def list_policies() -> None:
    """List the policies available in each world, and the parameters to set in a policy address: clumsy?miss=0.3."""
    from assay.episodes import WORLDS, world_policies, world_servers
    from assay.errors import AssayError
    from assay.support.plugins import import_object

    columns = (Column("world", no_wrap=True), Column("policy", no_wrap=True), "description and parameters")
    table = table_of(*columns, box=SIMPLE)
    for name in WORLDS:
        for policy, address in world_policies(name).items():
            try:
                maker = import_object(address)
            except AssayError as error:  # a package that is not installed
                table.add_row(name, policy, str(error))
                continue
            summary = (inspect.getdoc(maker) or "").partition("\n\n")[0].replace("\n", " ")
            table.add_row(name, policy, cli.describe_fields(summary, maker))
        for scheme in world_servers(name):
            summary = (
                f"A policy server that uses the {scheme} protocol; docs/policies.md describes its parameters."
            )
            table.add_row(name, f"{scheme}://host:port", summary)
        table.add_section()
    table.add_row(
        "any", "python:module:Class", "Your own class; its parameters are those of its constructor."
    )
    output.print(table)
    say("Set parameters after a question mark in the address: clumsy?miss=0.3")


def serve(
    policy: cli.PolicyAddress,
    protocol: Annotated[str, typer.Option(help="Protocol: openpi or vla-eval.")] = "openpi",
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 accepts connections from other machines.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free port.")
    ] = 8000,
    replan: Annotated[
        int | None, typer.Option(min=1, help="Number of actions to send from each chunk (default: all).")
    ] = None,
) -> None:
    """Serve a policy over a websocket until Ctrl-C is pressed. The policy sees only what the client sends."""
    import asyncio

    from assay.policies.remote.serve import PolicyServer

    server = PolicyServer(policy, protocol, replan=replan)

    async def until_interrupted() -> None:
        task = asyncio.current_task()
        assert task is not None
        # Without a handler, asyncio can miss a Ctrl-C that arrives just before it waits.
        with contextlib.suppress(NotImplementedError):  # on Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
        await server.run(host, port, lambda address: say(f"serving {policy} at {address} (Ctrl-C to stop)"))

    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(until_interrupted())


TRIED_SEEDS = tuple(range(5))


@cli.run_options(
    *("tasks", "seeds", "workers", "assets", "states", "steps", "replan", "latency", "while_waiting"),
    "video",
    tasks="Tasks: all (default), suite names, task ids, task files or folders, separated by commas.",
    seeds="Number of seeds (default: 5), or a list: 7,8,9 or 7-11.",
    workers="Number of worker processes (default: 0, this process).",
    latency="Inference latency in control steps (50 ms).",
)
def try_policy(
    policy: cli.PolicyAddress,
    options: RunOptions,
    out: Annotated[Path, typer.Option(help="Folder for videos (with --video).")] = Path("out/videos"),
    json_file: cli.JsonFile = None,
) -> None:
    """Run a policy on tasks from several initial states, and count its successes. Nothing is recorded."""
    from assay.episodes import Outcome, horizon, world_name, world_of
    from assay.episodes.latency import check_latency
    from assay.policies.registry import check_address
    from assay.runs.display import print_clipping, print_reasons, print_tracebacks
    from assay.runs.options import MEASURED
    from assay.runs.rows import Clipping
    from assay.runs.trials import Attempt, by_task, try_tasks
    from assay.support.files import check_writable

    selection = "all" if options.tasks is None else options.tasks
    first = selection.partition(",")[0].strip()
    world = world_of(first)
    tasks, seeds = tuple(task.id for task in world.select(selection)), options.seeds or TRIED_SEEDS
    check_address(policy, world_name(first))
    cli.note_primitives(policy, options.assets)
    pack = options.assets or world.packs[0]
    world.pack_source(pack)
    world.digest(pack)  # raises if assets are missing
    if options.states is not None and not options.states.is_dir():
        raise RunError(f"--states {options.states}: no such folder")
    if options.latency == MEASURED:
        raise RunError(
            "--latency measured: assay try expects a number of control steps; assay run measures it"
        )
    check_latency(world, options.latency)
    if options.while_waiting is not None and not options.latency:
        raise RunError("--while-waiting requires a --latency above 0")
    if options.video is not None:
        check_writable(out, folder=True)
    attempts: list[Attempt] = []
    interrupted = False
    with (
        progress_bar() as bar,
        redirect_stdout(sys.stderr),  # output of the policy is not a result
        suppress(KeyboardInterrupt),  # completed episodes still count
    ):
        interrupted = True
        progress = bar.add_task("episodes", total=len(tasks) * len(seeds))
        for attempt in try_tasks(policy, world_name(first), tasks, seeds, pack, options, out):
            attempts.append(attempt)
            hits = sum(episode.outcome is Outcome.SUCCESS for _, episode in attempts)
            bar.update(progress, advance=1, description=f"{hits} succeeded; episodes")
        interrupted = False
    if interrupted:
        say(f"interrupted after {len(attempts)} of {len(tasks) * len(seeds)} episodes", aside=True)
    if not attempts:
        raise typer.Exit(130)
    trials = by_task(attempts)
    errors = [episode for trial in trials for episode in trial.ending_in(Outcome.ERROR)]
    status = 130 if interrupted else int(len(errors) == len(attempts))
    if json_file is not None and cli.write_json({"tasks": [trial.as_json() for trial in trials]}, json_file):
        raise typer.Exit(status)
    widest = min(max(len(trial.task) for trial in trials), 30)  # paths may be wrapped, ids may not
    rows = []
    for trial in trials:
        solved, failed, broken = (trial.ending_in(outcome) for outcome in Outcome)
        mean = f"{sum(episode.steps for episode in solved) / len(solved):.0f}" if solved else "-"
        late = f"goal not reached in {horizon(trial.attempts[0][0])} steps" if failed else ""
        reason = next(filter(None, (episode.error for episode in (*broken, *failed))), late)
        rows.append((trial.task, "/".join(map(str, trial.success_rate)), str(len(broken)), mean, reason))
    successes, counted = map(sum, zip(*(trial.success_rate for trial in trials), strict=True))
    rows.append(("all", f"{successes}/{counted}", str(len(errors)), "", ""))
    print_rows((Column("task", min_width=widest), "success", "errors", "steps", "reason for failure"), rows)
    print_reasons(Counter(episode.error for episode in errors))
    episodes = [episode for _, episode in attempts]
    print_tracebacks(episode.traceback for episode in episodes)
    print_clipping(Clipping.of(episodes))
    raise typer.Exit(status)
