"""Forgetting: tombstones, erasing to the last byte, and the places of the home that hold the same words."""
