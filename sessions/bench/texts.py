"""Invented texts that are as long, and as mixed, as those of recorded sessions.

The lengths were counted over 91 public sessions of Claude Code 2.0.64 to 2.1.42 (27,932 records, 103 MB): of each kind of text the 10th,
25th, 50th, 75th, 90th and 97th hundredth, in characters. Half of the records are below 1,064 bytes, a tenth above 6,156, the mean is
3,704; two fifths of all bytes are the copies of results that the agent keeps for itself. Every seventh text has characters beyond ASCII.
"""

from __future__ import annotations

from itertools import pairwise
from math import exp, log
from random import Random

PROMPT = (26, 47, 87, 206, 561, 9_646)
ANSWER = (39, 62, 101, 229, 819, 1_565)
THOUGHT = (57, 83, 151, 440, 1_064, 2_307)
CHANGE = (73, 96, 131, 394, 1_104, 3_485)  # what an edit puts in, as its call's arguments
RESULT = (42, 110, 472, 2_051, 6_317, 18_647)
FILE = (1_100, 3_000, 8_200, 19_000, 33_000, 62_000)  # the whole file that an edit's result repeats
_AT = (0.1, 0.25, 0.5, 0.75, 0.9, 0.97)
_LEAST, _MOST = 0.6, 2.0  # how far beyond the outermost of the figures a length may lie
_BEYOND_ASCII = 1 / 7
_KEPT = 8_000  # lines of code that are made once: files repeat themselves too

_WORDS = """
    a about after again all also an and any are as at back be because before between branch but by call can case change check code
    column commit could current default did different do does each edge either empty error even every example existing expected fail
    field file find first fix follow for found from function get given go handle has have header here how if in index input instead
    into is issue it its just keep key kept last later left less let like line list local look made make may message method might more
    most move must name need never new next no not now number of off old on once one only open or order other out over own page parse
    part pass path per place plan point put query read reason record remove request result return right row run same save see seems
    set should show side since size so some something start state step still stop store such table take test than that the their them
    then there these they thing this those through time to too try two type under until up update use user value very want was way we
    well were what when where which while who why will with without word work would write wrong yet you
""".split()  # noqa: SIM905 -- easier to read than a list
_NAMES = """
    account adapter attempt balance batch buffer builder bytes cache checkpoint chunk client codec config context counter cursor
    decoder delta digest encoder entry event filter flush format frame handler hash hook import ledger limit loader lock logger
    manifest marker merge metric migration monitor node offset option owner packet parser payload pool posting prefix process queue
    range reader record region registry request retry review rollout router runner scanner schema session shard signal snapshot socket
    source stream strategy summary symbol tag template thread token total trace tracker transcript tree union version view watcher
    window worker writer
""".split()  # noqa: SIM905 -- easier to read than a list
_BEYOND = ("→", "✓", "—", "’", "…", "é", "ü", "├──", "│", "•", "⚠️", "测试", "文件", "変更", "ошибка")
_LINES = (
    "    if {name} is None or len({name}) > {number}:",
    "        return {call}({name}, {other}={number})",
    "    {name} = self._{other}.get({call!r}, {number})",
    "func ({name} *{Class}) {Other}(ctx context.Context) error {{",
    "\tif err := {name}.{Other}({other}); err != nil {{",
    '\t\treturn fmt.Errorf("failed to {name} {other}: %w", err)',
    "{path}:{number}: {name}: {prose}",
    "# {prose}",
    '  "{name}": {{"{other}": {number}, "id": "{hex}"}},',
    "ok  \t{path}\t{number}.{number}s",
    "-rw-r--r--  1 ada ada {number} Mar 12 09:{number} {path}",
    "export const {name}{Class} = async ({other}: {Class}): Promise<{Other}[]> => {{",
    "",
)  # fmt: skip


class Texts:
    """Makes texts; the same random numbers, the same texts."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._lines = [self.line() for _ in range(_KEPT)]

    def length(self, figures: tuple[int, ...]) -> int:
        """A length, so that many of them have these figures."""
        at = self.random.random()
        known = [(0.0, figures[0] * _LEAST), *zip(_AT, figures, strict=True), (1.0, figures[-1] * _MOST)]
        for (low, shorter), (high, longer) in pairwise(known):
            if at <= high:
                return round(exp(log(shorter) + (at - low) / (high - low) * (log(longer) - log(shorter))))
        raise AssertionError

    def prose(self, length: int) -> str:
        """Sentences, with a name of the code here and there."""
        out: list[str] = []
        size = 0
        beyond = self.random.random() < _BEYOND_ASCII
        while size < length:
            words = self.random.choices(_WORDS, k=self.random.randint(5, 16))
            if self.random.random() < 0.4:
                words[self.random.randrange(len(words))] = f"`{self.name()}`"
            if beyond and self.random.random() < 0.4:
                words.append(self.random.choice(_BEYOND))
            sentence = " ".join(words).capitalize() + self.random.choice((". ", ". ", ", so ", ":\n", ".\n\n- "))
            out.append(sentence)
            size += len(sentence)
        return "".join(out)[:length].rstrip()

    def code(self, length: int) -> str:
        """Lines of code, of listings and of what tools print."""
        out: list[str] = []
        size = 0
        beyond = self.random.random() < _BEYOND_ASCII
        while size < length:
            line = self.random.choice(self._lines)
            if beyond and self.random.random() < 0.2:
                line += f"  {self.random.choice(_BEYOND)} {self.random.choice(_WORDS)}"
            out.append(line)
            size += len(line) + 1
        return "\n".join(out)[:length]

    def line(self) -> str:
        name, other, call = self.name(), self.random.choice(_NAMES), self.random.choice(_NAMES)
        return self.random.choice(_LINES).format(
            name=name,
            other=other,
            call=call,
            Class=call.capitalize(),
            Other=other.capitalize(),
            number=self.random.randint(1, 4_000),
            hex=self.hex(16),
            path=self.path(),
            prose=" ".join(self.random.choices(_WORDS, k=7)),
        )

    def name(self) -> str:
        """A name as code has it."""
        pieces = self.random.choices(_NAMES, k=self.random.randint(1, 3))
        return "_".join(pieces) if self.random.random() < 0.6 else pieces[0] + "".join(map(str.capitalize, pieces[1:]))

    def path(self) -> str:
        folders = "/".join(self.random.choices(_NAMES, k=self.random.randint(1, 3)))
        return f"/home/ada/ledger/{folders}/{self.name()}.{self.random.choice(('py', 'go', 'ts', 'md'))}"

    def hex(self, length: int) -> str:
        return f"{self.random.getrandbits(4 * length):0{length}x}"

    def numbered(self, text: str) -> str:
        """A text as a tool that reads files shows it."""
        return "\n".join(f"{n:>6}→{line}" for n, line in enumerate(text.split("\n"), 1))
