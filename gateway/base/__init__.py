"""What every room of the shell stands on: clock, ids, logs, health, durable files."""
