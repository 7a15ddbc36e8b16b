"""Multiple-choice questions about robot actions for vision-language models (ActionEQA).

sources/      episodes from data sets, stored runs and the built-in demonstration
pairs         usable key frames, and pairs of them with a visible change in between
drafts/       sets of four options; the correct one is drawn afterwards, so that no text gives it away
build         a folder of questions with images
leak          baselines, and probes that try to guess answers without seeing the question's images
asking/       models behind endpoints, prompts and answer files
annotations   human answers, reviews, reviewed question sets and error categories
scoring/      accuracies, contrasts, error analyses, and the report with the tables of the ActionEQA paper
"""

from assay.support.plugins import provide

provide("command", {"Other benchmarks/eqa": "assay.extensions.eqa.commands:app"})
