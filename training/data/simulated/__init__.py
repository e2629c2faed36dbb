"""Cloth, soft bodies and ropes, moved by MuJoCo's flexible bodies, and sequences of meshes from anywhere else."""
