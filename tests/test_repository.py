"""The repository's own promises: import order, what importing costs, rooms, locks, size, languages."""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
import sys
import tokenize
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import weighbridge

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(weighbridge.__file__).resolve().parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
# DESIGN section 3, by hand: a room that is lost or added by accident shows here.
ROOMS = (
    "accept", "accept/checks", "cli", "codec", "diagnose", "estimate", "facts", "fleet", "formats", "i18n",
    "ledger", "plan", "probe", "probe/gpu", "quote", "readers", "record", "report", "schema", "spec", "stage",
    "store", "web", "weigh",
)  # fmt: skip


def pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", lock.read_text(encoding="utf-8"), re.MULTILINE))


def python(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_imports_run_one_way() -> None:
    """The contracts stand in pyproject.toml; this repeats the answer of `make lint` with file and line."""
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command; lint_imports_command()",
    ]
    answer = subprocess.run(
        [*command, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_every_room_has_its_place_in_the_import_order() -> None:
    layers = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    placed = {name.strip().removeprefix("weighbridge.") for layer in layers for name in layer.split("|")}
    there = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    }

    assert there - {"__init__", "__main__"} == placed


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_opens_with_what_it_is_for(room: str) -> None:
    text = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8")))

    assert text is not None
    assert len(text.splitlines()) >= 3
    # ... and with what it is not.
    assert re.search(r"\b(no|not|never|nothing|none|only|without)\b", text.lower())


def test_importing_the_package_loads_nothing_but_the_standard_library() -> None:
    program = (
        "import sys; before = set(sys.modules); import weighbridge; print(*sorted(set(sys.modules) - before))"
    )
    loaded = {name.partition(".")[0] for name in python(program).split()}

    assert "weighbridge" in loaded
    assert loaded - {"weighbridge"} <= sys.stdlib_module_names


@pytest.mark.parametrize("room", ["weigh", "schema", "units", "errors"])
def test_the_kernel_and_its_records_load_nothing_but_the_standard_library(room: str) -> None:
    program = (
        f"import sys; before = set(sys.modules); import weighbridge.{room}; print(*set(sys.modules) - before)"
    )
    loaded = {name.partition(".")[0] for name in python(program).split()}

    assert loaded - {"weighbridge"} <= sys.stdlib_module_names


def test_code_and_comments_are_ascii() -> None:
    """Chinese belongs in messages, templates and docs/zh, where the reader of that language looks."""
    folders = [ROOT / name for name in ("src", "tools", "benchmarks", "examples")]
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if not line.isascii()
    ]

    assert len(files) > 20
    assert wrong == []


def test_only_the_data_of_tests_may_be_in_another_script() -> None:
    wrong = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type in (tokenize.COMMENT, tokenize.NAME) and not token.string.isascii():
                    wrong.append(f"{path.relative_to(ROOT)}:{token.start[0]}")

    assert wrong == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_pins_everything_by_hash_and_names_no_host(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[a-z0-9])", text[text.index("\n" + next(iter(pins(lock)))) :].strip())

    assert not re.search(r"://|find-links|index-url|trusted-host|@ ", text)
    assert len(entries) == len(pins(lock)) > 0
    assert all("--hash=sha256:" in entry for entry in entries)


def test_the_locks_agree_with_each_other() -> None:
    versions: dict[str, set[str]] = {}
    for lock in LOCKS:
        for name, version in pins(lock).items():
            versions.setdefault(name, set()).add(version)

    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_the_base_lock_holds_what_the_package_declares_and_nothing_heavy() -> None:
    declared = {re.split(r"[<>=!~ \[]", name)[0].lower() for name in PROJECT["project"]["dependencies"]}
    base = pins(ROOT / "requirements" / "base.lock").keys()

    assert declared == {"click", "duckdb", "msgspec", "pyyaml", "rich"}
    assert declared <= base
    assert not base & {"numpy", "pandas", "pyarrow", "torch"}


def test_a_base_install_is_at_most_100_mb() -> None:
    """Everything on disk that the locked packages brought (bytecode too), and the package itself."""
    size = sum(path.stat().st_size for path in PACKAGE.rglob("*") if path.is_file())
    for name, version in pins(ROOT / "requirements" / "base.lock").items():
        distribution = metadata.distribution(name)
        if distribution.version != version or distribution.files is None:
            pytest.skip(f"{name} {distribution.version} was not installed from the lock ({version})")
        paths = [Path(str(file.locate())) for file in distribution.files]
        size += sum(path.stat().st_size for path in paths if path.is_file())

    assert 60e6 < size <= 100e6


def test_the_licence_is_apache_2_word_for_word() -> None:
    """The digest is that of the text which the Apache Software Foundation publishes."""
    digest = hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest()

    assert digest == "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
    assert PROJECT["project"]["license"] == "Apache-2.0"


def test_the_changelog_opens_with_the_version_that_the_package_has() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.findall(r"^## (\S+)", changelog, re.MULTILINE)[0] == weighbridge.__version__


def test_every_make_target_that_the_readmes_name_exists() -> None:
    targets = set(
        re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    for name in ("README.md", "README.zh.md"):
        named = set(re.findall(r"\bmake ([a-z-]+)", (ROOT / name).read_text(encoding="utf-8")))
        assert {"demo", "test"} <= named <= targets


def test_ci_runs_what_people_run() -> None:
    script = ROOT / ".ci" / "run"

    assert script.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    assert re.search(r"^make .*\btest$", script.read_text(encoding="utf-8"), re.MULTILINE)


def test_a_wheel_carries_everything_that_lies_in_the_package(tmp_path: Path) -> None:
    """Sentences, templates, facts and the demo's logs are no Python files and are easily left behind."""
    pytest.importorskip("hatchling", reason="the build backend is not installed: make test installs it")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    tracked = subprocess.run(
        ["git", "ls-files", "src/weighbridge"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode != 0:
        pytest.skip("not a git checkout: which files belong to the package is not known")

    carried = set(zipfile.ZipFile(wheel).namelist())
    assert {
        name.removeprefix("src/") for name in tracked.stdout.split() if (ROOT / name).is_file()
    } <= carried
