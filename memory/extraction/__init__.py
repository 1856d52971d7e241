"""Facts that the user states in so many words, found by rules without a model, and the patterns of these rules."""
