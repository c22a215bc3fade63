"""The memory of a session as values: ten sections of lines, how they are brought up to date, edited, compared, and when. Pure."""
