"""Reading the environment: a value that means nothing is an error that names its variable, and never a secret."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from webapp import env
from webapp.embedded import broker


@pytest.mark.parametrize(("text", "value"), [("1", True), ("Yes", True), ("off", False), ("", True)])
def test_a_flag(monkeypatch: pytest.MonkeyPatch, text: str, value: bool) -> None:
    monkeypatch.setenv("P_FLAG", text)
    assert env.flag("P_FLAG", default=True) is value


def test_a_typo_is_no_silent_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("P_FLAG", "ture")
    with pytest.raises(ImproperlyConfigured, match="P_FLAG must be one of"):
        env.flag("P_FLAG", default=False)
    with pytest.raises(ImproperlyConfigured, match="P_FLAG must be a whole number"):
        env.number("P_FLAG", default=1)


def test_a_secret_comes_from_the_variable_or_the_file_it_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert env.secret("P_SECRET") is None

    (tmp_path / "secret").write_text("from a file\n")
    monkeypatch.setenv("P_SECRET_FILE", str(tmp_path / "secret"))
    assert env.secret("P_SECRET") == "from a file"

    monkeypatch.setenv("P_SECRET", "direct")
    with pytest.raises(ImproperlyConfigured, match="Both P_SECRET and P_SECRET_FILE"):
        env.secret("P_SECRET")

    monkeypatch.delenv("P_SECRET")
    monkeypatch.setenv("P_SECRET_FILE", str(tmp_path / "absent"))
    with pytest.raises(ImproperlyConfigured, match="cannot be read"):
        env.secret("P_SECRET")


def test_a_database_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("P_DB", "postgresql://ada:p%40ss@db.example:6432/team?sslmode=require")
    read = env.database("P_DB", pool=None)
    assert {key: read[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")} == {
        "NAME": "team",
        "USER": "ada",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "6432",
    }
    assert read["OPTIONS"]["sslmode"] == "require"
    assert "pool" not in read["OPTIONS"]
    assert env.database("P_DB", pool={"max_size": 3})["OPTIONS"]["pool"] == {"max_size": 3}


def test_a_database_address_that_means_nothing_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("P_DB", "postgresql://ada:s3cret@db.example/team?nonsense=1")
    with pytest.raises(ImproperlyConfigured) as told:
        env.database("P_DB", pool=None)
    assert "P_DB is not a PostgreSQL address" in str(told.value)
    assert "s3cret" not in str(told.value)


def test_the_broker_is_the_one_named_or_lies_beside_the_database() -> None:
    named = broker.address("redis://cache.example/0", "postgresql://ada@db.example/team")
    assert (named.url, named.conninfo) == ("redis://cache.example/0", None)
    assert named.transport_options["visibility_timeout"] > broker.TASK_TIME_LIMIT

    beside = broker.address(None, "postgresql://ada:s3cret@db.example/team")
    assert beside.url == "pgmq://localhost/team_broker"
    assert beside.conninfo is not None
    assert "host=db.example" in beside.conninfo
    assert beside.transport_options["visibility_timeout"] > broker.TASK_TIME_LIMIT

    assert broker.address(None, None).url == "memory://"
