"""tiktoken's vocabularies without a download."""

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes import CHECKOUT, plain_environment
from webapp import checks
from webapp.embedded import vocabularies
from webapp.embedded.vocabularies import VOCABULARIES, VocabularyError, collect, missing


def test_what_is_missing_is_unpacked_once_and_is_what_tiktoken_expects(tmp_path: Path) -> None:
    folder = tmp_path / "made when needed"
    assert collect(folder) == ["o200k_base", "cl100k_base"]
    assert missing(folder) == []
    assert collect(folder) == []
    for vocabulary in VOCABULARIES:
        assert hashlib.sha256((folder / vocabulary.cache_name).read_bytes()).hexdigest() == vocabulary.sha256
    assert sorted(path.name for path in folder.iterdir()) == sorted(one.cache_name for one in VOCABULARIES)


def test_a_vocabulary_that_was_tampered_with_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "packed"
    packed.mkdir()
    for vocabulary in VOCABULARIES:
        (packed / f"{vocabulary.name}.tiktoken.gz").write_bytes(gzip.compress(b"dGVzdA== 0\n"))
    monkeypatch.setattr(vocabularies, "_packed_folder", lambda: packed)

    with pytest.raises(VocabularyError, match="o200k_base is not the one tiktoken expects"):
        collect(tmp_path / "folder")
    assert missing(tmp_path / "folder") == ["o200k_base", "cl100k_base"]


def test_the_check_names_what_is_missing(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path
    assert [found.id for found in checks.vocabularies_present(None)] == ["palimpsest.E001"]
    collect(tmp_path / "vocabularies")
    assert checks.vocabularies_present(None) == []


def test_tiktoken_counts_without_a_network(tmp_path: Path) -> None:
    """With every way out closed, in a process of its own: the vocabularies are loaded once in a process."""
    program = (
        "import os, socket\n"
        "def closed(*arguments, **options): raise AssertionError('a connection was tried')\n"
        "os.environ['DJANGO_SETTINGS_MODULE'] = 'webapp.settings'\n"
        "import django; django.setup()\n"
        "socket.socket.connect = closed; socket.getaddrinfo = closed\n"
        "import tiktoken\n"
        "print(*(len(tiktoken.get_encoding(name).encode('hello world')) for name in ('o200k_base', 'cl100k_base')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=CHECKOUT,
        env=plain_environment(PALIMPSEST_DATA_DIR=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("2 2\n", 0), done.stderr
