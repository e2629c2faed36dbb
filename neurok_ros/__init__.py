"""Predicts how a scanned object moves and deforms when a gripper pushes it."""
