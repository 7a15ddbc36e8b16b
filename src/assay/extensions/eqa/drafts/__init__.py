"""Questions before their pictures: four options first, and only then which of them is right.

A reader who sees no picture must not know more than that there are four options. So no option is made from
the right one: each of the four is something that really happened in the data set, chosen without a thought
for which of them will be asked about. Then one is drawn, all with the same chance, and its pictures are
shown. Given the options, whatever they look like, each is right with a chance of one in four. Edits of
instructions, and options as ActionEQA makes them, are the exceptions, made only if asked for: see `edited`
and `derived`.
"""

from assay.extensions.eqa.drafts.draft import Draft, Shot
from assay.extensions.eqa.drafts.high import Wrong
from assay.extensions.eqa.drafts.plan import Options, Plan, planned

__all__ = ["Draft", "Options", "Plan", "Shot", "Wrong", "planned"]
