"""The messages of the gateway: a copy that `make clients` makes. Change the original, never this."""
