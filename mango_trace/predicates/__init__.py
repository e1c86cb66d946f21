"""Predicates: pure functions over signals that give truth over time."""
