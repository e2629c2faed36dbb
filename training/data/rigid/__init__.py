"""Rigid bodies, alone and several together: free motion, stacks, things in and on each other."""
