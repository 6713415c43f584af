"""Rows that a library itself taught: what its source and its fits say of the attributes of its objects.

They are tables of text beside what is known of a library, made by the scripts in fixtures/learned.
"""
