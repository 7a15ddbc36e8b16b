"""Rewordings other than the paraphrase grid. All of them work offline.

    synonyms, level5      LIBERO-X's level 5: synonym, concise, reorder, passive, verbose
    semantic              LIBERO-PRO's semantic variants
    goals, other_task     LIBERO-PRO's task change, and counterfactual instructions
    telegraphic, typos    styles of hurried writing
    surface               the same words with a full stop, in capitals, ...
    corrupt, gobbledygook from shuffled words to meaningless strings
    designs               sets of rewordings for experiments: LADDER, LEVEL5, STYLES

Importing this package registers the perturbations by their kinds.
"""

from assay.perturb.words.rewordings.corrupted import (
    GobbledygookTokens,
    GobbledygookWords,
    Shuffle,
    Substitute,
    Surface,
    Typos,
)
from assay.perturb.words.rewordings.designs import (
    LADDER,
    LEVEL5,
    STYLES,
    Counterfactual,
    OtherTask,
    Rewording,
    compositions,
)
from assay.perturb.words.rewordings.goals import Alternative, alternatives, new_goals
from assay.perturb.words.rewordings.sentences import (
    Concise,
    Passive,
    Reorder,
    Semantic,
    Synonyms,
    Telegraphic,
    Verbose,
)

__all__ = [
    "LADDER",
    "LEVEL5",
    "STYLES",
    "Alternative",
    "Concise",
    "Counterfactual",
    "GobbledygookTokens",
    "GobbledygookWords",
    "OtherTask",
    "Passive",
    "Reorder",
    "Rewording",
    "Semantic",
    "Shuffle",
    "Substitute",
    "Surface",
    "Synonyms",
    "Telegraphic",
    "Typos",
    "Verbose",
    "alternatives",
    "compositions",
    "new_goals",
]
