"""Reader of BDDL task files. A problem name states the arena of a task and its style:

LIBERO_Kitchen_Tabletop_Manipulation                      the kitchen
Libero_Tabletop_Manipulation_tabletop_light_modified_7    the table, in the style tabletop_light_modified_7
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.episodes.instruction import Instruction
from assay.errors import BDDLError, TaskError, did_you_mean
from assay.tasks.bddl.sexpr import (
    Group,
    Node,
    Word,
    as_group,
    as_word,
    evaluate,
    fail,
    parse_group,
)
from assay.tasks.checks import Vocabulary, flaws, parse_atom, predicate, quote, rectangle_flaw
from assay.tasks.scene import Arena, Atom, Entity, Goal, Predicate, Rectangle, Region, Scene, Task

_PROBLEMS = {
    Arena.TABLE: "LIBERO_Tabletop_Manipulation",
    Arena.KITCHEN: "LIBERO_Kitchen_Tabletop_Manipulation",
    Arena.LIVING_ROOM: "LIBERO_Living_Room_Tabletop_Manipulation",
    Arena.STUDY: "LIBERO_Study_Tabletop_Manipulation",
    Arena.FLOOR: "LIBERO_Floor_Manipulation",
    Arena.COFFEE_TABLE: "LIBERO_Coffee_Table_Manipulation",
}
_PATTERNS = {
    arena: re.compile(re.escape(problem) + r"(?:_(?P<style>.+))?", re.IGNORECASE)
    for arena, problem in _PROBLEMS.items()
}


def workspace_category(arena: Arena) -> str:
    """Return the category that task files give to an arena's workspace."""
    return "table" if arena is Arena.TABLE else arena.workspace


def arena_and_style(problem: str) -> tuple[Arena, str]:
    """Return the arena and the style of a problem name; the style keeps its case.

    Raises TaskError if it is unknown.
    """
    for arena, pattern in _PATTERNS.items():
        match = pattern.fullmatch(problem)
        if match:
            return arena, match["style"] or ""
    raise TaskError(f"unknown problem {quote(problem)}; {did_you_mean(problem[:80], _PROBLEMS.values())}")


def problem_name(arena: Arena, style: str) -> str:
    """Return the problem name of an arena and a style; the inverse of `arena_and_style`."""
    return f"{_PROBLEMS[arena]}_{style}" if style else _PROBLEMS[arena]


ATTRIBUTES = (":target", ":ranges", ":yaw_rotation", ":rgba")
"""Attributes that a region may have."""


def region_from(group: Group) -> Region:
    """Read a region from a group. Raises BDDLError with the line number, without the file name."""
    if not group.items:
        raise fail("'()' is not a region", group)
    name = as_word(group.items[0], "the name of a region").text.lower()
    attributes = _attributes(group, name)
    if ":target" not in attributes:
        raise fail(f"region {quote(name)} has no ':target'", group)
    target = as_word(_value(attributes[":target"], "the name of a thing"), "the name of a thing").text.lower()
    rectangles: tuple[Rectangle, ...] = ()
    yaw: tuple[float, float] | None = None
    rgba: tuple[float, float, float, float] | None = None
    if ":ranges" in attributes:
        rectangles = _rectangles(attributes[":ranges"])
    if ":yaw_rotation" in attributes:
        yaw = _yaw(attributes[":yaw_rotation"])
    if ":rgba" in attributes:
        rgba = _rgba(attributes[":rgba"])
    return Region(name, target, rectangles, yaw, rgba)


def _attributes(group: Group, name: str) -> dict[str, Group]:
    attributes: dict[str, Group] = {}
    for node in group.rest:
        attribute = as_group(node, f"an attribute of region {quote(name)} in parentheses")
        if attribute.head not in ATTRIBUTES:
            nearest = did_you_mean(attribute.head[:80], ATTRIBUTES)
            raise fail(
                f"region {quote(name)} has an unknown attribute {quote(attribute.head)}; {nearest}",
                attribute,
            )
        if attribute.head in attributes:
            raise fail(f"region {quote(name)} has '{attribute.head}' twice", attribute)
        attributes[attribute.head] = attribute
    return attributes


