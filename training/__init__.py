"""4D data, training and evaluation of the learned kinematics; imports neurok_ros and is never imported by it."""
