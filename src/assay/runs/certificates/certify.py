"""Making certificates: a run of the demonstrator on every claim that has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from assay.episodes.episode import Episode
from assay.episodes.spec import EpisodeSpec
from assay.runs.certificates.cache import Cache
from assay.runs.certificates.claim import claim
from assay.runs.certificates.verdict import judge
from assay.runs.driver import Ending, Watch, drive
from assay.runs.executor import Executor
from assay.runs.store import Store


def claims(specs: Iterable[EpisodeSpec], tries: int = 1) -> Iterator[EpisodeSpec]:
    """Every distinct claim of some episodes and of their controls, the disturbed ones of ``tries`` too."""
    seen: set[str] = set()
    for spec in specs:
        for each in (spec.control(), spec):
            for disturbed in range(tries):
                found = claim(each, disturbed)
                if found.key not in seen:
                    seen.add(found.key)
                    yield found


def missing(specs: Iterable[EpisodeSpec], cache: Cache, tries: int = 1) -> list[EpisodeSpec]:
    """The claims of some episodes that have no certificate yet."""
    return [each for each in claims(specs, tries) if cache.get(each) is None]


def certify(
    wanted: Sequence[EpisodeSpec],
    cache: Cache,
    executor: Executor,
    *,
    stopping: Callable[[], bool] = lambda: False,
    watch: Watch = lambda spec, episode: None,
) -> Ending:
    """Let the demonstrator try claims; each certificate is kept as soon as it is made.

    ``executor`` must execute the demonstrator. A claim whose worker died gets none, and is tried again the
    next time.
    """

    def keep(spec: EpisodeSpec | None, episode: Episode | None) -> None:
        if spec is not None and episode is not None and episode.seconds > 0:  # 0 where a worker died
            cache.put(spec, judge(spec, episode))
        watch(spec, episode)

    with Store.scratch() as store:
        store.plan(wanted)
        return drive(store, executor, stopping=stopping, watch=keep)
