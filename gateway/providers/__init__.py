"""Model providers: one adapter a dialect, their faults and tries."""
