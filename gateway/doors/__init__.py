"""Doors: the command line, MCP, HTTP, and the chat proxy."""
