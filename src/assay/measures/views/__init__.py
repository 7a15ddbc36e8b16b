"""Primitives of views: tables, drawings, number formats. Families of measures build on them; pages show them."""
