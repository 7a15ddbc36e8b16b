"""What an instruction says: its steps and the things they are about, read against the task's scene and goal.

An instruction is a row of steps: "pick up X and place it on Y", "put X in Y", "push X to the front of Y",
"open X", "close X", "turn X on". Of a thing only its noun may be worded anew. Whatever else identifies it
(left, black, next to the ramekin) is kept as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from assay.errors import PerturbationError
from assay.perturb.words.grid.lexicon import Lexicon, Noun
from assay.perturb.words.grid.verbs import PRONOUNS, Verb, verb_of
from assay.tasks import Scene, Task

MAX_CHARACTERS = 500
"""Longer instructions are refused; the longest published one has 190."""

STATES = {
    "open": ("open", "closed"),
    "close": ("closed", "open"),
    "turn_on": ("on", "off"),
    "turn_off": ("off", "on"),
}
"""Sense of a verb -> how the thing will be, and how it is."""
RELATIONS = (
    "flat on top of",
    "upright on top of",
    "on top of",
    "in front of",
    "to the front of",
    "to the left of",
    "to the right of",
    "next to",
    "onto",
    "into",
    "inside",
    "under",
    "on",
    "in",
)
_RESTING = {"onto": "on", "into": "in", "to the front of": "at the front of"}
_PLACE_ALONE = ("inside", "on it", "in it", "on top of it", "inside it")

_PLACED = re.compile(rf"(?P<x>.+) (?P<relation>{'|'.join(RELATIONS)}) (?P<y>(?:the|its) .*\{{n\d+\}}.*)")
_PLACED_ALONE = re.compile(rf"(?P<x>.+) (?P<place>{'|'.join(_PLACE_ALONE)})")
_FIELD = re.compile(r"\{n\d+\}")
_SEVERAL = re.compile(r"both .*|the [^{]*\{n\d+\} and the [^{]*\{n\d+\}")
_WHOLE = re.compile(r"the (?P<part>[^{]*\{n\d+\}) of (?P<whole>the [^{]*\{n\d+\})")


@dataclass(frozen=True, slots=True)
class Mention:
    """A noun in an instruction; ``{n0}`` stands for the first one."""

    noun: Noun
    form: str
    """As it is written, in the singular."""
    plural: bool

    def said(self, name: str) -> str:
        """Another name in the same number."""
        return self.noun.plural_of(name) if self.plural else name


@dataclass(frozen=True, slots=True)
class Thing:
    """What a step is about, with fields for nouns: "the black {n0} next to the {n1}"."""

    text: str
    plural: bool

    @property
    def bare(self) -> str:
        """Without "both", as it is said with "not"."""
        rest = self.text.removeprefix("both ")
        return rest if rest == self.text or rest.startswith("the ") else f"the two {rest}"

    @property
    def short(self) -> str:
        """Mentioned again: "the {n0}"; of several that are told apart, all."""
        found = _FIELD.findall(self.text)
        return f"the {found[0]}" if found and not (self.plural and len(found) > 1) else self.text

    @property
    def long(self) -> bool:
        """Whether more follows the noun, which other words could be taken to belong to."""
        return self.text[-1] != "}" or (len(_FIELD.findall(self.text)) > 1 and not self.plural)

    @property
    def pronoun(self) -> str:
        """It, or them."""
        return "them" if self.plural else "it"

    @property
    def part_and_whole(self) -> tuple[str, str] | None:
        """Of "the middle {n0} of the {n1}": "middle {n0}" and "the {n1}"."""
        found = _WHOLE.fullmatch(self.text)
        return (found["part"], found["whole"]) if found else None


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: move a thing to a place, or change its state."""

    sense: str
    """A key of the lexicon's verbs: ``put_on``, ``open``, ..."""
    verb: Verb
    x: Thing
    """In full, also where the instruction says "it"."""
    x_said: str
    relation: str = ""
    """Where it goes: "on", "to the front of"; empty for a change of state."""
    y: Thing | None = None
    """In full, also where the instruction says "it" or nothing."""
    place_said: str = ""
    """Relation and place as the instruction has them: "on the {n1}", "inside"."""
    lift: Verb | None = None
    """The first verb of "pick up X and place it on Y"."""

    @property
    def states(self) -> tuple[str, str] | None:
        """How the thing will be and how it is, for a change of state."""
        return STATES.get(self.sense.removesuffix("_door"))

    @property
    def there(self) -> str:
        """How the thing will be: "on the {n1}", "inside", "open"."""
        if self.states is not None:
            return self.states[0]
        resting = _RESTING.get(self.relation, self.relation)
        return resting + self.place_said.removeprefix(self.relation)


