"""Doors, the ways in: the command line, MCP, and HTTP with the inspect page and the chat proxy."""
