"""Adapters that run Assay's episodes in other evaluation harnesses, whose loop steps them and calls the model.

player      runs episodes one after another and records them
gym         Gymnasium environments: ``gymnasium.make("assay/libero_goal-3-v0")``
vla_eval    a benchmark for vla-eval, by class path
lerobot     environments of the plugin ``lerobot_env_assay``, for ``lerobot-eval --env.type=assay``

Each adapter requires its harness: either an optional dependency of Assay or a package that itself depends on
Assay. The episodes are bit-identical to those of ``assay run`` (`assay.episodes.stepwise`).
"""
