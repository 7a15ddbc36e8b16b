"""Vectorised environments, which all run in this process or each in a separate process.

Processes are spawned, not forked, because a GL context does not survive a fork. The functions that create
environments are pickled and sent to the processes, which do not run the script again.
"""

from __future__ import annotations

import importlib
import multiprocessing
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

import numpy as np

from assay.errors import SpecError
from assay.extensions.dropin import Partial

MakeEnv = Callable[[], Any]
Ids = int | Sequence[int] | np.ndarray | None
CLOSE_TIMEOUT_S = 10
_CALLS = (
    *("step", "reset", "seed", "render", "check_success", "get_sim_state", "set_init_state"),
    "get_segmentation_of_interest",
)
"""Methods that a worker forwards to its environment."""


try:
    _pickle: ModuleType = importlib.import_module("cloudpickle")
except ImportError:
    _pickle = pickle


class CloudpickleWrapper:
    """Wrapper that makes a function picklable, including lambdas if cloudpickle is installed."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __getstate__(self) -> bytes:
        content: bytes = _pickle.dumps(self.data)
        return content

    def __setstate__(self, data: bytes) -> None:
        self.data = pickle.loads(data)


_GET, _SET = "__getattr__", "__setattr__"


def _perform(env: Any, name: str, *arguments: Any, **named: Any) -> Any:
    """Call a method of an environment, or get or set one of its attributes."""
    if name in (_GET, _SET):
        return (getattr if name == _GET else setattr)(env, *arguments)
    return getattr(env, name)(*arguments, **named)


class EnvWorker(Partial):
    """Base class of workers, each of which holds one environment.

    Subclasses implement send_call, recv and close_env.
    """

    is_closed = False

    def __getattr__(self, name: str) -> Any:
        return partial(self.call, name) if name in _CALLS else super().__getattr__(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_CALLS]

    def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of the environment and return its result."""
        self.send_call(name, *arguments, **named)
        return self.recv()

    def get_env_attr(self, key: str) -> Any:
        """Return an attribute of the environment."""
        return self.call(_GET, key)

    def set_env_attr(self, key: str, value: Any) -> None:
        """Set an attribute of the environment."""
        self.call(_SET, key, value)

    def send(self, action: Any, **named: Any) -> None:
        """Start a step, or a reset if the action is None."""
        if action is None:
            self.send_call("reset", **named)
        else:
            self.send_call("step", action)

    def close(self) -> None:
        """Close the environment; further calls have no effect."""
        if not self.is_closed:
            self.is_closed = True
            self.close_env()


class DummyEnvWorker(EnvWorker):
    """An environment in this process."""

    def __init__(self, env_fn: MakeEnv) -> None:
        self.env = env_fn()
        self._result: Any = None

    def send_call(self, name: str, *arguments: Any, **named: Any) -> None:
        """Call the method immediately."""
        self._result = _perform(self.env, name, *arguments, **named)

    def recv(self) -> Any:
        """Return the result of the last call."""
        return self._result

    def close_env(self) -> None:
        """Close the environment."""
        self.env.close()


class SubprocEnvWorker(EnvWorker):
    """An environment in a separate process."""

    def __init__(self, env_fn: MakeEnv, share_memory: bool = False) -> None:
        context = multiprocessing.get_context("spawn")
        self.parent_remote, child = context.Pipe()
        self.process = context.Process(target=_serve, args=(child, CloudpickleWrapper(env_fn)), daemon=True)
        with _hide_script():
            self.process.start()
        child.close()

    def get_env_attr(self, key: str) -> Any:
        """Return an attribute of the environment; None if it is missing, as in LIBERO."""
        return self.call(_GET, key, None)

    def send_call(self, name: str, *arguments: Any, **named: Any) -> None:
        """Send the call; a dead process is reported by `recv`."""
        with suppress(BrokenPipeError):
            self.parent_remote.send((name, arguments, named))

    def recv(self) -> Any:
        """Wait for the result. Raises SpecError if the process raised an exception or died."""
        try:
            succeeded, answer = self.parent_remote.recv()
        except (EOFError, ConnectionResetError):
            raise SpecError("an environment's process died; see its output above") from None
        if not succeeded:
            raise SpecError(f"error in an environment process: {answer}")
        return answer

    def close_env(self) -> None:
        """Close the environment and end its process."""
        with suppress(OSError, SpecError):  # it may have died already
            self.call("close")
        self.parent_remote.close()
        self.process.join(CLOSE_TIMEOUT_S)
        self.process.terminate()


@contextmanager
def _hide_script() -> Iterator[None]:
    """Prevent new processes from running the script again, which is unnecessary with cloudpickle.

    `multiprocessing` locates the script by attributes of the main module, which are hidden meanwhile.
    """
    main = sys.modules["__main__"]
    hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    if _pickle is pickle:
        yield
        return
    try:
        main.__spec__ = None
        if "__file__" in hidden:
            del main.__file__
        yield
    finally:
        for name, value in hidden.items():
            setattr(main, name, value)


