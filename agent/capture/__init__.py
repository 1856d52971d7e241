"""Conversations that come through programs which know no memory: known again, given recall, kept."""
