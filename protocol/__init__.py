"""The public language: the contract's types, methods and errors. Imports msgspec only.

seams/      what the houses ask of the shell and of one another
reference/  schemas and pages made from the contract
"""
