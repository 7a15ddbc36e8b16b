"""What is read of a file of initial states."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from assay.errors import StateError
from assay.tasks.formats.init_files import read_states

from .files import ARRAY, Write, refused, tensor


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["<f8", "<f4", "<i8", "<i4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numpy_pickles_is_read_back(write: Write, protocol: int, kind: str, order: str):
    array = np.array(ARRAY * 100, dtype=kind, order=order)  # type: ignore[call-overload]
    states = read_states(write(pickle.dumps(array, protocol=protocol)))
    assert states.dtype == np.float64 and states.flags.c_contiguous
    assert np.array_equal(states, array)


def test_one_state_is_a_table_of_one_row(write: Write):
    assert read_states(write(pickle.dumps(ARRAY[0], protocol=2))).shape == (1, 4)


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_compression_makes_no_difference(write: Write, compression: int):
    try:
        states = read_states(write(pickle.dumps(ARRAY, protocol=2), compression=compression))
    except StateError:
        assert compression not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    else:
        assert np.array_equal(states, ARRAY)


class TrustingReader(pickle.Unpickler):
    """Python's own way to read a stored array; only for files that we trust."""

    def __init__(self, archive: zipfile.ZipFile, member: str) -> None:
        super().__init__(io.BytesIO(archive.read(member)))
        self._archive, self._folder = archive, member.removesuffix("data.pkl")

    def find_class(self, module: str, name: str) -> object:
        if module == "torch._utils":
            return self.tensor
        return name if module == "torch" else super().find_class(module, name)

    def persistent_load(self, key: tuple[str, ...]) -> np.ndarray:
        assert key[1] == "DoubleStorage"
        return np.frombuffer(self._archive.read(f"{self._folder}data/{key[2]}"))

    @staticmethod
    def tensor(storage: np.ndarray, start: int, shape: tuple[int, ...], *_: object) -> np.ndarray:
        return storage[start : start + int(np.prod(shape))].reshape(shape)


def test_every_published_file_is_read_as_python_reads_it(shared: Path):
    files = [*(shared / "libero/init").rglob("*.pruned_init"), *(shared / "libero_x/init").rglob("*.init")]
    assert len(files) >= 46
    for file in files:
        with zipfile.ZipFile(file) as archive:
            member = next(name for name in archive.namelist() if name.endswith("data.pkl"))
            expected = TrustingReader(archive, member).load()
        states = read_states(file)
        assert states.dtype == np.float64
        assert np.array_equal(states, np.atleast_2d(expected)), file


@pytest.mark.parametrize(
    ("kind", "dtype"), [("DoubleStorage", "<f8"), ("FloatStorage", "<f4"), ("LongStorage", "<i8")]
)
def test_a_torch_tensor_is_read_from_its_storage(write: Write, kind: str, dtype: str):
    data = (ARRAY * 100).astype(dtype)
    file = write(tensor(kind=kind), s0=data.tobytes())
    assert np.array_equal(read_states(file), data)


def test_a_torch_tensor_may_begin_within_its_storage(write: Write):
    file = write(tensor(start=4, shape=(2, 4)), s0=ARRAY.tobytes())
    assert np.array_equal(read_states(file), ARRAY[1:])


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(tensor(key="1"), id="no such storage"),
        pytest.param(tensor(key="../data.pkl"), id="a storage beside the others"),
        pytest.param(tensor(key="/etc/passwd"), id="a storage outside of the archive"),
        pytest.param(tensor(key="../../../../../../etc/passwd"), id="a storage above the archive"),
        pytest.param(tensor(kind="UntypedStorage"), id="bytes"),
        pytest.param(tensor(kind="ComplexDoubleStorage"), id="complex numbers"),
        pytest.param(tensor(shape=(4, 4)), id="more than there is"),
        pytest.param(tensor(start=1), id="beyond the end"),
        pytest.param(tensor(start=2**30), id="far beyond the end"),
        pytest.param(tensor(strides=(1, 3)), id="transposed"),
        pytest.param(tensor(strides=(0, 0)), id="repeated"),
        pytest.param(tensor(shape=(2**31 - 1, 2**31 - 1)), id="huge"),
        pytest.param(tensor(shape=(-3, -4)), id="negative"),
        pytest.param(tensor(shape=(0, 4)), id="no states"),
        pytest.param(tensor(shape=()), id="one number"),
        pytest.param(tensor(shape=(1, 3, 4)), id="three axes"),
        pytest.param(tensor(start=-4, shape=(1, 4)), id="before the beginning"),
    ],
)
def test_a_tensor_that_does_not_fit_its_storage_is_refused(write: Write, content: bytes):
    refused(write(content, s0=ARRAY.tobytes()))


def test_an_array_in_numpys_own_format_is_read_too(tmp_path: Path):
    file = tmp_path / "turn_on_the_stove.pruned_init.npz"
    np.savez(file, states=ARRAY)
    assert np.array_equal(read_states(file), ARRAY)


def test_objects_and_words_in_numpys_format_are_refused(tmp_path: Path):
    for number, array in enumerate((np.array([{}, 1], dtype=object), np.array([["a", "b"]]))):
        file = tmp_path / f"{number}.npz"
        np.savez(file, states=array)
        with pytest.raises(StateError, match=r"npz: (not a file of initial states|refused): "):
            read_states(file)
