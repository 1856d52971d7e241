"""The seams between the houses and the shell: what each asks of the other, as protocols and shapes."""
