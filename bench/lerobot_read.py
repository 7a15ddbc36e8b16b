"""Open a dataset with LeRobot and compare frames of it with what they should be.

Runs in an interpreter that has LeRobot; takes the dataset, an .npz of expected frames and the number of all
frames; prints JSON.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from lerobot.datasets.lerobot_dataset import LeRobotDataset

folder, file, frames = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
expected = np.load(file)
# The decoder that needs no FFmpeg of the machine's own.
dataset = LeRobotDataset("assay/demonstrations", root=folder, video_backend="pyav")
different, picture_error = abs(len(dataset) - frames), 0.0
for row, index in enumerate(expected["index"]):
    frame = dataset[int(index)]
    same = frame["task"] == str(expected["task"][row]) and all(
        np.array_equal(frame[key].numpy(), expected[key][row]) for key in ("action", "observation.state")
    )
    different += not same
    for key in ("observation.images.image", "observation.images.image2"):
        picture = frame[key].numpy().transpose(1, 2, 0) * 255.0
        picture_error = max(picture_error, float(np.abs(picture - expected[key][row]).mean()))
# As training asks for it: several actions at once, some of the episodes.
chunks = LeRobotDataset(
    "assay/demonstrations",
    root=folder,
    video_backend="pyav",
    episodes=[dataset.num_episodes - 1],
    delta_timestamps={"action": [0.0, 0.05, 0.1]},
)
last = chunks[len(chunks) - 1]
different += tuple(last["action"].shape) != (3, 7) or last["action_is_pad"].tolist() != [False, True, True]
print(
    json.dumps(
        {
            "version": version("lerobot"),
            "frames": len(dataset),
            "compared": len(expected["index"]),
            "different": int(different),
            "picture_error": picture_error,
        }
    )
)
