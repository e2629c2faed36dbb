"""Articulated household things, made by rules, with the exact motion of every point."""
