"""Hooks: others are asked before and after a compaction. `contract` is pure; each way of asking is a module; `consulting` asks for a run."""
