"""The ground of every room of the shell: clock, ids, logs, health, durable files."""
