"""Record a dataset with LeRobot itself.

Runs in an interpreter that has LeRobot; takes the folder, an .npz of frames and the kind of its pictures (video or
image); prints LeRobot's version. Pictures in a table go with openpi's names, videos with LeRobot's.
"""

import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from lerobot.datasets.lerobot_dataset import LeRobotDataset

folder, file, kind = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
given = np.load(file)
names = {
    "video": ("observation.images.image", "observation.images.image2", "observation.state", "action"),
    "image": ("image", "wrist_image", "state", "actions"),
}[kind]
*cameras, state, action = names
axes = ["height", "width", "channel"]
features = {
    **{name: {"dtype": kind, "shape": given["agentview"].shape[1:], "names": axes} for name in cameras},
    **{
        name: {"dtype": "float32", "shape": given[what].shape[1:], "names": [what]}
        for name, what in ((state, "state"), (action, "action"))
    },
}
dataset = LeRobotDataset.create(
    "somebody/else", 10, features, root=folder, robot_type="panda", use_videos=kind == "video"
)
last = len(given["episode"]) - 1
for row, episode in enumerate(given["episode"]):
    told = dict(
        zip(names, (given[key][row] for key in ("agentview", "wrist", "state", "action")), strict=True)
    )
    dataset.add_frame(told | {"task": str(given["task"][row])})
    if row == last or given["episode"][row + 1] != episode:
        dataset.save_episode()
dataset.finalize()
print(version("lerobot"))
