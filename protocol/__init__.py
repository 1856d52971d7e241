"""The public language: the contract's types, methods and errors. Imports msgspec only.

files/      collections, and what is found in files of the user
seams/      what the houses ask of the shell and of one another
reference/  schemas and pages made from the contract
"""
