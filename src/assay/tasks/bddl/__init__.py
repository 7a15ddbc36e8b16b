"""Reader and writer for BDDL, the task file format of LIBERO and its descendants.

    task = bddl.read("put_the_bowl_on_the_plate.bddl")
    text = bddl.write(task)
    assert bddl.parse(text, id=task.id) == task

`read_document` and `parse_document` also return warnings about statements that have no effect.
"""

from assay.tasks.bddl.reader import Document, Note, parse, parse_document, parse_goal, read, read_document
from assay.tasks.bddl.writer import write

__all__ = ["Document", "Note", "parse", "parse_document", "parse_goal", "read", "read_document", "write"]
