"""The conversation index: how messages come into it, how it is repaired, how far it is."""
