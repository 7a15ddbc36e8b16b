"""`assay words`: LIBERO-Para's pipeline, which rewords instructions, and checks of the rewordings by rule and by hand.

commands      the commands, except those for human checks
review        sheets for a reviewer or for annotators, and their evaluation
human_check   reading and writing of these sheets, and the agreement between annotators
pipeline      paraphrases from a language model and its prompts: generate, verify, merge, verify again
score_table   distances of all paraphrases in a table
"""

from assay.support.plugins import provide

provide("command", {"Rarely used/words": "assay.extensions.paraphrasing.commands:app"})
