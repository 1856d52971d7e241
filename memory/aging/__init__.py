"""Records that age: what a consolidation does about them (stages), and what a person does (service)."""
