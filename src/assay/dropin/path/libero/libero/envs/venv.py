"""Several environments at once."""

from assay.dropin.venv import (
    BaseVectorEnv,
    CloudpickleWrapper,
    DummyEnvWorker,
    DummyVectorEnv,
    EnvWorker,
    SubprocEnvWorker,
    SubprocVectorEnv,
)

__all__ = [
    "BaseVectorEnv",
    "CloudpickleWrapper",
    "DummyEnvWorker",
    "DummyVectorEnv",
    "EnvWorker",
    "SubprocEnvWorker",
    "SubprocVectorEnv",
]
