"""Docstrings of dataclass fields, from which help texts and reference pages are generated."""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise


def field_docs(cls: type) -> dict[str, str]:
    """Return the docstrings of the fields of a dataclass and its bases, by field name."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        if not hasattr(base, "__dataclass_fields__"):
            continue
        try:
            source = inspect.getsource(base)
        except (OSError, TypeError):  # defined interactively, without source
            continue
        (declared,) = ast.parse(textwrap.dedent(source)).body
        assert isinstance(declared, ast.ClassDef)
        for field, text in pairwise(declared.body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                doc = text.value if isinstance(text, ast.Expr) else None
                if isinstance(doc, ast.Constant) and isinstance(doc.value, str):
                    docs[field.target.id] = doc.value
    return docs
