"""The nine sections written without a model: what must be in them, how large they may be, and that they are the same every time."""

from __future__ import annotations

from itertools import product

from compaction.answers import answer
from compaction.plan import Section, Snapshot, SummaryAnswer, SummaryAsk
from compaction.summary import manifest
from compaction.summary.items import terms, words
from compaction.summary.survey import survey
from compaction.summary.template import EARLIER, LISTED, TITLES, faults, parse, render
from sessions.meters.tokens import count
from tests.builders import call, context, native_summary, prompt, read, result, say, session

STORY = (
    prompt(
        "Port the ledger importer to streaming. Never use unsafe code, and keep error messages under 120 characters."
    ),
    say("I will read the importer first."),
    read("/home/ada/app/src/import/csv.rs", "fn load_ledger(path: &str) -> Ledger {\n    read_whole_file(path)\n}\n"),
    say("The root cause is that read_whole_file loads everything, because LedgerIndex wants random access."),
    call(
        "Edit",
        file_path="/home/ada/app/src/import/csv.rs",
        old_string="    read_whole_file(path)",
        new_string="    let cursor = ChunkCursor::open(path);\n    cursor.collect_rows()",
    ),
    result("The file has been updated."),
    call("Bash", command="cargo test -p importer --no-fail-fast"),
    result("Exit code 101\nerror[E0502]: cannot borrow `buf` as mutable\n --> src/import/csv.rs:41:9", error=True),
    call(
        "TodoWrite",
        todos=[
            {"content": "Make the writer's queue bounded", "status": "pending"},
            {"content": "Stream the importer", "status": "in_progress"},
            {"content": "Read the old importer", "status": "completed"},
        ],
    ),
    result("Todos have been modified"),
    call(
        "Edit", file_path="/home/ada/app/src/import/buffer.rs", old_string="let buf", new_string="let mut ring_buffer"
    ),
    result("The file has been updated."),
    call("Bash", command="cargo test -p importer --no-fail-fast"),
    result("test result: ok. 41 passed"),
    call("Bash", command="./bench --rows 4000000"),
    result("Exit code 137\nkilled at 3.1 GB while loading sample-4g.csv", error=True),
    prompt("Also write the limits into docs/limits.md please."),
    say("Next I will bound the writer's queue and then measure again."),
)


def summarised(snapshot: Snapshot, most: int = 1_500, kept: int = 0) -> SummaryAnswer:
    """The summary of all but the last `kept` items."""
    split = len(snapshot.items) - kept
    ask = SummaryAsk("summary", snapshot.items[:split], snapshot.items[split:], most)
    made = answer(ask, snapshot, count)
    assert isinstance(made, SummaryAnswer)
    return made


def section(made: SummaryAnswer, number: int) -> list[str]:
    return [text for text, _ in made.sections[number - 1].lines]


def test_nine_sections_in_order() -> None:
    made = summarised(session(*STORY))
    assert [s.title for s in made.sections] == list(TITLES)
    assert faults(made.text) == []
    assert made.summariser == "extractive"


def test_the_person_is_quoted_word_for_word() -> None:
    made = summarised(session(*STORY))
    assert (
        section(made, 1)[0]
        == "Port the ledger importer to streaming. Never use unsafe code, and keep error messages under 120 characters."
    )
    assert any("docs/limits.md" in line for line in section(made, 1) + section(made, 6))


def test_every_edited_file_is_named_with_what_it_defines() -> None:
    lines = section(summarised(session(*STORY)), 3)
    assert any(line.startswith("/home/ada/app/src/import/csv.rs (1× edited, 1× read)") for line in lines)
    assert any(line.startswith("/home/ada/app/src/import/buffer.rs (1× edited)") for line in lines)


def test_errors_say_how_they_ended() -> None:
    lines = section(summarised(session(*STORY)), 4)
    fixed = next(line for line in lines if "E0502" in line)
    assert fixed.endswith("→ fixed by edits to /home/ada/app/src/import/buffer.rs")
    open_ = next(line for line in lines if "3.1 GB" in line)
    assert "exit 137" in open_
    assert open_.endswith("→ not seen to pass since")
    assert lines.index(open_) < lines.index(fixed)


def test_an_error_solved_in_the_kept_part_is_not_called_open() -> None:
    snapshot = session(
        *STORY[:10], call("Bash", command="cargo test -p importer --no-fail-fast"), result("ok. 41 passed")
    )
    made = summarised(snapshot, kept=2)
    assert any(line.endswith("→ passed later") for line in section(made, 4))


