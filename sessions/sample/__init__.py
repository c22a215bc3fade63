"""A small session to look at where there is none yet: our own invention, made by `sessions.sample.make`."""

from pathlib import Path

SESSION_ID = "7c1de5a0-51de-4a11-8b0a-5ea51de00001"
SAMPLE = Path(__file__).resolve().parent / f"{SESSION_ID}.jsonl"
