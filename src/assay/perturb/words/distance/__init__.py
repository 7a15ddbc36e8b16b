"""Distance of a paraphrase from its original instruction (after PRIDE, from LIBERO-Para).

    distance("turn on the stove", "turn on the range")  # Distance(s_k=0.66, s_t=0.62, pd=0.36, ...)

    S_K = mean over the original's content words of the largest cosine with a content word of the paraphrase
    S_T = 1 - (edit distance of the two dependency trees) / (nodes of both)
    PD  = 1 - (alpha S_K + (1 - alpha) S_T)

With the two models that ``models`` accepts, these reproduce the published scores of LIBERO-Para's pairs.
"""

from assay.perturb.words.distance.models import ModelError
from assay.perturb.words.distance.pride import Distance, DistanceError, attempts, distance, distances

__all__ = ["Distance", "DistanceError", "ModelError", "attempts", "distance", "distances"]
