"""LIBERO's path configuration."""

try:
    import assay.extensions.dropin
except ModuleNotFoundError as error:
    import sys

    raise ModuleNotFoundError(
        f"assay libero: {sys.executable} lacks {error.name}: install assay-robotics in the script's environment",
        name=error.name,
    ) from None

from assay.extensions.dropin.session import get_default_path_dict, get_libero_path, set_libero_default_path
