"""The learned kinematic state parameterization: NeuROK's encoders, decoder and active subspace."""
