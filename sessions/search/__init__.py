"""Search over all sessions: words and pieces of identifiers, Chinese by pairs of characters, fields, ghosts.

`words`, `bits`, `asked`, `texts`, `matching` and `snippets` are pure; `index` writes, `find` answers, `waiting` says what is still to come.
"""
