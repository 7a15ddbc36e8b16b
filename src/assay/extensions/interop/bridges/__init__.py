"""Assay's episodes in other evaluation harnesses, which own the loop: they reset, step and call their own models.

player      plays episodes one after the other and records them
gym         Gymnasium environments: ``gymnasium.make("assay/libero_goal-3-v0")``
vla_eval    a benchmark for vla-eval, by class path
lerobot     environments of the plugin ``lerobot_env_assay``, for ``lerobot-eval --env.type=assay``

Each needs its harness, which is an extra or depends on Assay. The episodes are those of ``assay run``, bit for bit
(`assay.episodes.stepwise`).
"""