def _serve(pipe: Connection, make: CloudpickleWrapper) -> None:
    """Run a worker process: create the environment and execute calls."""
    env: Any = None
    while True:
        try:
            name, arguments, named = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            break
        try:
            env = make.data() if env is None else env
            answer = _perform(env, name, *arguments, **named)
        except Exception as error:
            traceback.print_exc()
            pipe.send((False, f"{type(error).__name__}: {error}"))
        else:
            pipe.send((True, answer))
        if name == "close":
            break
    pipe.close()


class BaseVectorEnv(Partial):
    """Several environments that are stepped together."""

    def __init__(
        self, env_fns: Sequence[MakeEnv], worker_fn: Callable[[MakeEnv], EnvWorker], **options: Any
    ) -> None:
        if unsupported := [name for name, value in options.items() if value is not None]:
            raise SpecError(
                f"{type(self).__name__}({unsupported[0]}=...) is not supported: all environments step together"
            )
        self._env_fns = list(env_fns)
        self.workers = [worker_fn(env_fn) for env_fn in env_fns]
        self.env_num = len(self.workers)
        self.is_async = False
        self.is_closed = False

    def __len__(self) -> int:
        return self.env_num

    def _select(self, id: Ids = None) -> list[EnvWorker]:
        if self.is_closed:
            raise AssertionError(f"Methods of {type(self).__name__} cannot be called after close.")
        if id is None:
            return list(self.workers)
        numbers: Any = [id] if np.isscalar(id) else id
        return [self.workers[int(number)] for number in numbers]

    def _call_all(self, id: Ids, name: str, *arguments: Any, **named: Any) -> list[Any]:
        """Call a method of several environments at once; each of the ``arguments`` has one value per environment."""
        workers = self._select(id)
        for column in arguments:
            if len(column) != len(workers):
                raise AssertionError(f"got {len(column)} values for {len(workers)} environments")
        for worker, *values in zip(workers, *arguments, strict=True):
            worker.send_call(name, *values, **named)
        results: list[Any] = []
        errors: list[Exception] = []
        for worker in workers:  # exceptions are raised after all results, so that none stays queued
            try:
                results.append(worker.recv())
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return results

    def reset(self, id: Ids = None, **named: Any) -> np.ndarray:
        """Start an episode in each environment and return the observations."""
        return _stack(self._call_all(id, "reset", **named))

    def step(self, action: Any, id: Ids = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Step all environments; return observations, rewards, whether the goals hold, and empty dicts."""
        observations, reward, done, info = zip(*self._call_all(id, "step", action), strict=True)
        return _stack(observations), np.stack(reward), np.stack(done), _stack(info)

    def seed(self, seed: int | Sequence[int | None] | None = None) -> list[Any]:
        """Seed each environment from a list, or with a single seed that is increased by one for each environment."""
        seeds = seed if isinstance(seed, Sequence | np.ndarray) else [None] * self.env_num
        if isinstance(seed, int | np.integer):
            seeds = range(int(seed), int(seed) + self.env_num)
        return self._call_all(None, "seed", seeds)

    def set_init_state(self, init_state: Any = None, id: Ids = None, **named: Any) -> np.ndarray:
        """Start from stored states, one for each environment."""
        return _stack(self._call_all(id, "set_init_state", init_state))

    def check_success(self) -> list[bool]:
        """Return whether the goal of each environment holds."""
        return list(map(bool, self._call_all(None, "check_success")))

    def get_sim_state(self) -> list[np.ndarray]:
        """Return the simulation state of each environment."""
        return self._call_all(None, "get_sim_state")

    def get_segmentation_of_interest(self, segmentation_images: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the mask of the task's objects of interest for each environment."""
        return self._call_all(None, "get_segmentation_of_interest", segmentation_images)

    def render(self, **named: Any) -> list[Any]:
        """Render an image from each environment."""
        return self._call_all(None, "render", **named)

    def get_env_attr(self, key: str, id: Ids = None) -> list[Any]:
        """Return an attribute of each environment."""
        return [worker.get_env_attr(key) for worker in self._select(id)]

    def set_env_attr(self, key: str, value: Any, id: Ids = None) -> None:
        """Set an attribute of each environment."""
        for worker in self._select(id):
            worker.set_env_attr(key, value)

    def close(self) -> None:
        """Close all environments."""
        for worker in self._select():
            worker.close()
        self.is_closed = True


def _stack(values: Sequence[Any]) -> np.ndarray:
    """Stack values into an array (n, ...), or dicts into an object array (n,)."""
    if values and isinstance(values[0], dict):
        stacked = np.empty(len(values), dtype=object)
        stacked[:] = values
        return stacked
    return np.stack(list(values))


class DummyVectorEnv(BaseVectorEnv):
    """Several environments in this process, which are stepped one after the other."""

    def __init__(self, env_fns: Sequence[MakeEnv], **options: Any) -> None:
        super().__init__(env_fns, DummyEnvWorker, **options)


class SubprocVectorEnv(BaseVectorEnv):
    """Several environments, each in a separate process."""

    def __init__(self, env_fns: Sequence[MakeEnv], **options: Any) -> None:
        super().__init__(env_fns, SubprocEnvWorker, **options)
