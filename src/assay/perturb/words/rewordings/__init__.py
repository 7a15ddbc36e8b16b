"""Rewordings other than the paraphrase grid. All of them work offline.

sentences   the same request in another sentence: LIBERO-X's level 5, LIBERO-PRO's semantic variants, telegraphic style
corrupted   typing errors, different punctuation, and increasing loss of meaning, up to random strings
goals       alternative goals in a scene, with their instructions
designs     perturbations that request such goals, and sets of rewordings for experiments: LADDER, LEVEL5, STYLES
"""
