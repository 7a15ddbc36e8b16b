"""The two axes of the grid and its 43 cells, after LIBERO-Para."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.errors import PerturbationError, did_you_mean


class ObjectType(StrEnum):
    """Type of change to object names."""

    NONE = "none"
    ADDITION = "addition"
    """A functional qualifier, as in "mixing bowl"; never a visual or spatial one."""
    CONTEXTUAL = "contextual"
    """A name that fits this scene: "vessel"."""
    HABITUAL = "habitual"
    """A plain synonym: "basin"."""


class ActionType(StrEnum):
    """Type of change to the action's phrasing: lexical, structural or pragmatic (Ervin-Tripp's directives)."""

    NONE = "none"
    ADDITION = "addition"
    """A manner adverb."""
    CONTEXTUAL = "contextual"
    """A verb that fits this context."""
    HABITUAL = "habitual"
    """A plain synonym of the verb."""
    COORDINATION = "coordination"
    """Several main clauses: "find ..., then ..."."""
    SUBORDINATION = "subordination"
    """A main clause and a dependent clause: "once you have ..., ..."."""
    NEED = "need"
    """The speaker's need: "I need ..."."""
    EMBEDDED = "embedded"
    """An imperative embedded in a question to the listener: "could you ...?"."""
    PERMISSION = "permission"
    """A request for permission: "may I have ...?"."""
    QUESTION = "question"
    """A question that does not name the action: "is ... yet?"."""
    HINT = "hint"
    """A statement that implies the action: "... is still ..."."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """A cell of the grid: an object type combined with an action type."""

    object_type: ObjectType
    action_type: ActionType

    def __str__(self) -> str:
        return f"obj={self.object_type},act={self.action_type}"


ORIGINAL = Cell(ObjectType.NONE, ActionType.NONE)
"""The unchanged instruction; not a cell of the grid."""
CELLS = tuple(
    cell
    for cell in (Cell(thing, action) for thing in ObjectType for action in ActionType)
    if cell != ORIGINAL
)
"""The grid: 10 action-only cells, 3 object-only ones and 30 combinations."""


def cell_of(object_type: str, action_type: str) -> Cell:
    """Return the cell for an object type and an action type. Raises PerturbationError with the valid names."""
    for name, axis, valid in (
        (object_type, "object", tuple(ObjectType)),
        (action_type, "action", tuple(ActionType)),
    ):
        if name not in valid:
            raise PerturbationError(f"there is no {axis} type '{name[:80]}': {did_you_mean(name, valid)}")
    cell = Cell(ObjectType(object_type), ActionType(action_type))
    if cell == ORIGINAL:
        raise PerturbationError(
            "object type 'none' with action type 'none' is the original, not a paraphrase"
        )
    return cell
