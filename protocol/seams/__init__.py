"""The seams between the houses and the shell: the demands of each on the other, as protocols and shapes."""