@dataclass(frozen=True, slots=True)
class Meaning:
    """An instruction taken apart."""

    original: str
    slotted: str
    """In lower case, with a field for each noun: "put the {n0} on the {n1}"."""
    mentions: tuple[Mention, ...]
    steps: tuple[Step, ...]
    nouns: tuple[Noun, ...]
    """Of everything in the scene, and its parts."""

    def styled(self, text: str) -> str:
        """A sentence with the capital and the full stop that the original has."""
        bare = self.original.strip()
        if bare[0].isupper():
            text = text[0].upper() + text[1:]
        return f"{text}." if bare.endswith(".") and text[-1] not in "?." else text


def meaning(task: Task, lexicon: Lexicon) -> Meaning:
    """Take a task's instruction apart.

    Raises PerturbationError for a thing the lexicon does not know, and for an instruction that cannot be read
    or does not speak of what the goal is about.
    """
    original = task.instruction.text
    text = " ".join(original.lower().split()).rstrip(".")
    if not text:
        raise PerturbationError(f"{task.id}: the instruction is empty")
    if len(text) > MAX_CHARACTERS or not re.fullmatch(r"[a-z0-9 ,;'-]+", text):
        raise PerturbationError(
            f"{task.id}: the instruction is no plain English sentence of up to {MAX_CHARACTERS} characters: "
            f"{text[:60]!r}"
        )
    nouns = _scene_nouns(task.scene, lexicon)
    slotted, mentions = _slotted(text, nouns)
    _speaks_of_goal(task, lexicon, mentions)
    steps = _Reader(f"{task.id}: cannot read {original!r}", lexicon, mentions).steps(slotted)
    return Meaning(original, slotted, mentions, steps, nouns)


def _scene_nouns(scene: Scene, lexicon: Lexicon) -> tuple[Noun, ...]:
    found: dict[str, Noun] = {}
    for entity in scene.entities:
        for noun in lexicon.of_category(entity.category):
            for each in (noun, *lexicon.parts_of(noun)):
                found[each.name] = each
    return tuple(found.values())


def _slotted(text: str, nouns: tuple[Noun, ...]) -> tuple[str, tuple[Mention, ...]]:
    """The text with a field for each noun, the longest that fits; equal nouns get equal fields.

    What is the usual name of one thing of the scene stands for no other.
    """
    usual = {noun.name for noun in nouns}
    forms = {
        said: Mention(noun, form, plural)
        for noun in nouns
        for form in noun.written
        if form == noun.name or form not in usual
        for said, plural in ((form, noun.number == "plural"), (noun.plural_of(form), True))
    }
    known = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    found: list[Mention] = []

    def field(match: re.Match[str]) -> str:
        mention = forms[match[0]]
        if mention not in found:
            found.append(mention)
        return f"{{n{found.index(mention)}}}"

    return re.sub(rf"\b(?:{known})\b", field, text), tuple(found)


def _speaks_of_goal(task: Task, lexicon: Lexicon, mentions: tuple[Mention, ...]) -> None:
    """Raise where the goal is about a thing that the instruction does not name."""
    named = {mention.noun.name for mention in mentions}
    named |= {whole for mention in mentions for whole in mention.noun.part_of}
    entities = {entity.name: entity for entity in task.scene.entities}
    for name in (name for atom in task.goal.atoms for name in atom.arguments):
        region = task.scene.region(name)
        entity = entities.get(region.target if region is not None else name)
        if entity is not None and not named & {noun.name for noun in lexicon.of_category(entity.category)}:
            raise PerturbationError(
                f"{task.id}: the goal is about {entity.name}, which the instruction does not name: "
                f"'{' '.join(task.instruction.text.split())}'"
            )


