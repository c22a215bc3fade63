"""The SQL that keeps the audit fast: sums written by triggers, an append-only history, indexes by trigrams. For migrations.

A statement on the goals given up leaves its differences to the sums behind (`AuditTally`): one row a facet's value and review state that it
changed. Inserted rows alone, so that no statement waits for another.
"""

from __future__ import annotations

from typing import Final

FACETS: Final = {
    "review": "r.review",
    "cause": "r.cause",
    "how": "r.how",
    "agent": "r.agent",
    "project": "r.project",
    "owner": "r.owner_id::text",
    "model": "r.model",
    "week": "to_char(r.week, 'YYYY-MM-DD')",
}
_ROWS: Final = {
    "insert": "SELECT 1 AS sign, added.* FROM added",
    "delete": "SELECT -1 AS sign, gone.* FROM gone",
    "update": "SELECT 1 AS sign, added.* FROM added UNION ALL SELECT -1 AS sign, gone.* FROM gone",
}
_TABLES: Final = {
    "insert": "NEW TABLE AS added",
    "delete": "OLD TABLE AS gone",
    "update": "OLD TABLE AS gone NEW TABLE AS added",
}


def differences(rows: str) -> str:
    """The statement that adds what `rows` (signed) come to. Of a workspace that is being removed nothing is kept."""
    values = ", ".join(f"('{name}', {column})" for name, column in FACETS.items())
    return f"""
        INSERT INTO agent_sessions_audittally (workspace_id, facet, value, review, goals, tokens, cost, costed, seconds, timed)
        SELECT r.workspace_id, f.facet, f.value, r.review, sum(r.sign), sum(r.sign * r.tokens), sum(r.sign * coalesce(r.cost, 0)),
               sum(r.sign * (r.cost IS NOT NULL)::int), sum(r.sign * coalesce(r.seconds, 0)), sum(r.sign * (r.seconds IS NOT NULL)::int)
        FROM ({rows}) r
        JOIN webapp_workspace w ON w.id = r.workspace_id
        CROSS JOIN LATERAL (VALUES {values}) f(facet, value)
        WHERE r.stands
        GROUP BY r.workspace_id, f.facet, f.value, r.review
        HAVING sum(r.sign) <> 0 OR sum(r.sign * r.tokens) <> 0 OR sum(r.sign * coalesce(r.cost, 0)) <> 0
            OR sum(r.sign * coalesce(r.seconds, 0)) <> 0 OR sum(r.sign * (r.cost IS NOT NULL)::int) <> 0
            OR sum(r.sign * (r.seconds IS NOT NULL)::int) <> 0
    """  # noqa: S608 -- names of ours


def triggers() -> list[str]:
    """Sums, and the history that nobody rewrites (what a removed person leaves empty is all that may change)."""
    out = []
    for event, rows in _ROWS.items():
        out.append(
            f"CREATE FUNCTION agent_sessions_tally_{event}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {differences(rows)}; RETURN NULL; END $$"
        )
        out.append(
            f"CREATE TRIGGER abandonment_tally_{event} AFTER {event} ON agent_sessions_abandonment REFERENCING {_TABLES[event]} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION agent_sessions_tally_{event}()"
        )
    out.append(
        "CREATE FUNCTION agent_sessions_review_kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'the history of reviews is append-only' USING ERRCODE = 'integrity_constraint_violation'; END $$"
    )
    out.append(
        "CREATE TRIGGER review_kept BEFORE UPDATE ON agent_sessions_review FOR EACH ROW WHEN "
        "((OLD.abandonment_id, OLD.before, OLD.after, OLD.comment, OLD.at) IS DISTINCT FROM (NEW.abandonment_id, NEW.before, NEW.after, NEW.comment, NEW.at)) "
        "EXECUTE FUNCTION agent_sessions_review_kept()"
    )
    return out


def undone() -> list[str]:
    """What takes the triggers away."""
    out = [f"DROP FUNCTION agent_sessions_tally_{event}() CASCADE" for event in _ROWS]
    return [*out, "DROP FUNCTION agent_sessions_review_kept() CASCADE"]


WORDS: Final = (
    "CREATE INDEX abandonment_words ON agent_sessions_abandonment USING gin (upper(text) gin_trgm_ops, upper(reason) gin_trgm_ops) WHERE stands",
    # attempts at the same goal are looked for among the first of each family
    "CREATE INDEX abandonment_kin ON agent_sessions_abandonment USING gin (folded gin_trgm_ops) WHERE family = folded",
)
