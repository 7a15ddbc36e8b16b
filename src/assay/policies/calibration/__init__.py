"""Policies with one planted flaw each: the ground truth for testing all measures and findings.

    instruction    flaws in understanding the instruction
    perception     flaws in perceiving the scene
    execution      flaws in acting

The parameters of a flaw are fields, which can be set in the address: ``clumsy?miss=0.3``.
"""
