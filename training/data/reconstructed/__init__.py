"""Objects as the package's own reconstruction makes them from one simulated scan, in motion."""
