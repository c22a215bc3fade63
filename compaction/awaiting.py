"""A command that waits for a run: its log as it comes, then what became of it."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError

from compaction import accounts, drafts, queries, runs, tasks
from compaction.models import Run
from compaction.schemas import RunOut, RunWhole
from sessions.management.base import SessionsCommand, figures

NOBODY = 60.0  # seconds after which a run that no worker takes is given up, by the one who waits for it


def await_run(command: SessionsCommand, run: Run, workspace: Any, *, wait: bool, as_json: bool) -> None:
    """Print the run's id, or wait for its end and print that. CommandError where it neither landed nor holds a draft."""
    said = command.stdout.write
    if not wait:
        if as_json:
            command.print_json(RunOut.of(queries.run_in(workspace, run.pk)).model_dump(mode="json"))
        else:
            said(str(run.pk))
        return
    run = _waited(command, run.pk, quiet=as_json)
    if as_json:
        command.print_json(RunWhole.of(run).model_dump(mode="json"))
    if run.state not in (Run.State.COMPLETED, Run.State.HELD):
        outcome = f"{run.state} ({run.status})" if run.status else run.state
        raise CommandError(f"Run {run.pk} {outcome}: {run.reason}")
    if as_json:
        return
    tokens = f"{figures(run.tokens_before)} → {figures(run.tokens_after)} tokens ({run.meter})"
    account = accounts.of(run)
    if run.state == Run.State.HELD:
        said("\n\n".join(drafts.texts(run.draft or {"summaries": []})))
    if account.sum:
        said(f"Model: {account.sum}.")
    for hook in account.hooks:
        said(f"Hook {hook.name}, {hook.when}: {hook.words}")
    if run.state == Run.State.HELD:
        said(
            f"Run {run.pk} holds this draft on {run.base}, {tokens}. `apply {run.pk}` lands it, `apply {run.pk} --discard` drops it."
        )
    else:
        said(f"Run {run.pk} completed: {run.base} → {run.version}, {tokens}. `undo` takes it back.")


def _waited(command: SessionsCommand, run_id: int, *, quiet: bool) -> Run:
    """Wait for the end of a run, telling its log.

    Looks after the run as a worker would: the one that died may have been the only one.
    """
    told = 0
    before: tuple[str, int] | None = None
    since = time.monotonic()
    for run in queries.follow(run_id):
        for seconds, phase, words in [] if quiet else run.log[told:]:
            command.stderr.write(f"{seconds:7.2f} s  {phase}: {words}")
        told = len(run.log)
        if (run.state, told) != before:
            before, since = (run.state, told), time.monotonic()
            continue
        tasks.sweep()
        unwanted = run.state == Run.State.QUEUED and time.monotonic() - since > NOBODY
        if unwanted and not queries.someone_works():
            reason = f"No worker took the run within {NOBODY:.0f} s; the head stays where it was."
            runs.fail(run_id, reason=reason)
    return run
