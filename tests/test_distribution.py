"""The sdist and the wheel have all that is needed, and the wheel works where there is no checkout."""

from __future__ import annotations

import email
import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from assay import __version__
from assay.support.extras import DISTRIBUTION

ROOT = Path(__file__).parents[1]
RELATIVE = re.compile(r"\]\((?!\w+:|#)")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """What the build reads the README with."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _sources() -> set[str]:
    """Every file of the package, as a wheel names it."""
    files = (path for path in (ROOT / "src" / "assay").rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT / "src").as_posix()
        for path in files
        if "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == _sources()
    kinds = {PurePosixPath(name).suffix for name in inside}
    assert {".yaml", ".jinja", ".html", ".css", ".js", ".svg", ".typed"} <= kinds


def test_the_sdist_has_what_is_needed_to_build_and_test_and_no_caches(built: Path):
    (found,) = built.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"pyproject.toml", "hatch_build.py", "requirements.lock", "README.md", "CITATION.cff", "LICENSE"}
    assert wanted | {"tests/conftest.py", "docs/architecture.md"} <= names
    assert {f"src/{name}" for name in _sources()} <= names
    parts = {part for name in names for part in name.split("/")}
    assert not {part for part in parts if part.endswith((".pyc", "_cache")) or part in ("__pycache__", "out")}
    assert not {part for part in parts if part.startswith(".")} - {".gitignore", ".ci"}


def test_the_index_is_told_name_version_and_pythons_and_is_given_no_relative_link(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        told = email.message_from_bytes(archive.read(name))
    assert (told["Name"], told["Version"]) == ("assay-robotics", __version__)
    assert told["Requires-Python"] == "<3.14,>=3.11"
    assert told["Description-Content-Type"] == "text/markdown"
    page = str(told.get_payload())
    assert "# Assay" in page and not RELATIVE.search(page)


PAGE = "![a](docs/a.svg) [b](docs/b.md) [c](https://example.org/c) [d](#d)"


def test_links_are_absolute_where_the_project_has_an_address(hook: ModuleType):
    base = hook.address('title: Assay\nrepository-code: "https://example.org/assay/"\n')
    assert hook.readme(PAGE, base) == (
        "![a](https://example.org/assay/raw/HEAD/docs/a.svg) [b](https://example.org/assay/blob/HEAD/docs/b.md)"
        " [c](https://example.org/c) [d](#d)"
    )


def test_links_are_their_text_where_it_has_none(hook: ModuleType):
    assert hook.address("title: Assay\n") is None
    assert hook.readme(PAGE, None) == " b [c](https://example.org/c) [d](#d)"


COMMANDS = """
import sys
import assay
from assay.cli.app import main

print(assay.__file__)
for words in (("tasks", "list", "all", "--json", "-"), ("experiments", "show", "libero")):
    print("\\f", flush=True)
    sys.argv = ["assay", *words]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, words
"""
"""Where the package is, and what two commands say, in one process."""


def test_the_wheel_works_where_there_is_no_checkout(wheel: Path, tmp_path: Path):
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*command, "--target", str(tmp_path / "installed"), str(wheel)], check=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def python(*arguments: str) -> str:
        result = subprocess.run(
            [sys.executable, *arguments],
            cwd=elsewhere,
            env=os.environ | {"PYTHONPATH": str(tmp_path / "installed")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    assert python("-m", "assay", "--version").split() == ["assay", __version__]
    where, listed, shown = python("-c", COMMANDS).split("\f")
    assert where.startswith(str(tmp_path / "installed"))
    assert listed.count('"id"') == 40
    assert "put the bowl on the stove" in shown


def test_the_lock_has_a_version_of_everything_that_is_asked_for():
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    extras = project["optional-dependencies"]
    every = [Requirement(line) for line in (*project["dependencies"], *extras["dev"])]
    for requirement in every:  # grows: extras may name further extras
        every += [
            Requirement(line)
            for extra in requirement.extras
            if requirement.name == DISTRIBUTION
            for line in extras[extra]
        ]
    locked: dict[str, set[str]] = {}
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            fixed = Requirement(line)
            (exactly,) = fixed.specifier
            assert exactly.operator == "==" and fixed.url is None and not fixed.extras, line
            locked.setdefault(canonicalize_name(fixed.name), set()).add(exactly.version)
    wrong = [
        str(each)
        for each in every
        if each.name != DISTRIBUTION
        and not all(map(each.specifier.contains, locked.get(canonicalize_name(each.name), {"0"})))
    ]
    assert not wrong, f"requirements.lock does not fit {', '.join(wrong)}: make lock"
