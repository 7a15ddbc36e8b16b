"""English instructions, read once: what is to be done, with what, and where it goes.

read_steps("turn on the stove and put the moka pot on it")
    -> turn on | the stove
       put     | the moka pot | on | the stove

verbs, phrases        what instructions are made of: verbs.yaml, and the prepositions
steps, sentences      an instruction read as steps; steps written as an instruction
lexicon, meaning      what things may be called (nouns.yaml, attributes.yaml); an instruction and its scene
attributes, positions colours and sizes; where the words say that a thing stands
"""

from assay.tasks.language.lexicon import COLOURS, Action, Lexicon, Noun, Verb, lexicon, verb_named
from assay.tasks.language.meaning import Meaning, Mention, read_task
from assay.tasks.language.steps import Step, read_steps, write_steps

__all__ = [
    "COLOURS",
    "Action",
    "Lexicon",
    "Meaning",
    "Mention",
    "Noun",
    "Step",
    "Verb",
    "lexicon",
    "read_steps",
    "read_task",
    "verb_named",
    "write_steps",
]
