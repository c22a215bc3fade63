"""One list of exact versions in two forms, and no trace of the registry that it came from."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
# Hosts of package registries and their file stores, put together here so that this file does not hold them either.
HOSTS = re.compile(
    r"|".join(["pypi" + r"\.org", "python" + r"hosted\.org", "registry" + r"\.npmjs", "pypi" + r"\.python"])
)


def read(name: str) -> str:
    return (CHECKOUT / name).read_text(encoding="utf-8")


def test_both_lists_of_versions_are_the_same() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    constraints = dict(pin.split("==") for pin in project["tool"]["uv"]["constraint-dependencies"])
    assert dict(PIN.findall(read("requirements.txt"))) == constraints


def test_every_requirement_has_a_hash() -> None:
    text = read("requirements.txt").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if PIN.match(line)]
    assert lines
    assert [line for line in lines if "--hash=sha256:" not in line] == []


def test_every_direct_dependency_has_its_line_of_reason() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    groups = project["dependency-groups"]
    direct = project["project"]["dependencies"] + [
        one for group in groups.values() for one in group if isinstance(one, str)
    ]
    names = {re.split(r"[\[=<>;~ ]", one)[0] for one in direct}
    reasons = set(re.findall(r"^\| `([a-z0-9-]+)`", read("docs/dependencies.md"), re.MULTILINE))
    assert names == reasons


def test_no_committed_file_names_a_registry() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    names = [name for name in listed.stdout.decode().split("\0") if name]
    found = []
    for name in names:
        path = CHECKOUT / name
        if path.is_file() and HOSTS.search(path.read_bytes().decode("utf-8", "replace")):
            found.append(name)
    assert found == []