class _Reader:
    """Reads steps from a slotted text."""

    def __init__(self, trouble: str, lexicon: Lexicon, mentions: tuple[Mention, ...]) -> None:
        self._trouble, self._mentions = trouble, mentions
        self._irregular = lexicon.verbs.irregular
        self._senses: dict[str, list[str]] = {}
        for name, sense in lexicon.verbs.senses.items():
            for written in (*sense.habitual, *sense.contextual, *sense.only_original):
                self._senses.setdefault(written.removesuffix("->").strip(), []).append(name)
        verbs = "|".join(re.escape(verb) for verb in sorted(self._senses, key=len, reverse=True))
        self._split = re.compile(rf"(?:[,;]? and then|[,;] then|, and| and|[,;]) (?=(?:{verbs}) )")
        self._verb = re.compile(rf"(?P<verb>{verbs}) (?P<rest>.+)")
        self._apart = re.compile(r"(?P<verb>turn|switch) (?P<rest>.+) (?P<particle>on|off)")

    def steps(self, text: str) -> tuple[Step, ...]:
        """The steps of an instruction."""
        steps: list[Step] = []
        lifted: tuple[Verb, Thing] | None = None
        for part in self._split.split(text):
            found = self._apart.fullmatch(part) or self._verb.fullmatch(part)
            if found is None:
                raise self._unreadable(f"'{part}' begins with no known verb")
            rest = found["rest"]
            written = f"{found['verb']} {found.groupdict().get('particle') or ''}".strip()
            verb, senses = verb_of(written, self._irregular), self._senses[written]
            placed = self._placed(rest, steps)
            if lifted is not None:
                if placed is None or placed[0] not in PRONOUNS:
                    raise self._unreadable(f"'{part}' should say where what is taken goes: 'place it on ...'")
                steps.append(replace(self._move(verb, senses, placed, lifted[1]), lift=lifted[0]))
                lifted = None
            elif ("take" in senses and placed is None) or written.startswith("pick"):
                lifted = verb, self._thing(rest)
            elif placed is not None and set(senses) & {"put_on", "put_in", "put_at", "push"}:
                both = self._both(steps) if placed[0] == "them" else None
                steps.append(self._move(verb, senses, placed, both or self._thing(placed[0])))
            else:
                steps.append(self._change(verb, senses, rest, steps))
        if lifted is not None:
            raise self._unreadable("it says what to take, but not where to put it")
        return tuple(steps)

    def _both(self, before: list[Step]) -> Thing | None:
        """What "them" stands for: several things of the step before, or what it put on what."""
        last = before[-1] if before else None
        if last is None or last.x.plural or last.y is None:
            return last.x if last is not None and last.x.plural else None
        return Thing(f"{last.x.text} and {last.y.text}", True)

    def _placed(self, text: str, before: list[Step]) -> tuple[str, str, Thing, str] | None:
        """Thing, relation, place in full, and relation and place as written; None if there is no place."""
        alone = _PLACED_ALONE.fullmatch(text)
        if alone is not None and before:
            relation = alone["place"].removesuffix(" it")
            return alone["x"], relation, before[-1].x, alone["place"]
        found = _PLACED.fullmatch(text)
        if found is None:
            return None
        place = f"{found['relation']} {found['y']}"
        return found["x"], found["relation"], self._thing(found["y"]), place

    def _move(self, verb: Verb, senses: list[str], placed: tuple[str, str, Thing, str], x: Thing) -> Step:
        said, relation, y, place = placed
        by_relation = {"on": "put_on", "onto": "put_on", "on top of": "put_on"}
        by_relation |= dict.fromkeys(("in", "into", "inside"), "put_in")
        sense = "push" if senses == ["push"] or verb.name == "push" else by_relation.get(relation, "put_at")
        return Step(sense, verb, x, said, relation, y, place)

    def _change(self, verb: Verb, senses: list[str], rest: str, before: list[Step]) -> Step:
        x = self._thing(rest) if rest not in PRONOUNS or not before else before[-1].y or before[-1].x
        name = next((sense for sense in senses if sense in STATES), None)
        if name is None:
            raise self._unreadable(f"it does not say where to {verb.name} {rest}")
        field = _FIELD.search(x.text)
        if field is not None and f"{name}_door" in senses and self._mentions[int(field[0][2:-1])].noun.door:
            name = f"{name}_door"
        return Step(name, verb, x, rest)

    def _thing(self, text: str) -> Thing:
        """A thing with its article."""
        fields = _FIELD.findall(text)
        if not fields or not text.startswith(("the ", "both ", "its ")):
            raise self._unreadable(f"'{text}' is no thing of the scene that the lexicon has a name for")
        first = self._mentions[int(fields[0][2:-1])]
        return Thing(text, first.plural or _SEVERAL.fullmatch(text) is not None)

    def _unreadable(self, reason: str) -> PerturbationError:
        return PerturbationError(f"{self._trouble}: {_filled(reason, self._mentions)}")


def _filled(text: str, mentions: tuple[Mention, ...]) -> str:
    words = {f"n{index}": mention.said(mention.form) for index, mention in enumerate(mentions)}
    return text.format_map(words)
