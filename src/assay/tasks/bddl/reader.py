"""Reader for BDDL task files. The problem name states the arena of a task and its style:

LIBERO_Kitchen_Tabletop_Manipulation                      the kitchen
Libero_Tabletop_Manipulation_tabletop_light_modified_7    the table, in the style tabletop_light_modified_7
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from assay.episodes.spec import Instruction
from assay.errors import BDDLError, TaskError, did_you_mean
from assay.tasks.bddl.sexpr import Group, Node, Word, as_group, as_word, evaluate, fail, parse_group
from assay.tasks.checks import flaws, parse_atom, quote
from assay.tasks.scene import Arena, Atom, Entity, Goal, Predicate, Rectangle, Region, Scene, Task

MAX_BYTES = 5_000_000
"""Maximum size of a task file, in bytes; the largest published file has 6,000."""
_PROBLEMS = {
    Arena.TABLE: "LIBERO_Tabletop_Manipulation",
    Arena.KITCHEN: "LIBERO_Kitchen_Tabletop_Manipulation",
    Arena.LIVING_ROOM: "LIBERO_Living_Room_Tabletop_Manipulation",
    Arena.STUDY: "LIBERO_Study_Tabletop_Manipulation",
    Arena.FLOOR: "LIBERO_Floor_Manipulation",
    Arena.COFFEE_TABLE: "LIBERO_Coffee_Table_Manipulation",
}
_REQUIRED = ("problem", ":language", ":regions", ":fixtures", ":objects", ":init", ":goal")
_SECTIONS = frozenset(_REQUIRED) | {":domain", ":requirements", ":obj_of_interest"}
_ATTRIBUTES = {
    ":target": "the name of an object",
    ":ranges": "((x_min y_min x_max y_max) ...)",
    ":yaw_rotation": "((low high))",
    ":rgba": "(r g b a)",
}
"""Mapping from each attribute of a region to a description of its value."""


@dataclass(frozen=True, slots=True)
class Note:
    """A warning about a statement that is valid but has no effect, and is probably a mistake."""

    line: int
    """Line number, from 1."""
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A task read from a file, with the warnings about that file."""

    task: Task
    warnings: tuple[Note, ...] = ()


def workspace_category(arena: Arena) -> str:
    """Return the category that task files use for an arena's workspace."""
    return "table" if arena is Arena.TABLE else arena.workspace


def problem_name(arena: Arena, style: str) -> str:
    """Return the problem name for an arena and a style."""
    return f"{_PROBLEMS[arena]}_{style}" if style else _PROBLEMS[arena]


def read(path: Path | str) -> Task:
    """Read the task in a file; its id is the file name without ``.bddl``. Raises BDDLError."""
    return read_document(path).task


def read_document(path: Path | str) -> Document:
    """Read the task in a file, with warnings. Raises BDDLError."""
    path = Path(path)
    try:
        with path.open("rb") as stream:
            return parse_document(stream.read(MAX_BYTES + 1), id=path.stem, file=path)
    except OSError as error:
        raise BDDLError(f"cannot be read: {error.strerror or error}", file=path) from None


def parse(text: str, *, id: str, file: Path | str | None = None) -> Task:
    """Parse the text of a task file; ``file`` is used only in error messages. Raises BDDLError."""
    return parse_document(text, id=id, file=file).task


