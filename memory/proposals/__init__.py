"""Proposals: made for each door, checked against their sources, and kept in a candidate's row while they wait."""
