"""Assay's episodes in other people's harnesses, which have the loop: they reset, step and ask their own models.

tasks       a task, or a condition of an experiment on it, as the episodes of its seeds
planned     an experiment's plan as harnesses know benchmarks: tasks with a number of episodes each
player      plays episodes one after the other, and records them
gym         Gymnasium environments: ``gymnasium.make("assay/libero_goal-3-v0")``
vla_eval    a benchmark for vla-eval, by class path
vima        our table as VIMA-Bench's environment, and our policies in VIMA-Bench itself
lerobot     what the plugin ``lerobot_env_assay`` plays, for ``lerobot-eval --env.type=assay``

Each needs its harness, which is an extra or brings Assay along. Whoever has the loop, the episodes are those of
``assay run``, to the bit (`assay.episodes.stepwise`).
"""