def _rectangles(group: Group) -> tuple[Rectangle, ...]:
    shape = "((x_min y_min x_max y_max) ...)"
    listed = as_group(_value(group, shape), shape)
    if not listed.items:
        raise fail(f"':ranges' is empty: it takes {shape}", group)
    rectangles: list[Rectangle] = []
    for node in listed.items:
        corners = as_group(node, "(x_min y_min x_max y_max)")
        rectangle = Rectangle(*_numbers(corners, 4))
        reason = rectangle_flaw(rectangle)
        if reason is not None:
            raise fail(reason, corners)
        rectangles.append(rectangle)
    return tuple(rectangles)


def _yaw(group: Group) -> tuple[float, float]:
    pairs = as_group(_value(group, "((low high))"), "((low high))")
    if len(pairs.items) != 1:
        raise fail(f"':yaw_rotation' takes one pair ((low high)), not {len(pairs.items)}", group)
    low, high = _numbers(as_group(pairs.items[0], "(low high)"), 2)
    return low, high


def _rgba(group: Group) -> tuple[float, float, float, float]:
    red, green, blue, alpha = _numbers(as_group(_value(group, "(r g b a)"), "(r g b a)"), 4)
    return red, green, blue, alpha


def join_expressions(words: Iterable[str]) -> list[str]:
    """Join words into expressions: ``-np.pi / 4 0`` is two expressions, ``-np.pi/4`` and ``0``.

    A blank separates expressions unless an operator on one side of it needs an operand there; a sign directly before
    an operand begins a new expression.
    """
    joined: list[str] = []
    for word in words:
        continues = bool(joined) and (joined[-1][-1] in "+-*/" or word[0] in "*/" or word in ("+", "-"))
        if continues:
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _numbers(group: Group, count: int) -> list[float]:
    words = [as_word(node, "a number") for node in group.items]
    texts = join_expressions(word.text for word in words)
    if len(texts) != count:
        raise fail(f"expected {count} numbers, found {len(texts)}", group)
    numbers: list[float] = []
    for text in texts:
        try:
            numbers.append(evaluate(text))
        except ValueError as error:
            raise fail(f"{quote(text)} {error}", group) from None
    return numbers


def _value(attribute: Group, expected: str) -> Node:
    if len(attribute.rest) != 1:
        raise fail(f"'{attribute.head}' takes {expected} and nothing else", attribute)
    return attribute.rest[0]


MAX_BYTES = 5_000_000
"""Maximum size of a task file, bytes; the largest published file has 6,000."""

_REQUIRED = ("problem", ":language", ":regions", ":fixtures", ":objects", ":init", ":goal")
_OPTIONAL = (":domain", ":requirements", ":obj_of_interest")
_SECTIONS = frozenset(_REQUIRED + _OPTIONAL)
_LEVELS = dict.fromkeys(_SECTIONS - {"problem"}, 1) | dict.fromkeys(ATTRIBUTES, 3)


