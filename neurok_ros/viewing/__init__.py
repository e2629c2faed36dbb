"""Pictures, films and GLB animations of reconstructed meshes and predicted motions. Off-screen, no display, no GPU.

Viewing sees prediction's results only. It names their types for the type checker but does not import prediction when it
runs, so that a process that only draws loads neither torch nor Open3D.
"""
