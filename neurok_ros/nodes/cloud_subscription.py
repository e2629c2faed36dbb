"""The subscription to clouds, as reliable as their publishers are.

Best effort receives from every publisher, but loses clouds of half a megabyte and more on a busy machine; reliable loses
none, but receives nothing from a best-effort publisher.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_policy_name_from_kind
from sensor_msgs.msg import PointCloud2

from neurok_ros.nodes.ros_features import SubscriptionEventCallbacks

AUTO = "auto"


class CloudSubscription:
    """Listens to `points` between `open` and `close`. Safe to use from any thread.

    Args:
        node: subscribes.
        callback: gets every cloud.
        reliability: `best_effort`, `reliable`, or `auto`: reliable as long as every publisher is.
    """

    def __init__(self, node: Node, callback: Callable[[PointCloud2], None], reliability: str) -> None:
        self._node = node
        self._callback = callback
        self._wanted = reliability
        self._group = MutuallyExclusiveCallbackGroup()
        self._lock = threading.Lock()
        self._subscription: Any = None
        self._reliability: ReliabilityPolicy | None = None
        self.topic = str(node.resolve_topic_name("points"))
        self.incompatible_qos = ""
        """The policy that some publisher's offer does not meet; empty: none, or clouds have arrived since."""

    @property
    def reliability(self) -> str:
        """What is asked of publishers now; empty while nobody listens."""
        return "" if self._reliability is None else self._reliability.name.lower()

    def open(self) -> None:
        """Listens from now on."""
        with self._lock:
            self._subscribe(self._suitable())

    def adapt(self) -> None:
        """Subscribes anew where publishers have come or gone and another reliability suits them better."""
        with self._lock:
            suitable = self._suitable()
            if self._subscription is not None and suitable != self._reliability:
                self._unsubscribe()
                self._subscribe(suitable)

    def close(self) -> None:
        """Listens no more."""
        with self._lock:
            self._unsubscribe()
            self.incompatible_qos = ""

    def _suitable(self) -> ReliabilityPolicy:
        if self._wanted != AUTO:
            return ReliabilityPolicy[self._wanted.upper()]
        offers = [info.qos_profile.reliability for info in self._node.get_publishers_info_by_topic(self.topic)]
        reliable = bool(offers) and all(offer == ReliabilityPolicy.RELIABLE for offer in offers)
        return ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT

    def _subscribe(self, reliability: ReliabilityPolicy) -> None:
        self._subscription = self._node.create_subscription(
            PointCloud2,
            "points",
            self._on_cloud,
            QoSProfile(depth=1, reliability=reliability),
            callback_group=self._group,
            event_callbacks=SubscriptionEventCallbacks(incompatible_qos=self._on_incompatible_qos),
        )
        self._reliability = reliability

    def _unsubscribe(self) -> None:
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription, self._reliability = None, None

    def _on_cloud(self, cloud: PointCloud2) -> None:
        self.incompatible_qos = ""
        self._callback(cloud)

    def _on_incompatible_qos(self, event: Any) -> None:
        self.incompatible_qos = qos_policy_name_from_kind(event.last_policy_kind)
        self._node.get_logger().warning(
            f"a publisher on {self.topic} offers an incompatible QoS ({self.incompatible_qos}): "
            "nothing will be received from it; see the parameter cloud_reliability"
        )