@dataclass(frozen=True, slots=True)
class Note:
    """A warning about a statement that is legal, has no effect, and is probably a mistake."""

    line: int
    """Line number, from 1."""
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A task read from a file, with the warnings about the file."""

    task: Task
    warnings: tuple[Note, ...] = ()


def read(path: Path | str) -> Task:
    """Read the task in a file; its id is the file name without ``.bddl``. Raises BDDLError."""
    return read_document(path).task


def read_document(path: Path | str) -> Document:
    """Read the task in a file, with warnings. Raises BDDLError."""
    path = Path(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise BDDLError(f"cannot be read: {error.strerror or error}", file=path) from None
    return document_from_bytes(data, id=path.stem, file=path)


def parse(text: str, *, id: str, file: Path | str | None = None) -> Task:
    """Parse the text of a task file; ``file`` is used in error messages only. Raises BDDLError."""
    return parse_document(text, id=id, file=file).task


def document_from_bytes(data: bytes, *, id: str, file: Path | str | None = None) -> Document:
    """Parse the bytes of a task file; return the task with warnings. Raises BDDLError."""
    if len(data) > MAX_BYTES:
        raise BDDLError(f"is larger than {MAX_BYTES:,} bytes: not a task file", file=file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BDDLError(
            f"is not a text file: byte 0x{data[error.start]:02x} is not UTF-8", file=file, line=line
        ) from None
    return parse_document(text, id=id, file=file)


def parse_document(text: str, *, id: str, file: Path | str | None = None) -> Document:
    """Parse the text of a task file; return the task with warnings.

    ``file`` is used in error messages only. Raises BDDLError.
    """
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BDDLError("is not a text file: it contains a zero byte", file=file, line=line)
    try:
        return _BddlReader(parse_group(text, levels=_LEVELS)).document(id)
    except BDDLError as error:
        raise BDDLError(error.reason, file=file, line=error.line) from None


def parse_goal(text: str) -> Goal:
    """Parse a goal: ``(And (On plate_1 stove_1) ...)`` or a single predicate. Raises BDDLError."""
    return _BddlReader(Group((), 1)).goal(parse_group(f"(:goal {text})"))


class _BddlReader:
    """Reads the groups of one file in a single pass."""

    def __init__(self, root: Group) -> None:
        self._root = root
        self._lines: dict[tuple[str | int, ...], int] = {}
        self._warnings: list[Note] = []

    def document(self, id: str) -> Document:
        sections = self._sections()
        arena, style = self._problem(sections)
        instruction = self._language(sections[":language"])
        regions = self._regions(sections[":regions"])
        fixtures = self._without_workspace(sections[":fixtures"], self._entities("fixtures", sections), arena)
        objects = tuple(self._entities("objects", sections))
        bare = Scene(arena, fixtures, objects, regions, (), style)
        initial = self._initial(sections[":init"], Vocabulary(bare))
        goal = self.goal(sections[":goal"])
        of_interest = self._of_interest(sections.get(":obj_of_interest"))
        scene = Scene(arena, fixtures, objects, regions, initial, style)
        for flaw in flaws(scene, goal, of_interest):
            raise fail(flaw.reason, self._line_of(flaw.where))
        self._look_at_placements(scene)
        task = Task(id, scene, goal, instruction, of_interest)
        return Document(task, tuple(sorted(self._warnings, key=lambda note: note.line)))

    # -- sections ---------------------------------------------------------------------------------------

    def _sections(self) -> dict[str, Group]:
        if self._root.head != "define":
            start = quote(f"({self._root.head}")
            raise fail(f"a task file begins with '(define', not with {start}", self._root)
        sections: dict[str, Group] = {}
        for node in self._root.rest:
            group = as_group(node, "a section in parentheses")
            if group.head not in _SECTIONS:
                nearest = did_you_mean(group.head[:80], _SECTIONS)
                raise fail(f"unknown section {quote(group.head)}; {nearest}", group)
            if group.head in sections:
                raise fail(
                    f"section '{group.head}' was given on line {sections[group.head].line} already", group
                )
            sections[group.head] = group
        for name in _REQUIRED:
            if name not in sections:
                raise fail(f"section '{name}' is missing", self._root)
        return sections

    def _problem(self, sections: dict[str, Group]) -> tuple[Arena, str]:
        domain = sections.get(":domain")
        if domain is not None:
            word = _only_word(domain, "the domain")
            if word.text.lower() != "robosuite":
                raise fail(f"the domain is {quote(word.text)}, not 'robosuite'", word)
        word = _only_word(sections["problem"], "the name of a problem")
        try:
            arena, style = arena_and_style(word.text)
        except TaskError as error:
            raise fail(str(error), word) from None
        self._lines[("style",)] = word.line
        return arena, style

    def _language(self, group: Group) -> Instruction:
        words = [as_word(node, "words without parentheses").text for node in group.rest]
        if not words:
            raise fail("the instruction in ':language' is empty", group)
        return Instruction(" ".join(words))

    def _regions(self, group: Group) -> tuple[Region, ...]:
        groups = [as_group(node, "a region in parentheses") for node in group.rest]
        self._lines.update({("regions", index): region.line for index, region in enumerate(groups)})
        return tuple(region_from(region) for region in groups)

    def _entities(self, section: str, sections: dict[str, Group]) -> list[Entity]:
        """Read a typed list of names: ``a_1 a_2 - a b_1 - b``."""
        group = sections[f":{section}"]
        entities: list[Entity] = []
        waiting: list[Word] = []
        words = [as_word(node, "'name - category'") for node in group.rest]
        categories: dict[str, int] = {}
        index = 0
        while index < len(words):
            word = words[index]
            if word.text != "-":
                waiting.append(word)
                index += 1
                continue
            if not waiting:
                raise fail("'-' needs a name before it", word)
            if index + 1 == len(words) or words[index + 1].text == "-":
                raise fail("'-' needs a category after it", word)
            category = words[index + 1].text.lower()
            if category in categories:
                self._warn(
                    word.line,
                    f"category {quote(category)} was listed on line {categories[category]} already; "
                    "LIBERO keeps only the last list",
                )
            categories[category] = word.line
            for name in waiting:
                self._lines[(section, len(entities))] = name.line
                entities.append(Entity(name.text.lower(), category))
            waiting = []
            index += 2
        if waiting:
            raise fail(f"{quote(waiting[0].text)} has no category: write 'name - category'", waiting[0])
        return entities

    def _without_workspace(self, group: Group, entities: list[Entity], arena: Arena) -> tuple[Entity, ...]:
        """Return the fixtures without the arena's workspace, which must be declared exactly once."""
        workspace, category = arena.workspace, workspace_category(arena)
        places = [index for index, entity in enumerate(entities) if entity.name == workspace]
        if not places:
            foreign = {other.workspace for other in Arena} & {entity.name for entity in entities}
            instead = f", only {quote(min(foreign))}" if foreign else ""
            raise fail(
                f"the workspace of this problem, '{workspace} - {category}', is not listed{instead}", group
            )
        if len(places) > 1:
            line = self._lines[("fixtures", places[1])]
            raise fail(f"the name '{workspace}' is taken: it is the workspace already", line)
        if entities[places[0]].category != category:
            raise fail(
                f"the workspace '{workspace}' is a '{category}', not {quote(entities[places[0]].category)}",
                self._lines[("fixtures", places[0])],
            )
        others = [index for index in range(len(entities)) if index != places[0]]
        lines = [self._lines[("fixtures", index)] for index in others]
        self._lines.update({("fixtures", index): line for index, line in enumerate(lines)})
        return tuple(entities[index] for index in others)

    def _initial(self, group: Group, vocabulary: Vocabulary) -> tuple[Atom, ...]:
        atoms: list[Atom] = []
        for node in group.rest:
            relation = as_group(node, "a relation in parentheses")
            atom = _atom(relation)
            if not any(name in vocabulary for name in atom.arguments):
                stated = quote(str(atom), limit=120)
                self._warn(relation.line, f"{stated} has no effect: nothing it names is in the scene")
                continue
            self._lines[("initial", len(atoms))] = relation.line
            atoms.append(atom)
        return tuple(atoms)

    def goal(self, group: Group) -> Goal:
        self._lines[("goal",)] = group.line
        if len(group.rest) != 1:
            raise fail("':goal' takes one predicate, or one 'And' of predicates", group)
        stated = as_group(group.rest[0], "a predicate in parentheses")
        nodes: Iterable[Node] = stated.rest if stated.head == "and" else (stated,)
        atoms: list[Atom] = []
        for node in nodes:
            part = as_group(node, "a predicate in parentheses")
            self._lines[("goal", len(atoms))] = part.line
            atoms.append(_atom(part))
        return Goal(tuple(atoms))

    def _of_interest(self, group: Group | None) -> tuple[str, ...]:
        if group is None:
            return ()
        words = [as_word(node, "names without parentheses") for node in group.rest]
        self._lines.update({("of_interest", index): word.line for index, word in enumerate(words)})
        return tuple(word.text.lower() for word in words)

    # -- what is legal but odd --------------------------------------------------------------------------

    def _look_at_placements(self, scene: Scene) -> None:
        placing = [atom for atom in scene.initial if atom.predicate in (Predicate.ON, Predicate.IN)]
        counts = Counter(atom.arguments[0] for atom in placing)
        for section, entities in (("fixtures", scene.fixtures), ("objects", scene.objects)):
            for index, entity in enumerate(entities):
                count = counts[entity.name]
                if count != 1:
                    problem = "is placed by no initial relation" if count == 0 else f"is placed {count} times"
                    self._warn(self._lines[(section, index)], f"{quote(entity.name)} {problem}")

    def _warn(self, line: int, text: str) -> None:
        self._warnings.append(Note(line, text))

    def _line_of(self, where: tuple[str | int, ...]) -> int:
        while where and where not in self._lines:
            where = where[:-1]
        return self._lines.get(where, self._root.line)


def _atom(group: Group) -> Atom:
    if not group.items:
        raise fail("'()' states nothing", group)
    first = as_word(group.items[0], "a predicate")
    try:
        # Or, Not, ... take groups where a predicate takes names: name the culprit before looking further.
        predicate(first.text)
        return parse_atom([as_word(node, "names without parentheses").text for node in group.items])
    except BDDLError:
        raise
    except TaskError as error:
        raise fail(str(error), first) from None


def _only_word(group: Group, what: str) -> Word:
    if len(group.rest) != 1:
        raise fail(f"'{group.head}' takes {what} and nothing else", group)
    return as_word(group.rest[0], what)
