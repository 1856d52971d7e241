"""Conversations of other programs: one pure reader a format, from bytes to messages.

Rule 1: a reader knows its format and nothing of gateways, files or terminals.
Rule 2: anything but a message of a person or an assistant is left out and counted; nothing is dropped silently.
"""
