"""Files as everything else here needs them: where they go, whole or not at all, one writer at a time.

cache_folder(), config_folder(), data_folder()     the user's folders
replacing(path), making(folder, ours=...)          a file, a folder, that is there when it is whole
check_writable(path)                               before work whose result goes there
scratch_folder()                                   a folder that is gone when nobody needs it any more
digest_of(files, root), digest_of_file(file)       whether they are the same again
locked(file), is_locked(file)                      a lock that ends with the process that holds it
KeyValues(file, table, key, values)                rows by key in one SQLite file, for several processes
"""

from assay.support.files.atomic import check_writable, making, replacing, scratch_folder
from assay.support.files.digests import digest_of, digest_of_file
from assay.support.files.key_values import KeyValues
from assay.support.files.locks import is_locked, locked
from assay.support.files.places import CACHE_VARIABLE, cache_folder, config_folder, data_folder

__all__ = [
    "CACHE_VARIABLE",
    "KeyValues",
    "cache_folder",
    "check_writable",
    "config_folder",
    "data_folder",
    "digest_of",
    "digest_of_file",
    "is_locked",
    "locked",
    "making",
    "replacing",
    "scratch_folder",
]
