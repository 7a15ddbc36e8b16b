"""The two axes of the grid and its 43 cells, after LIBERO-Para."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.errors import PerturbationError, did_you_mean
from assay.tasks.formats.libero_para import official


class ObjectType(StrEnum):
    """How the names of objects change."""

    NONE = "none"
    ADDITION = "addition"
    """A functional qualifier: "mixing bowl"; never a visual or spatial one."""
    CONTEXTUAL = "contextual"
    """A name that fits in this scene: "vessel"."""
    HABITUAL = "habitual"
    """A plain synonym: "basin"."""


class ActionType(StrEnum):
    """How the action is expressed. Lexical, structural, then pragmatic (Ervin-Tripp's directives)."""

    NONE = "none"
    ADDITION = "addition"
    """A manner adverb."""
    CONTEXTUAL = "contextual"
    """A verb that fits here."""
    HABITUAL = "habitual"
    """A plain synonym of the verb."""
    COORDINATION = "coordination"
    """Several main clauses: "find ..., then ..."."""
    SUBORDINATION = "subordination"
    """A main clause and one that depends on it: "once you have ..., ..."."""
    NEED = "need"
    """The speaker's need: "I need ..."."""
    EMBEDDED = "embedded"
    """The imperative within a question to the hearer: "could you ...?"."""
    PERMISSION = "permission"
    """A question for leave: "may I have ...?"."""
    QUESTION = "question"
    """A question that does not name the act: "is ... yet?"."""
    HINT = "hint"
    """A statement from which the act follows: "... is still ..."."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One combination of the two axes."""

    object_type: ObjectType
    action_type: ActionType

    def __str__(self) -> str:
        return f"obj={self.object_type},act={self.action_type}"

    @property
    def official(self) -> tuple[str, str, str]:
        """How LIBERO-Para's metadata names it: the columns ``high``, ``mid`` and ``low``."""
        return official(self.object_type, self.action_type)


ORIGINAL = Cell(ObjectType.NONE, ActionType.NONE)
"""The instruction as it is; no cell of the grid."""
CELLS = tuple(
    cell
    for cell in (Cell(thing, action) for thing in ObjectType for action in ActionType)
    if cell != ORIGINAL
)
"""The grid: 10 action-only cells, 3 object-only ones and 30 combinations."""
BY_OFFICIAL = {cell.official: cell for cell in CELLS}
"""The cells by the columns ``high``, ``mid`` and ``low`` of LIBERO-Para's metadata."""


def cell_of(object_type: str, action_type: str) -> Cell:
    """The cell of two names. Raises PerturbationError that says what would be valid."""
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
