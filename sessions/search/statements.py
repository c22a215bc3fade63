"""What the database sees to by itself: entries that go take with them what was found in them, and a stretch its places.

One of 64 locks keeps those who take entries away from who looks through them at that time (`index`), so that no stretch is written over
entries that are on their way out.
"""

LOCK = 7741  # the family of the locks

FORGET = """
CREATE FUNCTION agent_sessions_search_forget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(7741, key) FROM (
    SELECT DISTINCT hashtext(session_id::text) & 63 AS key FROM gone ORDER BY key
  ) locks;
  DELETE FROM agent_sessions_searchstretch stretch
  USING (SELECT session_id, min(seq) AS seq FROM gone GROUP BY session_id) lost
  WHERE stretch.session_id = lost.session_id AND stretch.stop > lost.seq;
  RETURN NULL;
END $$;
CREATE TRIGGER agent_sessions_search_forget AFTER DELETE ON agent_sessions_entry
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION agent_sessions_search_forget();
CREATE FUNCTION agent_sessions_search_drop() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM agent_sessions_searchposting WHERE stretch = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER agent_sessions_search_drop AFTER DELETE ON agent_sessions_searchstretch
  FOR EACH ROW EXECUTE FUNCTION agent_sessions_search_drop();
"""

KEEP = """
DROP TRIGGER IF EXISTS agent_sessions_search_forget ON agent_sessions_entry;
DROP TRIGGER IF EXISTS agent_sessions_search_drop ON agent_sessions_searchstretch;
DROP FUNCTION IF EXISTS agent_sessions_search_forget();
DROP FUNCTION IF EXISTS agent_sessions_search_drop();
"""

# Since stretches lie in volumes: the last stretch takes its volume along, and a volume its postings. A word's postings by rows, since for
# a set of volumes the planner would read all postings there are.
VOLUMES = """
DROP FUNCTION IF EXISTS agent_sessions_search_drop();
CREATE FUNCTION agent_sessions_search_emptied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM agent_sessions_searchvolume volume WHERE volume.id IN (SELECT DISTINCT volume_id FROM gone)
    AND NOT EXISTS (SELECT FROM agent_sessions_searchstretch stretch WHERE stretch.volume_id = volume.id);
  RETURN NULL;
END $$;
CREATE TRIGGER agent_sessions_search_emptied AFTER DELETE ON agent_sessions_searchstretch
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION agent_sessions_search_emptied();
CREATE FUNCTION agent_sessions_search_drop() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM agent_sessions_searchposting WHERE volume = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER agent_sessions_search_drop AFTER DELETE ON agent_sessions_searchvolume
  FOR EACH ROW EXECUTE FUNCTION agent_sessions_search_drop();
"""

UNVOLUMES = """
DROP TRIGGER IF EXISTS agent_sessions_search_emptied ON agent_sessions_searchstretch;
DROP TRIGGER IF EXISTS agent_sessions_search_drop ON agent_sessions_searchvolume;
DROP FUNCTION IF EXISTS agent_sessions_search_emptied();
"""

# Where the server has `pg_trgm`: the middle of a word is found without reading all words.
TRIGRAMS = "CREATE INDEX search_word_trigrams ON agent_sessions_searchword USING gin (word gin_trgm_ops)"
