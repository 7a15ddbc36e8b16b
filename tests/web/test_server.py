from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

ASSAY = Path(sys.executable).with_name("assay")


def test_ctrl_c_ends_it_cleanly(tmp_path: Path):
    process = subprocess.Popen(
        [ASSAY, "ui", tmp_path, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert f"{tmp_path} is at http://127.0.0.1:" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_a_port_that_is_taken_is_one_line(tmp_path: Path, assay):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = assay("ui", tmp_path, "--port", str(port))
    assert said.status == 2
    assert f"127.0.0.1:{port}: address already in use; choose another --port" in " ".join(said.err.split())
