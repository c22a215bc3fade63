"""What a compacted context still gives the work that really followed: recorded sessions, cut, compacted at equal budgets and scored."""
