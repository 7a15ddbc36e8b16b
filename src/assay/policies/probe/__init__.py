"""Find the convention that a policy server was trained with: `assay probe`."""
