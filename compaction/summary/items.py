"""The named things in a text that a session may need again: paths, addresses, identifiers, slugs, literals, flags.

A term is a short string with its kind in front ("p:csv.rs"), so that sets of terms are plain sets of strings. The same extraction runs on
what was, what is kept and what a summary says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

PATH, URL, IDENT, SLUG, LITERAL, FLAG = "p", "u", "i", "s", "l", "f"

WEIGHTS = {PATH: 2.0, URL: 2.0, IDENT: 1.0, SLUG: 1.0, LITERAL: 1.0, FLAG: 0.5}

_TOKENS = re.compile(
    r"https?://[^\s\"'<>()\[\]{}|\\^`\u3000-\u303f\uff00-\uffef]+|[A-Za-z0-9_$@~#./\\+-]{3,}",
    re.ASCII,
)

_EXTENSIONS = frozenset(
    [
        "py",
        "pyi",
        "rs",
        "go",
        "ts",
        "tsx",
        "js",
        "jsx",
        "mjs",
        "cjs",
        "mts",
        "cts",
        "java",
        "kt",
        "kts",
        "c",
        "h",
        "cc",
        "cpp",
        "cxx",
        "hpp",
        "hh",
        "m",
        "mm",
        "swift",
        "rb",
        "php",
        "cs",
        "fs",
        "scala",
        "clj",
        "ex",
        "exs",
        "erl",
        "hs",
        "ml",
        "mli",
        "lua",
        "r",
        "jl",
        "dart",
        "zig",
        "nim",
        "pl",
        "pm",
        "sh",
        "bash",
        "zsh",
        "fish",
        "ps1",
        "bat",
        "sql",
        "html",
        "htm",
        "css",
        "scss",
        "sass",
        "less",
        "vue",
        "svelte",
        "astro",
        "json",
        "jsonl",
        "json5",
        "yaml",
        "yml",
        "toml",
        "ini",
        "cfg",
        "conf",
        "env",
        "xml",
        "svg",
        "csv",
        "tsv",
        "md",
        "mdx",
        "rst",
        "txt",
        "log",
        "lock",
        "sum",
        "mod",
        "proto",
        "graphql",
        "gql",
        "tf",
        "hcl",
        "nix",
        "gradle",
        "cmake",
        "mk",
        "dockerfile",
        "ipynb",
        "tex",
        "bib",
        "patch",
        "diff",
        "png",
        "jpg",
        "jpeg",
        "gif",
        "webp",
        "ico",
        "pdf",
        "wasm",
        "so",
        "dll",
        "exe",
        "zip",
        "tar",
        "gz",
        "zst",
        "whl",
        "db",
        "sqlite",
        "plist",
        "xcconfig",
        "pbxproj",
        "templ",
        "tmpl",
        "j2",
        "jinja",
        "snap",
    ]
)
_GENERIC = frozenset(
    [
        "index",
        "main",
        "mod",
        "lib",
        "__init__",
        "readme",
        "utils",
        "util",
        "test",
        "tests",
        "types",
        "config",
        "setup",
        "package",
        "cargo",
        "makefile",
        "models",
        "views",
        "urls",
        "app",
        "conftest",
        "page",
        "layout",
        "route",
    ]
)
_BARE_FILES = frozenset(
    {
        "Makefile",
        "Dockerfile",
        "Justfile",
        "Procfile",
        "CLAUDE.md",
        "AGENTS.md",
        ".gitignore",
        ".env",
    }
)

_IDENT = re.compile(r"\$?[A-Za-z_][A-Za-z0-9_]*\Z")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]")
_VERSION = re.compile(r"v?\d+\.\d+(?:\.\d+)+(?:[-+][\w.]+)?\Z")
_HASH = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\Z")
_ISSUE = re.compile(r"#\d{1,6}\Z")
_FLAG = re.compile(r"--[a-z][a-z0-9]+(?:-[a-z0-9]+)*\Z")
_SLUG = re.compile(r"[A-Za-z0-9]+(?:[-/][A-Za-z0-9_]+)+\Z")
_LETTERS = re.compile(r"[A-Za-z]{2}")


def terms(text: str) -> set[str]:
    """The terms of a text."""
    found: set[str] = set()
    if "http" in text:  # an address, and no other token, goes on over white space of any kind
        for token in set(_TOKENS.findall(text)):
            found.update(_of(token))
        return found
    for word in set(text.split()) - _PLAIN:
        if len(word) > _LONG:
            found.update(_in_word(word))
        elif keys := _in_short(word):
            found.update(keys)
        elif len(_PLAIN) < _MOST_PLAIN:
            _PLAIN.add(word)
    return found


_PLAIN: set[str] = set()  # words that hold no term: most are, and a set takes them out of another at once
_MOST_PLAIN = 50_000
_LONG = 80  # characters of a word from which on it is nothing to remember


def _in_word(word: str) -> tuple[str, ...]:
    """The terms in a text without white space and addresses."""
    return tuple(key for token in _TOKENS.findall(word) for key in _of(token))


_in_short = lru_cache(maxsize=100_000)(_in_word)


def terms_of(texts: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for text in texts:
        found |= terms(text)
    return found


def weight(term: str) -> float:
    return WEIGHTS[term[0]]


def shown(term: str) -> str:
    """The term as people write it."""
    return term[2:]


def path_term(path: str) -> str | None:
    """The term under which a path is known: its last component, or two where the last says little."""
    parts = [part for part in re.split(r"[/\\]", path) if part not in ("", ".", "..", "~")]
    if not parts:
        return None
    name = parts[-1]
    stem, dot, extension = name.rpartition(".")
    known = (dot and extension.lower() in _EXTENSIONS and stem) or name in _BARE_FILES
    if not known:
        return None
    plain = (stem or name).lower()
    if len(parts) > 1 and plain in _GENERIC:
        return f"p:{parts[-2]}/{name}"
    return f"p:{name}"


@lru_cache(maxsize=200_000)
def _of(token: str) -> tuple[str, ...]:
    if token.startswith("http"):
        address = token.rstrip(".,;:!?*_~")
        if "://" in address:
            return (f"u:{address}",) if len(address) > 10 else ()
    bare = token.strip(".,@+~/\\-")
    if token.startswith("--") and _FLAG.match(flag := token.rstrip(".-/")):
        return (f"f:{flag}",)
    if len(token) > 240 or not bare:
        return ()
    if _ISSUE.match(bare):
        return (f"l:{bare}",)
    if (path := path_term(token.rstrip(".,"))) is not None:
        return (path,)
    if _VERSION.match(bare):
        return (f"l:{bare.removeprefix('v')}",)
    if _HASH.match(bare):
        return (f"l:{bare[:12]}",)
    if _SLUG.match(bare) and len(bare) >= 8 and _LETTERS.search(bare):
        return (f"s:{bare}", *_idents(re.split(r"[-/]", bare)))
    return tuple(_idents(re.split(r"[./\\#@~+-]+", bare)))


def _idents(words: Iterable[str]) -> list[str]:
    found = []
    for word in words:
        if len(word) < 5 or len(word) > 80 or not _IDENT.match(word):
            continue
        core = word.strip("_$")
        if len(core) >= 4 and ("_" in core or _CAMEL.search(core)) and _LETTERS.search(core):
            found.append(f"i:{word}")
    return found


# ── words ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORDS = re.compile(f"[{_CJK}]+|[^\\W{_CJK}]+")
_PLAIN_WORDS = re.compile(r"[a-z0-9_]+")
_IS_CJK = re.compile(f"[{_CJK}]")


def words(text: str) -> list[str]:
    """The words of a text, lower case; a run of CJK characters gives its character pairs, since it shows no word boundaries."""
    if text.isascii():
        return _PLAIN_WORDS.findall(text.lower())
    out: list[str] = []
    for run in _WORDS.findall(text.lower()):
        if len(run) > 1 and run[0] > "\u303f" and _IS_CJK.match(run):
            out.extend(run[n : n + 2] for n in range(len(run) - 1))
        else:
            out.append(run)
    return out
