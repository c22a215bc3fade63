"""What is shown when something is wrong: words, never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.db import DatabaseError, OperationalError
from django.test import Client

from tests.processes import CHECKOUT, manage, plain_environment
from webapp.views import is_outage


@pytest.mark.django_db
def test_what_is_not_there_is_a_page(client: Client, admin_client: Client) -> None:
    page = admin_client.get("/nothing/of/this/name")
    assert page.status_code == 404
    assert b"There is nothing here" in page.content


def test_an_answer_of_a_living_server_is_no_outage() -> None:
    assert is_outage(OperationalError("connection refused"))
    assert not is_outage(DatabaseError("constraint"))
    assert not is_outage(ValueError())


ASK = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
import django
django.setup()
from django.test import Client
client = Client(raise_request_exception=False, SERVER_NAME="localhost")
client.cookies["palimpsest_session"] = "a" * 32
for path, headers in (("/", {}), ("/api/sessions", {"Authorization": "Bearer plm_x"})):
    answer = client.get(path, headers=headers)
    sys.stdout.write(f"{answer.status_code} {answer.content.decode()}\\n")
"""


def test_a_dead_database_is_said_in_words(tmp_path: Path) -> None:
    environment = plain_environment(
        DATABASE_URL="postgresql://someone:s3cret@127.0.0.1:1/none", PALIMPSEST_DATA_DIR=str(tmp_path)
    )
    asked = subprocess.run(
        [sys.executable, "-c", ASK], cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=True
    )

    page, _, api = asked.stdout.partition("\n503 ")
    assert page.startswith("503 ")
    assert "The database is not reachable" in page
    assert "Traceback" not in page
    assert '"code": "database_unreachable"' in api
    assert "s3cret" not in asked.stdout + asked.stderr


def test_a_command_on_a_dead_database_says_so_in_one_line(tmp_path: Path) -> None:
    environment = plain_environment(
        DATABASE_URL="postgresql://someone:s3cret@127.0.0.1:1/none", PALIMPSEST_DATA_DIR=str(tmp_path)
    )

    done = manage("showmigrations", environment=environment)

    assert done.returncode == 1
    assert done.stderr.startswith("The database is not reachable: ")
    assert done.stderr.count("\n") == 1
    assert "s3cret" not in done.stderr
    assert "Traceback" in manage("showmigrations", "--traceback", environment=environment).stderr
