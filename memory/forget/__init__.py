"""Forgetting: tombstones, erasing to the last byte, and the places of the home that say the same words."""
