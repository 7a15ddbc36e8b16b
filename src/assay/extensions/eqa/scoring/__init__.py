"""Scoring answers: how often each model is right, at which level, in which direction, and how sure that is.

sheet      questions and who answered them how                means      the hierarchical mean and its parts
accuracy   per kind and data set, with intervals              contrasts  directions, views and models in pairs
errors     translation, rotation, gripper; kinds of mistakes  balance    is a letter right, chosen, too often?
agreement  how far annotators agree                           score      all of it
page       as a page, with figures and tables
"""
