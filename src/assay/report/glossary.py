"""Definitions of the terms that reports and the web app use."""

from __future__ import annotations

from types import MappingProxyType

GLOSSARY = MappingProxyType(
    {
        "certificate": "Proof that a perturbed scene can be solved: a privileged oracle solved it under the same "
        "physics and time limit.",
        "condition": "A named set of perturbations, for example a paraphrase style or a displacement of the target.",
        "confidence interval": "Range that contains the true value in 95 % of experiments. It accounts for episodes "
        "that share a start or a wording.",
        "control": "The unperturbed episode with the same task and seed. Every perturbed episode is compared with its "
        "control.",
        "divergence": "First step at which the end effector is more than 5 cm from every point of its control's path.",
        "drop": "Success rate under a perturbation minus the success rate of its controls, in percentage points; "
        "negative if the perturbation costs success.",
        "error": "An episode in which the policy or the simulator failed technically. Errors are excluded from rates.",
        "finding": "A conclusion about the policy whose evidence is statistically significant after correction for "
        "multiple testing.",
        "interaction": "Drop of two perturbations applied together minus the sum of their separate drops.",
        "memorisation index": "Share of episodes whose perturbation calls for another trajectory in which the policy "
        "repeats its control's: 0 is none, 1 is all.",
        "p value": "Probability of a difference at least this large if there were none, with Holm's correction for "
        "all tests in a table.",
        "paraphrase distance": "How far a paraphrase is from the original instruction, from 0 (identical) to 1, by "
        "keyword similarity and sentence structure.",
        "perturbation": "One change to the instruction, the scene or the observations of a task.",
        "policy calls": "How often the policy was asked for actions during an episode.",
        "PRIDE": "Paraphrase robustness score (LIBERO-Para): mean success weighted by paraphrase distance, so that "
        "distant paraphrases count more.",
        "progress": "How far an episode came towards its goal, from 0 to 1: mean over the goal conditions of "
        "the stages reached, touched, grasped, lifted, carried, placed, released.",
        "side effects": "Changes to the scene that the instruction does not ask for: moved or toppled objects, doors "
        "left open, contacts of the arm.",
        "start": "An initial state of a task, determined by task and seed.",
        "success not expected": "A condition whose instruction does not ask for the task, or that cannot be solved. "
        "Success there is evidence of memorisation.",
        "threshold": "Smallest perturbation magnitude at which the success rate falls below a target, by default 50 %.",
    }
)
"""Definitions by term, in alphabetical order."""