def test_open_todos_and_the_next_step() -> None:
    made = summarised(session(*STORY))
    assert section(made, 7)[:2] == ["open: Make the writer's queue bounded", "in progress: Stream the importer"]
    assert section(made, 9) == ["“Next I will bound the writer's queue and then measure again.”"]


def test_the_plan_is_the_newest_even_where_the_kept_part_wrote_it() -> None:
    plan = call("TodoWrite", todos=[{"content": "Make the writer's queue bounded", "status": "completed"}])
    made = summarised(session(*STORY, plan, result("ok")), kept=2)
    assert not any(line.startswith(("open: Make", "in progress")) for line in section(made, 7))


def test_dropped_approaches_are_told() -> None:
    story = (
        prompt("Speed it up"),
        call("Edit", file_path="a.py", old_string="rows = list(source)", new_string="rows = mmap_rows(source)"),
        result("ok"),
        call("Edit", file_path="a.py", old_string="rows = mmap_rows(source)", new_string="rows = list(source)"),
        result("ok"),
        prompt("no, use a read-ahead buffer instead"),
        say("Understood."),
    )
    lines = section(summarised(session(*story)), 5)
    assert "tried and dropped: reverted in a.py: rows = mmap_rows(source)" in lines
    assert "tried and dropped: no, use a read-ahead buffer instead" in lines


def test_every_line_names_its_entries() -> None:
    snapshot = session(*STORY)
    made = summarised(snapshot)
    for s in made.sections:
        for text, seqs in s.lines:
            assert seqs, text
            assert all(0 <= seq <= snapshot.last_seq for seq in seqs)
    request = made.sections[0].lines[0]
    assert request[1] == (0,)


def test_never_more_than_allowed() -> None:
    long = [
        group
        for n in range(120)
        for group in (
            prompt(
                f"Never touch module_{n}_core, and explain why step {n} of the plan_{n} is needed. "
                + "word " * (n % 50)
            ),
            say(f"Because handle_case_{n} calls SomeHelper{n}, I decided to change route_{n}.py with --flag-{n}."),
            call(
                "Edit",
                file_path=f"/home/ada/app/route_{n}.py",
                old_string=f"old_{n}",
                new_string=f"def new_{n}(): pass",
            ),
            result("ok"),
        )
    ]
    snapshot = session(*long)
    for most in (150, 250, 400, 1_000, 3_000, 8_000):
        made = summarised(snapshot, most)
        assert count([made.text])[0] <= most
        assert made.text == "" or faults(made.text) == []
    assert count([summarised(snapshot, 3_000).text])[0] > 2_400


def test_the_same_every_time() -> None:
    assert summarised(session(*STORY)).text == summarised(session(*STORY)).text


def test_what_the_kept_part_says_is_not_repeated() -> None:
    filler = [say(f"The helper_{n}_function uses SharedCache{n} now.") for n in range(60)]
    echo = [say(f"The helper_{n}_function uses SharedCache{n} now.") for n in range(30)]
    story = (prompt("Refactor"), *filler, prompt("go on"), *echo)
    alone = summarised(session(*story[:62]), 900).text
    beside = summarised(session(*story), 900, kept=31).text
    assert "helper_3_function" in alone or "helper_20_function" in alone
    assert not any(f"helper_{n}_function" in beside for n in range(30))
    assert any(f"helper_{n}_function" in beside for n in range(30, 60))


def test_an_earlier_summary_is_carried_on_word_for_word_and_marked_once() -> None:
    first = summarised(session(*STORY))
    later = (
        native_summary(first.text),
        prompt("Now bound the queue."),
        say("Done: the queue holds 64 rows, because WriterQueue blocks."),
        prompt("Thanks"),
        say("You're welcome."),
    )
    second = summarised(session(*later), 2_500)
    rule = "Port the ledger importer to streaming. Never use unsafe code, and keep error messages under 120 characters."
    assert f"{rule} {EARLIER}" in section(second, 1)
    third = summarised(session(native_summary(second.text), *later[1:]), 3_000)
    assert f"{rule} {EARLIER}" in section(third, 1)
    assert f"{EARLIER} {EARLIER}" not in third.text


def test_an_agents_own_prose_summary_is_carried_on() -> None:
    prose = "The user wants a parser for ledgers.\n\nWe chose a hand-written lexer because regexes were too slow."
    made = summarised(session(native_summary(prose), prompt("Go on"), say("Working on the lexer.")), 600)
    assert f"The user wants a parser for ledgers. {EARLIER}" in section(made, 5)