def parse_document(content: str | bytes, *, id: str, file: Path | str | None = None) -> Document:
    """Parse the content of a task file and return the task with warnings.

    ``file`` is used only in error messages. Raises BDDLError.
    """
    if len(content) > MAX_BYTES:
        raise BDDLError(f"the file is larger than {MAX_BYTES:,} bytes, so it is not a task file", file=file)
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, byte = error.object.count(b"\n", 0, error.start) + 1, error.object[error.start]
        reason = f"the file is not text: byte 0x{byte:02x} is not UTF-8"
        raise BDDLError(reason, file=file, line=line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BDDLError("the file is not text: it contains a zero byte", file=file, line=line)
    try:
        return _BddlReader(parse_group(text)).document(id)
    except BDDLError as error:
        raise BDDLError(error.reason, file=file, line=error.line) from None


def parse_goal(text: str) -> Goal:
    """Parse a goal: ``(And (On plate_1 stove_1) ...)`` or a single predicate. Raises BDDLError."""
    return _BddlReader(Group([], 1)).goal(parse_group(f"(:goal {text})"))


class _BddlReader:
    """Reader for the groups of one file, in a single pass."""

    def __init__(self, root: Group) -> None:
        self._root = root
        self._lines: dict[tuple[str | int, ...], int] = {}
        """Line number of each part of the task, by its path as in `TaskFlaw.where`."""
        self._warnings: list[Note] = []

    def document(self, id: str) -> Document:
        """Read the whole file."""
        sections = self._sections()
        problem = as_word(_only_item(sections["problem"], "the name of a problem"), "the name of a problem")
        self._lines[("style",)] = problem.line
        styles = {  # case is ignored in the arena and kept in the style
            arena: match["style"] or ""
            for arena, name in _PROBLEMS.items()
            if (match := re.fullmatch(rf"{name}(?:_(?P<style>.+))?", problem.text, re.IGNORECASE))
        }
        if not styles:
            nearest = did_you_mean(problem.text[:80], _PROBLEMS.values())
            raise fail(f"unknown problem {quote(problem.text)}; {nearest}", problem)
        arena, style = next(iter(styles.items()))
        words = [as_word(node, "words without parentheses").text for node in sections[":language"].rest]
        if not words:
            raise fail("the instruction in ':language' is empty", sections[":language"])
        groups = [as_group(node, "a region in parentheses") for node in sections[":regions"].rest]
        regions = tuple(map(_read_region, groups))
        self._note_lines("regions", groups)
        workspace = Entity(arena.workspace, workspace_category(arena))
        fixtures = self._entities(sections[":fixtures"], without=workspace)
        objects = self._entities(sections[":objects"])
        names = Scene(arena, fixtures, objects, regions, ()).names
        initial: list[Atom] = []
        for node in sections[":init"].rest:
            relation = as_group(node, "a relation in parentheses")
            atom = _atom(relation)
            if names.isdisjoint(atom.arguments):
                stated = quote(str(atom), limit=120)
                self._warnings.append(
                    Note(relation.line, f"{stated} has no effect: it names nothing in the scene")
                )
            else:
                self._lines[("initial", len(initial))] = relation.line
                initial.append(atom)
        goal = self.goal(sections[":goal"])
        listed = sections[":obj_of_interest"].rest if ":obj_of_interest" in sections else []
        interest = [as_word(node, "names without parentheses") for node in listed]
        self._note_lines("of_interest", interest)
        of_interest = tuple(word.text.lower() for word in interest)
        scene = Scene(arena, fixtures, objects, regions, tuple(initial), style)
        for flaw in flaws(scene, goal, of_interest):
            where = flaw.where
            while where and where not in self._lines:
                where = where[:-1]
            raise fail(flaw.reason, self._lines.get(where, self._root.line))
        placed = Counter(
            atom.arguments[0] for atom in initial if atom.predicate in (Predicate.ON, Predicate.IN)
        )
        for section, entities in (("fixtures", fixtures), ("objects", objects)):
            for index, entity in enumerate(entities):
                if (count := placed[entity.name]) != 1:
                    reason = (
                        "is not placed by any initial relation" if count == 0 else f"is placed {count} times"
                    )
                    self._warnings.append(
                        Note(self._lines[(section, index)], f"{quote(entity.name)} {reason}")
                    )
        task = Task(id, scene, goal, Instruction(" ".join(words)), of_interest)
        return Document(task, tuple(sorted(self._warnings, key=lambda note: note.line)))

    def goal(self, group: Group) -> Goal:
        """Read the goal, which is one predicate or one conjunction."""
        self._lines[("goal",)] = group.line
        stated = as_group(_only_item(group, "one predicate, or one 'And' of predicates"), "a predicate")
        nodes = stated.rest if stated.head == "and" else [stated]
        groups = [as_group(node, "a predicate in parentheses") for node in nodes]
        self._note_lines("goal", groups)
        return Goal(tuple(map(_atom, groups)))

    def _sections(self) -> dict[str, Group]:
        """Return the sections by name, including all required ones."""
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
                    f"section '{group.head}' was already given on line {sections[group.head].line}", group
                )
            sections[group.head] = group
        for name in _REQUIRED:
            if name not in sections:
                raise fail(f"section '{name}' is missing", self._root)
        if ":domain" in sections:
            domain = as_word(_only_item(sections[":domain"], "the domain"), "the domain")
            if domain.text.lower() != "robosuite":
                raise fail(f"the domain is {quote(domain.text)}, not 'robosuite'", domain)
        return sections

    def _entities(self, group: Group, without: Entity | None = None) -> tuple[Entity, ...]:
        """Read a typed list of names: ``a_1 a_2 - a b_1 - b``; ``without`` must be in it and is left out."""
        entities: list[Entity] = []
        lines: list[int] = []
        waiting: list[Word] = []
        categories: dict[str, int] = {}
        words = iter([as_word(node, "'name - category'") for node in group.rest])
        for word in words:
            if word.text != "-":
                waiting.append(word)
                continue
            if not waiting:
                raise fail("'-' needs a name before it", word)
            category = next(words, word).text.lower()
            if category == "-":
                raise fail("'-' needs a category after it", word)
            if category in categories:
                earlier = f"category {quote(category)} was already listed on line {categories[category]}"
                self._warnings.append(Note(word.line, f"{earlier}; LIBERO keeps only the last list"))
            categories[category] = word.line
            entities += [Entity(name.text.lower(), category) for name in waiting]
            lines += [name.line for name in waiting]
            waiting = []
        if waiting:
            raise fail(f"{quote(waiting[0].text)} has no category: write 'name - category'", waiting[0])
        if without is not None:
            if without not in entities:
                expected = f"{without.name} - {without.category}"
                raise fail(f"the workspace of this problem, '{expected}', is not listed", group)
            place = entities.index(without)
            del entities[place], lines[place]
        self._note_lines(group.head.removeprefix(":"), lines)
        return tuple(entities)

    def _note_lines(self, section: str, parts: Iterable[Node | int]) -> None:
        for index, part in enumerate(parts):
            self._lines[(section, index)] = part if isinstance(part, int) else part.line


