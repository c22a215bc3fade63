"""Summaries that a model writes: the record it is given, what it is asked, the order of the calls, and the calls themselves.

`transcript`, `prompts`, `writing` are pure; `providers` and `asking` speak to the outside, and nothing else does.
"""
