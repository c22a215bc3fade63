"""What a bare machine lacks and we bring: a PostgreSQL server, a broker on it, vocabularies, a data folder."""