def _atom(group: Group) -> Atom:
    if not group.items:
        raise fail("'()' is empty; expected a predicate and its arguments", group)
    first, *names = group.items
    predicate = as_word(first, "a predicate").text
    try:
        # Or, Not, ... are reported before the groups that they take in place of names.
        return parse_atom(
            chain([predicate], (as_word(node, "names without parentheses").text for node in names))
        )
    except BDDLError:
        raise
    except TaskError as error:
        raise fail(str(error), first) from None


def _read_region(group: Group) -> Region:
    if not group.items:
        raise fail("'()' is empty; expected a region", group)
    name = as_word(group.items[0], "the name of a region").text.lower()
    attributes: dict[str, Node] = {}
    for node in group.rest:
        attribute = as_group(node, f"an attribute of region {quote(name)} in parentheses")
        if attribute.head not in _ATTRIBUTES:
            nearest = did_you_mean(attribute.head[:80], _ATTRIBUTES)
            reason = f"region {quote(name)} has an unknown attribute {quote(attribute.head)}; {nearest}"
            raise fail(reason, attribute)
        if attribute.head in attributes:
            raise fail(f"region {quote(name)} has '{attribute.head}' twice", attribute)
        attributes[attribute.head] = _only_item(attribute, _ATTRIBUTES[attribute.head])
    if ":target" not in attributes:
        raise fail(f"region {quote(name)} has no ':target'", group)
    target = as_word(attributes[":target"], _ATTRIBUTES[":target"]).text.lower()
    rectangles = tuple(Rectangle(*row) for row in _rows(attributes, ":ranges", 4))
    yaw, rgba = None, None
    if yaws := _rows(attributes, ":yaw_rotation", 2):
        if len(yaws) > 1:
            raise fail(f"':yaw_rotation' takes one pair ((low high)), not {len(yaws)}", group)
        low, high = yaws[0]
        yaw = low, high
    if ":rgba" in attributes:
        red, green, blue, alpha = _numbers(attributes[":rgba"], 4, "(r g b a)")
        rgba = red, green, blue, alpha
    return Region(name, target, rectangles, yaw, rgba)


def _rows(attributes: Mapping[str, Node], key: str, count: int) -> list[list[float]]:
    """Read a list of lists of ``count`` numbers; return an empty list if the attribute is missing."""
    if key not in attributes:
        return []
    listed = as_group(attributes[key], _ATTRIBUTES[key])
    if not listed.items:
        raise fail(f"'{key}' is empty; expected {_ATTRIBUTES[key]}", listed)
    return [_numbers(node, count, f"{count} numbers in parentheses") for node in listed.items]


def _numbers(node: Node, count: int, expected: str) -> list[float]:
    group = as_group(node, expected)
    texts = join_expressions(as_word(node, "a number").text for node in group.items)
    if len(texts) != count:
        raise fail(f"expected {count} numbers, found {len(texts)}", group)
    numbers: list[float] = []
    for text in texts:
        try:
            numbers.append(evaluate(text))
        except ValueError as error:
            raise fail(f"{quote(text)} {error}", group) from None
    return numbers


def join_expressions(words: Iterable[str]) -> list[str]:
    """Join words into expressions: ``-np.pi / 4 0`` becomes two expressions, ``-np.pi/4`` and ``0``.

    A space separates expressions unless an operator next to it still needs an operand on that side; a sign directly
    before an operand begins a new expression.
    """
    joined: list[str] = []
    for word in words:
        if joined and (joined[-1][-1] in "+-*/" or word[0] in "*/" or word in ("+", "-")):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _only_item(group: Group, expected: str) -> Node:
    if len(group.rest) != 1:
        raise fail(f"'{group.head}' takes only {expected}", group)
    return group.rest[0]
