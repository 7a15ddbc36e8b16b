"""Damaged files and hostile peers against everything that reads: ``make fuzz``, ``python -m fuzz --help``.

A *target* makes one case after the other from a number: the same number gives the same case. A case is sound where
whatever reads it gives a result or refuses it in one line (an AssayError); anything else that is raised is a
*traceback*, a case that takes longer than it may is a *hang*, and text of a case that a terminal would obey is
*obeyed*. What was found once stands in ``corpus/`` and comes first.
"""
