"""Turns: prepared, run by the gateway or by the host, ended exactly once."""
