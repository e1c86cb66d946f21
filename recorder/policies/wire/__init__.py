"""Policies that are served elsewhere, over the protocols that their projects have.

What comes over the wire is untrusted: it is bounded in size and time, decoded without pickle or object
arrays, checked for shape, type and finite values, and nothing in it is executed.
"""
