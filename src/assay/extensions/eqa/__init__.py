"""Action questions for vision-language models: multiple choice, made from robot episodes.

sources/   episodes of data sets, runs and the built-in demonstration, all as one Episode
pairs      key frames that can be seen well, and pairs of them between which something happened
drafts/    sets of four options; which of them is asked for is drawn afterwards, so that no text tells
build      questions with pictures in a folder
leak       probes that look for what a text may tell after all
baselines  answers without a model
"""

from assay.support.plugins import provide

provide("command", {"Vision-language models/eqa": "assay.extensions.eqa.commands:app"})
