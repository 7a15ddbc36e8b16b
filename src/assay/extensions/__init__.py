"""Extensions, one per folder, registered like third-party plugins. The core and other extensions
do not import them.

Each folder's ``__init__`` declares with `provide` what it adds; the rest is imported when one of its names is used.
"""
