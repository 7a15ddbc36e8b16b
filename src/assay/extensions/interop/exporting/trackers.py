"""Experiment trackers: Weights & Biases, Trackio and TensorBoard. Each package is imported on first use."""

from __future__ import annotations

import importlib
import json
from typing import Any

from assay.api.tracking import TrackedEpisode, TrackedRun
from assay.measures.summary import Summary


def _values(row: TrackedEpisode) -> dict[str, Any]:
    """Return the numbers and strings of an episode that are logged."""
    return {**row.scalars(), **{f"episode/{name}": value for name, value in row.texts().items()}}


class Wandb:
    """A W&B run with one step per episode, and a table of success rates at the end.

    ``WANDB_MODE=offline`` needs no account; ``wandb sync`` uploads the run later.
    """

    def __init__(self) -> None:
        self._wandb: Any = importlib.import_module("wandb")

    def start(self, about: TrackedRun) -> int:
        """Start a run, or resume the run with the same id, and return its next step."""
        self._run = self._wandb.init(
            project=about.project,
            name=about.name,
            id=about.id,
            config=dict(about.config),
            resume="allow",
            dir=str(about.folder),
        )
        return int(self._run.step)

    def episode(self, row: TrackedEpisode) -> None:
        """Log one episode."""
        self._run.log(_values(row), step=row.number)

    def finish(self, summary: Summary) -> None:
        """Log success rates with intervals and end the run."""
        table = self._wandb.Table(columns=["condition", "rate", "low", "high", "episodes", "errors"])
        for rate in summary.rates.values():
            table.add_data(rate.condition, rate.rate, rate.low, rate.high, rate.episodes, rate.errors)
        self._run.summary.update(summary.metrics("final/"))
        self._run.log({"conditions": table})
        self._run.finish()


class Trackio:
    """A run in Trackio, Hugging Face's local dashboard (``trackio show --project assay``)."""

    def __init__(self) -> None:
        self._trackio: Any = importlib.import_module("trackio")
        self._last_step: int | None = None

    def start(self, about: TrackedRun) -> int:
        """Start a run, or resume the run with the same name, and return its next step."""
        storage = importlib.import_module("trackio.sqlite_storage").SQLiteStorage
        name = f"{about.name}-{about.id[:8]}"
        last = storage.get_max_step_for_run(about.project, name)
        self._run = self._trackio.init(
            project=about.project,
            name=name,
            config={key: value for key, value in about.config.items() if not key.startswith("_")},
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return 0 if last is None else int(last) + 1

    def episode(self, row: TrackedEpisode) -> None:
        """Log one episode."""
        self._last_step = row.number
        self._run.log(_values(row), step=row.number)

    def finish(self, summary: Summary) -> None:
        """Log success rates with intervals at the step of the last episode and end the run."""
        if self._last_step is not None:
            self._run.log(summary.metrics("final/"), step=self._last_step)
        self._trackio.finish()


class TensorBoard:
    """Event files in a folder beside the run (``tensorboard --logdir runs``): scalars per episode and a final table.

    Events are written directly with the protocol buffers of the tensorboard package, so TensorFlow is not needed.
    """

    SUCCESS_TAG = "episode/success"

    def __init__(self) -> None:
        proto = "tensorboard.compat.proto"
        self._event: Any = importlib.import_module(f"{proto}.event_pb2").Event
        self._summary: Any = importlib.import_module(f"{proto}.summary_pb2")
        self._tensor: Any = importlib.import_module(f"{proto}.tensor_pb2").TensorProto
        self._shape: Any = importlib.import_module(f"{proto}.tensor_shape_pb2").TensorShapeProto
        self._string_type: Any = importlib.import_module(f"{proto}.types_pb2").DT_STRING

    def start(self, about: TrackedRun) -> int:
        """Open the folder of a run and return the number of episodes already in its files."""
        folder = about.folder / "tensorboard" / f"{about.name}-{about.id[:8]}"
        self._step = 0
        if folder.is_dir():
            module: Any = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
            events = module.EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
            if self.SUCCESS_TAG in events.Tags()["scalars"]:
                self._step = max(scalar.step + 1 for scalar in events.Scalars(self.SUCCESS_TAG))
        writer = importlib.import_module("tensorboard.summary.writer.event_file_writer")
        self._writer: Any = writer.EventFileWriter(str(folder))
        if not self._step:
            config = json.dumps(about.config, indent=2, default=str)
            self._write_text("config", f"```\n{config}\n```")
        return self._step

    def episode(self, row: TrackedEpisode) -> None:
        """Write one episode's numbers."""
        self._step = row.number
        values = [
            self._summary.Summary.Value(tag=name, simple_value=value) for name, value in row.scalars().items()
        ]
        self._writer.add_event(self._event(step=row.number, summary=self._summary.Summary(value=values)))

    def finish(self, summary: Summary) -> None:
        """Write the table of success rates and close the file."""
        lines = ["| condition | success | 95 % interval | episodes |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {rate.condition} | {100 * rate.rate:.1f} % | {100 * rate.low:.1f} to {100 * rate.high:.1f} "
            f"| {rate.episodes} |"
            for rate in summary.rates.values()
        ]
        if summary.drop is not None:
            lines += ["", summary.describe_drop()]
        self._write_text("conditions", "\n".join(lines))
        self._writer.close()

    def _write_text(self, tag: str, text: str) -> None:
        shape = self._shape(dim=[self._shape.Dim(size=1)])
        tensor = self._tensor(dtype=self._string_type, string_val=[text.encode()], tensor_shape=shape)
        metadata = self._summary.SummaryMetadata
        plugin = metadata(plugin_data=metadata.PluginData(plugin_name="text"))
        value = self._summary.Summary.Value(tag=f"{tag}/text_summary", metadata=plugin, tensor=tensor)
        self._writer.add_event(self._event(step=self._step, summary=self._summary.Summary(value=[value])))
