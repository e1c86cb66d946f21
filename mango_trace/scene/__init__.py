"""Meaning of a model: objects, regions, joints, hands; and the package that stores it."""
