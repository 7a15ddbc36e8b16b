"""Policies: the oracle, policies with one planted flaw each, and clients for policy servers.

The tables below are all that other layers need: names and addresses, imported on first use.
"""

from assay.support.plugins import provide

provide(
    "policy",
    {
        "libero/oracle": "assay.policies.oracle.policy:Oracle",
        "libero/replay": "assay.policies.calibration.replay:Replay",
        "libero/blind": "assay.policies.calibration.blind:Blind",
        "libero/keyword": "assay.policies.calibration.keyword:Keyword",
        "libero/semantic": "assay.policies.calibration.semantic:Semantic",
        "libero/verbatim": "assay.policies.calibration.verbatim:Verbatim",
        "libero/clumsy": "assay.policies.calibration.clumsy:Clumsy",
        "libero/colour": "assay.policies.calibration.colour:Colour",
        "libero/nearest": "assay.policies.calibration.nearest:Nearest",
        "libero/unseeing": "assay.policies.calibration.unseeing:Unseeing",
        "libero/within": "assay.policies.calibration.within:Within",
        "libero/glance": "assay.policies.calibration.glance:Glance",
        "libero/deaf": "assay.policies.calibration.deaf:Deaf",
        "libero/unstoppable": "assay.policies.calibration.unstoppable:Unstoppable",
        "libero/lerobot": "assay.policies.lerobot:LerobotPolicy",
        "libero/random": "assay.policies.simple:Random",
        "libero/idle": "assay.policies.simple:Idle",
    },
)
provide(
    "policy server",
    {
        "libero/openpi": "assay.policies.remote.openpi:OpenPI",
        "libero/vla-eval": "assay.policies.remote.vla_eval:VlaEval",
        "libero/gr00t": "assay.policies.remote.gr00t:Gr00t",
        "libero/openvla-oft": "assay.policies.remote.openvla_oft:OpenVlaOft",
        "libero/starvla": "assay.policies.remote.starvla:StarVla",
        "libero/roboarena": "assay.policies.remote.roboarena:RoboArena",
    },
)
