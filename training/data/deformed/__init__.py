"""Soft bodies under smooth maps of space: large deformations with exact local rotations, no simulator."""
