"""English instructions, parsed into steps: action, object and destination.

read_steps("turn on the stove and put the moka pot on it")
    -> turn on | the stove
       put     | the moka pot | on | the stove

lexicon    names of objects, attributes and verbs: names.yaml, nouns.yaml, attributes.yaml, verbs.yaml
phrases    noun phrases, prepositions, and positions stated next to a name
steps      parsing an instruction into steps, and writing steps as an instruction
meaning    interpreting an instruction with its scene and goal
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
