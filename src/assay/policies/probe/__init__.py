"""Find the convention that a policy server was trained with: `assay probe`.

examination    fields, one after the other; the result
race           successive elimination of alternatives
server         scores of a convention: agreement with demonstrations, and success
"""
