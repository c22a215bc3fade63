"""What comes back beside the summary and is no file: skills, the plan, the open goals. Found in the transcript itself, never on a disk."""
