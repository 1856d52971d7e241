"""The secret scanner: rules, checks, and the engine that runs them in linear time."""
