"""Program for an environment with vla-eval: a real PredictModelServer that records its requests."""

import json
import sys
from pathlib import Path

import numpy as np
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.model_servers.serve import serve


class Notary(PredictModelServer):
    """A model whose action is the step number; the first word of the task may request something else."""

    def __init__(self, folder: Path, params: dict, chunk_size: int | None) -> None:
        super().__init__(chunk_size=chunk_size)
        self.folder = folder
        self.params = params
        self.events: list = []
        self.looks = 0

    def get_observation_params(self) -> dict:
        return self.params

    def note(self, *event: object) -> None:
        self.events.append(event)
        (self.folder / "events.part").write_text(json.dumps(self.events))
        (self.folder / "events.part").replace(self.folder / "events.json")

    async def on_episode_start(self, config, ctx) -> None:
        self.note("start", config)
        await super().on_episode_start(config, ctx)

    async def on_episode_end(self, result, ctx) -> None:
        self.note("end", result)
        await super().on_episode_end(result, ctx)

    def predict(self, obs, ctx):
        seen = {f"image_{name}": image for name, image in obs["images"].items()}
        if "states" in obs:
            seen["states"] = obs["states"]
        np.savez(self.folder / f"look{self.looks}.npz", **seen)
        self.looks += 1
        self.note("look", ctx.step, obs["task_description"], sorted(obs))
        wish = obs["task_description"].split()[0]
        if wish == "break":
            raise RuntimeError("no weights\nleft")
        if wish == "nan":
            return {"actions": np.full(7, np.nan)}
        action = np.zeros(7)
        action[0] = ctx.step / 100
        action[6] = 0.25
        return {"actions": np.stack([action, -action, 2 * action]) if wish == "chunk" else action}


if __name__ == "__main__":
    port, folder, params, chunk = sys.argv[1:]
    serve(Notary(Path(folder), json.loads(params), json.loads(chunk)), host="127.0.0.1", port=int(port))
