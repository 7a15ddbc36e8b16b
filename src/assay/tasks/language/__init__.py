"""English instructions, parsed into steps: action, object and destination.

read_steps("turn on the stove and put the moka pot on it")
    -> turn on | the stove
       put     | the moka pot | on | the stove

lexicon    names of objects, attributes and verbs: names.yaml, nouns.yaml, attributes.yaml, verbs.yaml
phrases    noun phrases, prepositions, and positions stated next to a name
steps      parsing an instruction into steps, and writing steps as an instruction
meaning    interpreting an instruction with its scene and goal
"""
