"""A session, or a part of one, as a file to take away: Markdown, HTML that needs nothing else, JSON; without secrets unless wanted."""
