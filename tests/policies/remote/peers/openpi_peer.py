"""Program for an environment with openpi-client: encode, resize and query with the real package."""

import json
import sys
from pathlib import Path

import numpy as np
from openpi_client import image_tools, msgpack_numpy
from openpi_client.websocket_client_policy import WebsocketClientPolicy


def repack(given: str, written: str) -> None:
    """Read messages and write them again."""
    messages = msgpack_numpy.unpackb(Path(given).read_bytes())
    Path(written).write_bytes(msgpack_numpy.packb(messages))


def resize(given: str, written: str, size: str) -> None:
    """Transform LIBERO's raw images as openpi's LIBERO example does."""
    pictures = {}
    for name, raw in np.load(given).items():
        rotated = np.ascontiguousarray(raw[::-1, ::-1])
        pictures[name] = image_tools.convert_to_uint8(
            image_tools.resize_with_pad(rotated, int(size), int(size))
        )
    np.savez(written, **pictures)


def infer(port: str, given: str, prompts: str) -> None:
    """Request actions from a server, once for each prompt, and print the replies."""
    client = WebsocketClientPolicy("127.0.0.1", int(port))
    observation = dict(np.load(given))
    print(json.dumps(client.get_server_metadata()))
    for prompt in prompts.split(","):
        try:
            actions = client.infer({**observation, "prompt": prompt})["actions"]
            print(json.dumps({"actions": actions.tolist(), "dtype": str(actions.dtype)}))
        except RuntimeError as error:
            print(json.dumps({"error": str(error)}))
            return


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