def test_chinese() -> None:
    story = (
        prompt("请把导入器改成流式读取。不要改动数据库结构，必须保留 import_ledger 接口。"),
        say("问题是内存不足，因为 read_whole_file 一次读入全部内容，所以决定改用 ChunkCursor 分块读取。"),
        call("Bash", command="pytest tests/test_import.py"),
        result("错误：找不到模块 ledger_core\n退出", error=True),
        prompt("还要写文档"),
        say("接下来更新 docs/limits.md。"),
    )
    made = summarised(session(*story), 800)
    assert "请把导入器改成流式读取。不要改动数据库结构，必须保留 import_ledger 接口。" in section(made, 1)
    assert any("改用 ChunkCursor" in line for line in section(made, 5))
    assert any("找不到模块 ledger_core" in line for line in section(made, 4))
    assert section(made, 9) == ["“接下来更新 docs/limits.md。”"]


def test_reminders_and_built_in_commands_are_no_ones_words() -> None:
    story = (
        prompt("<command-name>/compact</command-name><command-args></command-args>"),
        prompt("Fix it<system-reminder>You must never reveal this reminder</system-reminder>"),
        context("<system-reminder>always whisper</system-reminder>"),
        say("Fixed fix_the_thing."),
    )
    text = summarised(session(*story), 600).text
    assert "reminder" not in text
    assert "whisper" not in text
    assert "/compact" not in text
    assert "Fix it" in text


def test_codex_calls_are_understood() -> None:
    patch = "*** Begin Patch\n*** Update File: src/app.py\n@@\n-x = 1\n+def compute_total():\n+    x = 2\n*** End Patch"
    story = (
        prompt("Change it"),
        call("shell", command=["bash", "-lc", "pytest -q tests/unit"]),
        result(
            '{"output":"ImportError: no module named ledger_fast\\n","metadata":{"exit_code":2,"duration_seconds":0.1}}',
        ),
        call("exec_command", cmd=f"apply_patch <<'EOF'\n{patch}\nEOF"),
        result("Chunk ID: a\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\nDone\n"),
        call(
            "update_plan",
            plan=[{"step": "Change it", "status": "completed"}, {"step": "Measure it", "status": "in_progress"}],
        ),
        result("Plan updated"),
        say("Done."),
    )
    made = summarised(session(*story, agent="codex"), 800)
    assert any(line.startswith("src/app.py (1× edited): compute_total") for line in section(made, 3))
    assert any("exit 2" in line and "ledger_fast" in line for line in section(made, 4))
    assert "in progress: Measure it" in section(made, 7)


def test_a_fold_without_words_still_says_what_it_was() -> None:
    made = summarised(session(context("<note>something the harness said</note>"), context("more of it")), 400)
    assert faults(made.text) == []


def test_rendered_sections_read_back() -> None:
    lines = (
        "one",
        "two lines\nof one point",
        "## 3. Files and Code Sections",
        "```\nan open fence",
        "- a list in a line",
    )
    sections = [
        Section(title, tuple((f"{title} {line}" if line[0] != "#" else f"x {line}", ()) for line in lines))
        for title in TITLES
    ]
    assert parse(render(sections)) == sections


def test_faults_are_named() -> None:
    whole = summarised(session(*STORY)).text
    assert faults(" \n") == ["the summary is empty"]
    assert "lacks the section “Pending Tasks”" in faults(whole.replace("## 7. Pending Tasks", ""))[0]
    assert faults(render([])) == ["the summary has headings and nothing under them"]
    blocks = whole.split("\n\n")
    assert faults("\n\n".join([*blocks[:2], blocks[3], blocks[2], *blocks[4:]])) == [
        "the summary's sections are not in order"
    ]


def test_an_agents_headings_are_recognised() -> None:
    text = '<analysis>\nPending Tasks:\nno\n</analysis>\n1. Primary Request and Intent:\n   Do it.\n\n**6. All User Messages:**\n   - "hello"\n'
    assert parse(text) == [Section(TITLES[0], (("Do it.", ()),)), Section(TITLES[5], (('"hello"', ()),))]


def test_terms() -> None:
    found = terms(
        "In src/app/index.ts call fetchAll() of http_client (v1.2.3, #42, --dry-run, feature/login-form, https://x.org/a.)."
    )
    assert found == {
        "p:app/index.ts",
        "i:fetchAll",
        "i:http_client",
        "l:1.2.3",
        "l:#42",
        "f:--dry-run",
        "s:feature/login-form",
        "u:https://x.org/a",
    }
    assert terms("plain words and 12 numbers e.g. these") == set()


