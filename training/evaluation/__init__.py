"""How good a kinematic state space is: fixed sets of objects, inverse kinematics, baselines, errors, pictures."""
