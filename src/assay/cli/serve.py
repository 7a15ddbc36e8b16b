"""`assay serve`: offer a policy to other people's harnesses."""

from __future__ import annotations

import contextlib
import signal
from typing import Annotated

import typer

from assay.support.console import say


def serve(
    policy: Annotated[
        str, typer.Argument(help="random, idle, learned?checkpoint=FILE, or python:pkg.module:Class.")
    ],
    protocol: Annotated[str, typer.Option(help="openpi or vla-eval.")],
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 8000,
    replan: Annotated[
        int | None, typer.Option(min=1, help="Actions taken of each chunk; by default all.")
    ] = None,
) -> None:
    """Serve a policy over a websocket until Ctrl-C. It sees what the client sends, and nothing else."""
    import asyncio

    from assay.policies.remote.serve import PolicyServer

    server = PolicyServer(policy, protocol, replan=replan)

    async def until_interrupted() -> None:
        task = asyncio.current_task()
        assert task is not None
        # By itself asyncio can miss a Ctrl-C that comes just before it goes to sleep.
        with contextlib.suppress(NotImplementedError):  # on Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
        await server.run(host, port, lambda address: say(f"{policy} is at {address} (Ctrl-C ends it)"))

    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(until_interrupted())
