"""Readers of other people's files, from a folder a user has downloaded. They read and check, and do nothing.

    libero_para      LIBERO-Para: paraphrases, as a table and as task files; logs of its evaluations
    libero_pro       LIBERO-PRO: five tables of what takes the place of what
    libero_x         LIBERO-X: task files on four levels, rewordings on the fifth
    libero_plus      LIBERO-plus: a classification of names, decoded; language task files; joint angles
    init_files       LIBERO's stored initial states, without running the pickles they are

A folder without the release is refused in one line that says what was looked for. Nothing is imported here:
who reads initial states needs no reader of tables.
"""
