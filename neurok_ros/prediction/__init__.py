"""The use case: prepare an object once, roll out pushes on it. No ROS in it."""

from neurok_ros.prediction.predict import predict
from neurok_ros.prediction.prepare import PreparedObject, prepare

__all__ = ["PreparedObject", "predict", "prepare"]
