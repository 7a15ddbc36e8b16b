"""Policies that live in other people's servers, and ours in servers for other people's harnesses."""

from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.convention import Convention
from assay.policies.remote.errors import (
    LostError,
    RemoteError,
    ReplyError,
    ServerError,
    StalledError,
    UnreachableError,
)
from assay.policies.remote.openpi import OpenPI
from assay.policies.remote.registry import SCHEMES, load_remote
from assay.policies.remote.vla_eval import VlaEval

__all__ = [
    "SCHEMES",
    "Convention",
    "LostError",
    "OpenPI",
    "RemoteError",
    "RemotePolicy",
    "ReplyError",
    "ServerError",
    "StalledError",
    "UnreachableError",
    "VlaEval",
    "load_remote",
]
