"""Policies: the oracle, policies with one planted flaw each, and clients for policy servers.

The tables below map names to policies, and are all that other layers need; modules are imported on first use.
"""

from assay.support.plugins import provide

provide(
    "policy",
    {
        "libero/oracle": "assay.policies.oracle.policy:Oracle",
        "libero/replay": "assay.policies.calibration.execution:ReplayPolicy",
        "libero/blind": "assay.policies.calibration.instruction:BlindPolicy",
        "libero/keyword": "assay.policies.calibration.instruction:KeywordPolicy",
        "libero/semantic": "assay.policies.calibration.instruction:SemanticPolicy",
        "libero/verbatim": "assay.policies.calibration.instruction:VerbatimPolicy",
        "libero/clumsy": "assay.policies.calibration.execution:ClumsyPolicy",
        "libero/colour": "assay.policies.calibration.perception:ColourPolicy",
        "libero/nearest": "assay.policies.calibration.perception:NearestPolicy",
        "libero/unseeing": "assay.policies.calibration.perception:UnseeingPolicy",
        "libero/within": "assay.policies.calibration.perception:WithinPolicy",
        "libero/glance": "assay.policies.calibration.perception:GlancePolicy",
        "libero/deaf": "assay.policies.calibration.instruction:DeafPolicy",
        "libero/unstoppable": "assay.policies.calibration.instruction:UnstoppablePolicy",
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
        "libero/starvla": "assay.policies.remote.openpi:StarVla",
        "libero/roboarena": "assay.policies.remote.openpi:RoboArena",
    },
)
