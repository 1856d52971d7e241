"""The demo and the replay of recorded sessions, through a spawned gateway."""
