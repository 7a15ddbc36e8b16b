"""The code of a real policy server around a dummy model, which records its requests and replies with a ramp.

    python real_server.py KIND CHECKOUT PORT FOLDER

The modules that these servers import to load models are replaced by stubs; their network code is used unchanged.
"""

import importlib
import importlib.util
import json
import sys
import types
from pathlib import Path

import numpy as np

KIND, CHECKOUT, PORT, FOLDER = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
RAMP = np.tile(np.linspace(0.0, 1.0, 10, dtype=np.float32)[:, None], (1, 7))
"""Actions (10, 7)."""


def noted(request):
    """Record the shapes and types of a received request, and its texts."""

    def brief(value):
        if isinstance(value, dict):
            return {str(key): brief(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [brief(each) for each in value]
        if isinstance(value, np.ndarray):
            return f"{value.dtype}{list(value.shape)}"
        return value if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__

    with (FOLDER / "requests.jsonl").open("a") as file:
        file.write(json.dumps(brief(request)) + "\n")


def absent(*names, **contents):
    """Replace modules that are not installed by stubs with a few contents."""
    for name in names:
        module = types.ModuleType(name)
        module.__dict__.update(contents)
        module.__path__ = []
        sys.modules[name] = module


def loaded(name, path):
    spec = importlib.util.spec_from_file_location(name, CHECKOUT / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Dummy:
    metadata = {"env": "dummy", "action_chunk_size": 10, "available_unnorm_keys": ["franka"]}  # noqa: RUF012

    def infer(self, request):
        noted(request)
        return {"actions": RAMP.copy()}

    def predict_action(self, **payload):
        noted(payload)
        return {"actions": np.repeat(RAMP[None], len(payload["examples"]), axis=0)}

    def reset(self, options=None):
        noted({"reset": options})
        return {}

    def get_action(self, observation, options=None):
        noted(observation)
        names = ("x", "y", "z", "roll", "pitch", "yaw", "gripper")
        prefix = "" if "video" in observation else "action."
        return {prefix + name: RAMP[None, :, place : place + 1] for place, name in enumerate(names)}, {}


def openpi():
    module = loaded("websocket_policy_server", "src/openpi/serving/websocket_policy_server.py")
    module.WebsocketPolicyServer(Dummy(), "127.0.0.1", PORT, {"model": "dummy"}).serve_forever()


def roboarena():
    sys.path.insert(0, str(CHECKOUT))
    module = importlib.import_module("roboarena.policy_server")
    config = module.PolicyServerConfig(action_space="cartesian_velocity", needs_session_id=True)
    module.WebsocketPolicyServer(Dummy(), config, "127.0.0.1", PORT).serve_forever()


def starvla():
    sys.path.insert(0, str(CHECKOUT))
    module = importlib.import_module("deployment.model_server.tools.websocket_policy_server")
    module.WebsocketPolicyServer(Dummy(), "127.0.0.1", PORT, metadata=Dummy.metadata).serve_forever()


def gr00t():
    absent(
        "gr00t",
        "gr00t.data",
        "gr00t.data.types",
        "gr00t.data.utils",
        ModalityConfig=Dummy,
        to_json_serializable=str,
    )
    absent("gr00t.policy")
    loaded("gr00t.policy.policy", "gr00t/policy/policy.py")
    server = loaded("gr00t.policy.server_client", "gr00t/policy/server_client.py")
    server.PolicyServer.start_server(Dummy(), PORT, "127.0.0.1")


def openvla_oft():
    def get_vla_action(config, model, processor, observation, instruction, **more):
        noted(observation)
        return list(RAMP)

    nothing = dict.fromkeys(
        ("get_vla", "get_action_head", "get_processor", "get_proprio_projector", "get_image_resize_size"),
        lambda *given, **more: None,
    )
    constants = dict.fromkeys(
        (
            "ACTION_DIM",
            "ACTION_TOKEN_BEGIN_IDX",
            "IGNORE_INDEX",
            "NUM_ACTIONS_CHUNK",
            "PROPRIO_DIM",
            "STOP_INDEX",
        ),
        0,
    )
    heavy = {
        "AutoModelForVision2Seq": Dummy,
        "AutoProcessor": Dummy,
        "wrap": lambda: lambda function: function,
    }
    absent("draccus", "torch", "transformers", **heavy)
    absent("experiments", "experiments.robot", "experiments.robot.robot_utils", **nothing)
    absent("experiments.robot.openvla_utils", get_vla_action=get_vla_action, **nothing)
    absent("prismatic", "prismatic.vla", "prismatic.vla.constants", **constants)
    module = loaded("deploy", "vla-scripts/deploy.py")
    server = module.OpenVLAServer.__new__(module.OpenVLAServer)  # its __init__ loads a model
    server.cfg = types.SimpleNamespace(use_film=False)
    server.vla = server.processor = server.action_head = server.proprio_projector = None
    server.run("127.0.0.1", PORT)


{"openpi": openpi, "roboarena": roboarena, "starvla": starvla, "gr00t": gr00t, "openvla-oft": openvla_oft}[
    KIND
]()
