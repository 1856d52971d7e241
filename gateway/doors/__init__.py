"""Doors: the command line and MCP."""