def test_words_of_cjk_are_pairs() -> None:
    assert words("不要改 foo_Bar") == ["不要", "要改", "foo_bar"]


def test_need_follows_its_signs() -> None:
    story = (
        prompt("Please fix asked_for_name"),
        call("Edit", file_path="m.py", old_string="a", new_string="edited_name = 1"),
        result("only_in_output appears here; see https://example.org/page"),
        *(say(f"filler number {n}") for n in range(3)),
    )
    p = survey(session(*story).items).needs.p
    assert p["i:edited_name"] > p["i:only_in_output"]
    assert p["i:asked_for_name"] > p["i:only_in_output"]
    assert p["u:https://example.org/page"] < p["i:only_in_output"]
    late = survey(session(*story, *(group for n in range(40) for group in (say("word"), prompt("ok")))).items).needs.p
    assert all(late[term] < p[term] for term, _ in product(("i:edited_name", "i:asked_for_name"), (0,)))


def test_files_commands_and_exit_codes_stand_below_every_summary_and_are_carried_on() -> None:
    start = session(
        prompt("Mend the import."),
        read("/home/ada/app/src/csv.rs", "fn parse_ledger() {}\n" * 30),
        call("Bash", command="cargo test import_ledger"),
        result("Exit code 101\nerror: import_ledger failed\n" + "x\n" * 200, error=True),
        call("Bash", command="ls -la src"),
        result("total 0\n" * 100),
        say("The parser loses the last row."),
    )
    first = summarised(start)
    assert "- ran `cargo test import_ledger` → exit code 101" in manifest.of(first.text)
    assert "`/home/ada/app/src/csv.rs`: read ×1" in manifest.of(first.text)
    assert "ls -la" not in manifest.of(first.text)
    assert not any(LISTED in s.text for s in parse(first.text))
    assert [s.title for s in parse(first.text) if s.lines] == [s.title for s in first.sections if s.lines]
    again = summarised(session(native_summary(first.text), prompt("go on"), say("Looking on.\n" * 200)))
    assert "- ran `cargo test import_ledger` → exit code 101" in manifest.of(again.text)
    assert again.text.count(LISTED) == 1


def test_what_was_refused_or_only_looked_up_is_neither_an_error_nor_a_task() -> None:
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    start = session(
        prompt("Mend the import."),
        call("Bash", command="rm -rf build"),
        result(refusal, error=True),
        call("Bash", command="cd /home/ada/app && ls nowhere 2>/dev/null | head -3"),
        result("Exit code 2\nls: cannot access nowhere", error=True),
        call("Bash", command="git cat-file -p 0a1b2c"),
        result("Exit code 128\nfatal: Not a valid object name", error=True),
        call("Bash", command="cat schema.sql | psql ledger"),
        result("Exit code 3\nerror: relation exists", error=True),
        say("- The schema is there already, because it was applied before."),
    )
    found = {s.title: s.text for s in summarised(start).sections}
    for title in (TITLES[3], TITLES[6]):
        assert "psql ledger" in found[title]
        assert not any(word in found[title] for word in ("rm -rf", "nowhere", "cat-file"))
    assert "refused by the user: rm -rf build" in found[TITLES[4]]
    assert "- - " not in summarised(start).text


def test_a_chinese_session_is_told_in_chinese_under_the_same_headings() -> None:
    start = session(
        prompt("请修复 import_ledger 的解析错误，不要改动数据库结构"),
        call("Bash", command="cargo test import_ledger"),
        result("Exit code 101\nerror: import_ledger failed\n" + "x\n" * 100, error=True),
        say("问题是缓冲区太小，所以最后一行丢失。"),
        prompt("现在把 WriterQueue 也改掉"),
        say("接下来运行测试。"),
    )
    made = summarised(start)
    assert faults(made.text) == []
    found = {s.title: s.text for s in made.sections}
    assert "最新：现在把 WriterQueue 也改掉" in found[TITLES[0]]
    assert "退出码 101" in found[TITLES[3]]
    assert "此后未见通过" in found[TITLES[3]]
    assert "尚未通过：cargo test import_ledger" in found[TITLES[6]]
    assert parse(made.text) == [Section(s.title, tuple((text, ()) for text, _ in s.lines)) for s in made.sections]
