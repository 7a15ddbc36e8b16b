"""Fuzz tests: damaged files and hostile servers for all code that reads files or replies (``make fuzz``).

A *target* derives one case after another from a number; the same number gives the same case. A case passes if the
reader returns a result or raises an AssayError. Any other exception is a *traceback*, a case that exceeds its time
limit is a *hang*, and text that a terminal would interpret is *obeyed*. Cases that failed once are kept in ``corpus/``
and run first.
"""
