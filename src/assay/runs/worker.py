"""Execution of episodes in one process: a policy and its world."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.episodes import LIBERO, Episode, EpisodeSpec, Outcome, Policy, load_world, no_trajectory, rollout
from assay.errors import AssayError, one_line, short_traceback
from assay.policies.registry import close_policy, load_policy
from assay.support.plugins import import_module

_KEY = re.compile(r"[?&](?:key|bearer)=(\w+)")


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Execution settings for the workers of a run, sent to their processes."""

    policy: str
    """Address of the policy."""
    world: str = LIBERO
    """Name of the world in which the policy acts."""
    retries: int = 0
    """Number of further attempts, with the same seed, at an episode that ended in an error."""
    videos: Path | None = None
    """Folder for videos; None for no videos."""
    video_successes: bool = False
    """Whether to write videos of successes as well."""
    states: Path | None = None
    """Folder of stored initial states, if not the default one."""
    plugins: tuple[str, ...] = ()
    """Plugin modules that are imported before the policy is loaded."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the environment variables, given in the policy's address, that contain its server's key."""
        return tuple(_KEY.findall(self.policy)) if "://" in self.policy else ()


class EpisodeRunner:
    """Executes episodes sequentially."""

    def __init__(self, config: WorkerConfig, policy: Policy | None = None) -> None:
        """``policy``: an object to use instead of the policy at the config's address; the caller closes it."""
        for module in config.plugins:
            import_module(module)
        self._config = config
        self._policy, self._owns_policy = policy or load_policy(config.policy, config.world), policy is None
        self._env = load_world(config.world).open(config.states)

    def run(self, spec: EpisodeSpec, alive: Callable[[], None] = lambda: None) -> Episode:
        """Execute one episode; errors are recorded in it instead of being raised. ``alive`` is called at every step."""
        start = time.perf_counter()
        episode, attempts = self._attempt(spec, alive), 1
        while episode.outcome is Outcome.ERROR and attempts <= self._config.retries:
            episode, attempts = self._attempt(spec, alive), attempts + 1
        return replace(episode, attempts=attempts, seconds=time.perf_counter() - start)

    def close(self) -> None:
        """Close the environment and, unless the caller owns it, the policy."""
        try:
            self._env.close()
        finally:
            if self._owns_policy:
                close_policy(self._policy)

    def _attempt(self, spec: EpisodeSpec, alive: Callable[[], None]) -> Episode:
        videos, video = self._config.videos, None
        if videos is not None:
            from assay.runs.replay import RUN_FRAME_S, EpisodeVideo, video_file  # the encoder imports slowly

            video = EpisodeVideo(self._env, spec, seconds=RUN_FRAME_S)

        def watch(observation: Any) -> None:
            alive()
            if video is not None:
                video(observation)

        try:
            episode = rollout(self._env, self._policy, spec, watch=watch)
        except Exception as error:  # of scene or simulator; errors of the policy are in the episode
            reason = one_line(str(error) if isinstance(error, AssayError) else error, 300)
            path = no_trajectory(self._env.world.action_size)
            return Episode(Outcome.ERROR, 0, path, error=reason, traceback=short_traceback(error))
        if videos is None or (episode.outcome is Outcome.SUCCESS and not self._config.video_successes):
            return episode
        assert video is not None
        try:
            video.write(video_file(videos, spec, episode.outcome), episode)
        except Exception as error:  # a failed video must not cost the episode
            reason = f"no video: {one_line(str(error))}"
            return replace(episode, error="; ".join(filter(None, (episode.error, reason))))
        return episode
