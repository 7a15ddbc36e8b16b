"""Several environments at once: in this process, or each in one of its own.

Processes are started afresh and not forked: GL does not survive a fork. A script's own functions are sent to them, and
the script itself is not run again there.
"""

from __future__ import annotations

import importlib
import multiprocessing
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

import numpy as np

from assay.errors import SpecError
from assay.extensions.dropin.missing import Partial

MakeEnv = Callable[[], Any]
Ids = int | Sequence[int] | np.ndarray | None


class CloudpickleWrapper:
    """A function that is sent to another process, lambdas included."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __getstate__(self) -> bytes:
        written: bytes = (_cloudpickle() or pickle).dumps(self.data)
        return written

    def __setstate__(self, data: bytes) -> None:
        self.data = pickle.loads(data)


def _cloudpickle() -> ModuleType | None:
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        return None


class EnvWorker(Partial):
    """One environment of several."""

    is_closed = False

    def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of the environment."""
        self.send_call(name, *arguments, **named)
        return self.recv()

    def send_call(self, name: str, *arguments: Any, **named: Any) -> None:
        """Begin to call it."""
        raise NotImplementedError

    def recv(self) -> Any:
        """What the call gave."""
        raise NotImplementedError

    def send(self, action: Any, **named: Any) -> None:
        """Begin a step, or a reset where there is no action."""
        if action is None:
            self.send_call("reset", **named)
        else:
            self.send_call("step", action)

    def step(self, action: Any) -> Any:
        """One control step."""
        return self.call("step", action)

    def reset(self, **named: Any) -> Any:
        """Begin an episode."""
        return self.call("reset", **named)

    def seed(self, seed: int | None = None) -> Any:
        """Decide what resets draw."""
        return self.call("seed", seed)

    def render(self, **named: Any) -> Any:
        """A picture."""
        return self.call("render", **named)

    def check_success(self) -> bool:
        """Whether the goal is reached."""
        return bool(self.call("check_success"))

    def get_sim_state(self) -> np.ndarray:
        """Time, joint positions and velocities."""
        return np.asarray(self.call("get_sim_state"))

    def set_init_state(self, init_state: Any) -> Any:
        """Begin from a stored state."""
        return self.call("set_init_state", init_state)

    def get_segmentation_of_interest(self, segmentation_image: np.ndarray) -> np.ndarray:
        """What the task is about, in a segmentation."""
        return np.asarray(self.call("get_segmentation_of_interest", segmentation_image))

    def get_env_attr(self, key: str) -> Any:
        """An attribute of the environment."""
        raise NotImplementedError

    def set_env_attr(self, key: str, value: Any) -> None:
        """Set it."""
        raise NotImplementedError

    def close(self) -> None:
        """Close it, once."""
        if not self.is_closed:
            self.is_closed = True
            self.close_env()

    def close_env(self) -> None:
        """Close it."""
        raise NotImplementedError


class DummyEnvWorker(EnvWorker):
    """One in this process."""

    def __init__(self, env_fn: MakeEnv) -> None:
        self.env = env_fn()
        self._result: Any = None

    def send_call(self, name: str, *arguments: Any, **named: Any) -> None:
        """Call it at once."""
        self._result = getattr(self.env, name)(*arguments, **named)

    def recv(self) -> Any:
        """What it gave."""
        return self._result

    def get_env_attr(self, key: str) -> Any:
        """An attribute of the environment."""
        return getattr(self.env, key)

    def set_env_attr(self, key: str, value: Any) -> None:
        """Set it."""
        setattr(self.env, key, value)

    def close_env(self) -> None:
        """Close it."""
        self.env.close()


class SubprocEnvWorker(EnvWorker):
    """One in a process of its own."""

    def __init__(self, env_fn: MakeEnv, share_memory: bool = False) -> None:
        context = multiprocessing.get_context("spawn")
        self.parent_remote, child = context.Pipe()
        self.process = context.Process(target=_serve, args=(child, CloudpickleWrapper(env_fn)), daemon=True)
        with _script_left_alone():
            self.process.start()
        child.close()

    def send_call(self, name: str, *arguments: Any, **named: Any) -> None:
        """Send the call; that nobody is there any more is said in place of the answer."""
        with suppress(BrokenPipeError):
            self.parent_remote.send((name, arguments, named))

    def recv(self) -> Any:
        """Wait for the answer. Raises what broke there."""
        try:
            worked, answer = self.parent_remote.recv()
        except (EOFError, ConnectionResetError):
            raise SpecError("the process of an environment has ended; what it said is above") from None
        if not worked:
            raise SpecError(f"in the process of an environment: {answer}")
        return answer

    def get_env_attr(self, key: str) -> Any:
        """An attribute of the environment."""
        return self.call("__getattr__", key)

    def set_env_attr(self, key: str, value: Any) -> None:
        """Set it."""
        self.call("__setattr__", key, value)

    def close_env(self) -> None:
        """Close it, and end its process."""
        with suppress(OSError, SpecError):  # it may have ended by itself
            self.call("close")
        self.parent_remote.close()
        self.process.join(10)
        self.process.terminate()


