"""TensorBoard's event files, in a folder beside the run: ``tensorboard --logdir runs``."""

from __future__ import annotations

import json
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary as Written
from tensorboard.compat.proto.summary_pb2 import SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from assay.api.tracking import TrackedEpisode, TrackedRun
from assay.measures.summary import Summary

FOLDER = "tensorboard"
_ONE = "episode/success"


class TensorBoard:
    """Scalars for each episode; rates with intervals as a table of text at the end."""

    def start(self, about: TrackedRun) -> int:
        """Begin, or go on with, the folder of a run; returns how many episodes its files hold."""
        folder = about.folder / FOLDER / f"{about.name}-{about.id[:8]}"
        known = _known(folder)
        self._writer = EventFileWriter(str(folder))
        self._number = known
        if not known:
            config = json.dumps(about.config, indent=2, default=str)
            self._text("config", f"```\n{config}\n```")
        return known

    def episode(self, row: TrackedEpisode) -> None:
        """Write one episode's numbers."""
        self._number = row.number
        self._scalars(row.scalars(), row.number)

    def finish(self, summary: Summary) -> None:
        """Write the table, and close."""
        lines = ["| condition | success | 95 % interval | episodes |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {rate.condition} | {100 * rate.rate:.1f} % | {100 * rate.low:.1f} to {100 * rate.high:.1f} "
            f"| {rate.episodes} |"
            for rate in summary.rates.values()
        ]
        if summary.drop is not None:
            lines += ["", str(summary.drop)]
        self._text("conditions", "\n".join(lines))
        self._writer.close()

    def _scalars(self, values: dict[str, float], step: int) -> None:
        found = [Written.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._writer.add_event(Event(step=step, summary=Written(value=found)))

    def _text(self, tag: str, text: str) -> None:
        tensor = TensorProto(
            dtype=DT_STRING,
            string_val=[text.encode()],
            tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
        )
        plugin = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        value = Written.Value(tag=f"{tag}/text_summary", metadata=plugin, tensor=tensor)
        self._writer.add_event(Event(step=self._number, summary=Written(value=[value])))


def _known(folder: Path) -> int:
    """How many episodes the event files of a folder hold."""
    if not folder.is_dir():
        return 0
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    found = events.Scalars(_ONE) if _ONE in events.Tags()["scalars"] else []
    return max((each.step + 1 for each in found), default=0)
