"""Policy servers by the scheme of their address."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from assay.errors import PolicyError, did_you_mean
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.gr00t import Gr00t
from assay.policies.remote.openpi import OpenPI
from assay.policies.remote.openvla_oft import OpenVlaOft
from assay.policies.remote.roboarena import RoboArena
from assay.policies.remote.starvla import StarVla
from assay.policies.remote.vla_eval import VlaEval

SCHEMES: Mapping[str, type[RemotePolicy]] = MappingProxyType(
    {kind.scheme: kind for kind in (OpenPI, VlaEval, Gr00t, OpenVlaOft, StarVla, RoboArena)}
)


def load_remote(address: str) -> RemotePolicy:
    """A client for the server at ``scheme://host:port``; nothing is connected yet. Raises PolicyError."""
    scheme = address.partition("://")[0]
    if scheme not in SCHEMES:
        raise PolicyError(f"there is no kind of policy server '{scheme}': {did_you_mean(scheme, SCHEMES)}")
    return SCHEMES[scheme](address)