@contextmanager
def _script_left_alone() -> Iterator[None]:
    """Within it, new processes do not run the script again to find its functions, where they are sent whole."""
    main = sys.modules["__main__"]
    hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    if _cloudpickle() is None:
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
    """A process's loop: make the environment and do what is asked of it."""
    env: Any = None
    while True:
        try:
            name, arguments, named = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            break
        try:
            env = make.data() if env is None else env
            if name == "__getattr__":
                answer = getattr(env, arguments[0], None)
            elif name == "__setattr__":
                answer = None
                setattr(env, *arguments)
            else:
                answer = getattr(env, name)(*arguments, **named)
        except Exception as error:
            traceback.print_exc()
            pipe.send((False, f"{type(error).__name__}: {error}"))
        else:
            pipe.send((True, answer))
        if name == "close":
            break
    pipe.close()


class BaseVectorEnv(Partial):
    """Several environments, stepped together."""

    def __init__(
        self, env_fns: Sequence[MakeEnv], worker_fn: Callable[[MakeEnv], EnvWorker], **options: Any
    ) -> None:
        if waiting := [name for name, value in options.items() if value is not None]:
            raise SpecError(
                f"{type(self).__name__}({waiting[0]}=...) is not offered: all environments are stepped together here"
            )
        self._env_fns = list(env_fns)
        self.workers = [worker_fn(each) for each in env_fns]
        self.env_num = len(self.workers)
        self.is_async = False
        self.is_closed = False

    def __len__(self) -> int:
        return self.env_num

    def _chosen(self, id: Ids) -> list[EnvWorker]:
        if self.is_closed:
            raise AssertionError(f"Methods of {type(self).__name__} cannot be called after close.")
        if id is None:
            return list(self.workers)
        numbers: Any = [id] if np.isscalar(id) else id
        return [self.workers[int(number)] for number in numbers]

    def reset(self, id: Ids = None, **named: Any) -> np.ndarray:
        """Begin episodes: observations, one for each environment."""
        chosen = self._chosen(id)
        for worker in chosen:
            worker.send(None, **named)
        return _stacked(_answers(chosen))

    def step(self, action: Any, id: Ids = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """One control step of each: observations, rewards, whether the goal is reached, and more."""
        chosen = self._chosen(id)
        if len(action) != len(chosen):
            raise AssertionError(f"{len(action)} actions for {len(chosen)} environments")
        for worker, each in zip(chosen, action, strict=True):
            worker.send(each)
        seen, reward, done, info = zip(*_answers(chosen), strict=True)
        return _stacked(seen), np.stack(reward), np.stack(done), _stacked(info)

    def seed(self, seed: int | Sequence[int | None] | None = None) -> list[Any]:
        """Decide what resets draw: one seed for each, or counted up from one."""
        if seed is None or isinstance(seed, int | np.integer):
            seeds: list[Any] = [None if seed is None else int(seed) + i for i in range(self.env_num)]
        else:
            seeds = list(seed)
        return [worker.seed(each) for worker, each in zip(self._chosen(None), seeds, strict=True)]

    def set_init_state(self, init_state: Any = None, id: Ids = None, **named: Any) -> np.ndarray:
        """Begin from stored states, one for each environment."""
        chosen = self._chosen(id)
        for worker, each in zip(chosen, init_state, strict=True):
            worker.send_call("set_init_state", each)
        return _stacked(_answers(chosen))

    def check_success(self) -> list[bool]:
        """Whether each goal is reached."""
        return [worker.check_success() for worker in self._chosen(None)]

    def get_sim_state(self) -> list[np.ndarray]:
        """The state of each."""
        return [worker.get_sim_state() for worker in self._chosen(None)]

    def get_segmentation_of_interest(self, segmentation_images: Sequence[np.ndarray]) -> list[np.ndarray]:
        """What each task is about, in segmentations."""
        pairs = zip(self._chosen(None), segmentation_images, strict=True)
        return [worker.get_segmentation_of_interest(image) for worker, image in pairs]

    def render(self, **named: Any) -> list[Any]:
        """A picture of each."""
        return [worker.render(**named) for worker in self._chosen(None)]

    def get_env_attr(self, key: str, id: Ids = None) -> list[Any]:
        """An attribute of each."""
        return [worker.get_env_attr(key) for worker in self._chosen(id)]

    def set_env_attr(self, key: str, value: Any, id: Ids = None) -> None:
        """Set it."""
        for worker in self._chosen(id):
            worker.set_env_attr(key, value)

    def close(self) -> None:
        """Close all."""
        for worker in self._chosen(None):
            worker.close()
        self.is_closed = True


def _answers(workers: Sequence[EnvWorker]) -> list[Any]:
    """What each gave. All are heard before what broke is raised: none must wait for the next question."""
    found: list[Any] = []
    broken: list[Exception] = []
    for worker in workers:
        try:
            found.append(worker.recv())
        except Exception as error:
            broken.append(error)
    if broken:
        raise broken[0]
    return found


def _stacked(values: Sequence[Any]) -> np.ndarray:
    """Values in an array (n,), dicts as objects."""
    if values and isinstance(values[0], dict):
        found = np.empty(len(values), dtype=object)
        for index, value in enumerate(values):
            found[index] = value
        return found
    return np.stack(list(values))


class DummyVectorEnv(BaseVectorEnv):
    """Several in this process, one after the other."""

    def __init__(self, env_fns: Sequence[MakeEnv], **options: Any) -> None:
        super().__init__(env_fns, DummyEnvWorker, **options)


class SubprocVectorEnv(BaseVectorEnv):
    """Several, each in a process of its own."""

    def __init__(self, env_fns: Sequence[MakeEnv], **options: Any) -> None:
        super().__init__(env_fns, SubprocEnvWorker, **options)
