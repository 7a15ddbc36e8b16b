"""Extensions: one folder each, registered like third-party plugins. The core imports none, and none imports another.

Each folder's ``__init__`` says with `provide` what it adds; nothing else is imported until one of its names is used.
"""
