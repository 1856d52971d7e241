"""Guidance of a turn: instruction files of its folder and the definition of its agent. It is never indexed."""
