"""Pictures, films and GLB animations of reconstructed meshes and predicted motions. Off-screen, no display, no GPU."""
