"""Facts that the user states in so many words, found without a model, and the words that this takes."""
