"""Vectorised environments."""

from assay.extensions.dropin.venv import (
    BaseVectorEnv,
    CloudpickleWrapper,
    DummyEnvWorker,
    DummyVectorEnv,
    EnvWorker,
    SubprocEnvWorker,
    SubprocVectorEnv,
)
