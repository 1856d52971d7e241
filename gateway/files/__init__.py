"""Files: those that messages carry, stored by content; and the safe opening of the user's own, which are only read."""
