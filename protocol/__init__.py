"""The public language: the contract's types, methods and errors. Imports msgspec only.

capture/      conversations of programs that know no memory
conversation/ workspaces, threads, turns, items, artifacts, and a prompt's manifest
files/        collections, and what is found in files of the user
memory/       records, writes, forgetting, candidates, explanations
seams/        what the houses ask of the shell and of one another
reference/    schemas and pages made from the contract
"""
