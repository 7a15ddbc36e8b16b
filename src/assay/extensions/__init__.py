"""Extensions, one per folder, registered like third-party plugins. The core imports none, and none imports another.

Each folder's ``__init__`` declares with `provide` what it adds; the rest is imported when one of its names is used.
"""
