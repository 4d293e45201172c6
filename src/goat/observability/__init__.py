"""What is written down about the work: logs and one record a turn."""
