"""The node's state as diagnostic_msgs, for whoever asks why nothing happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from neurok_ros.nodes.cloud_subscription import CloudSubscription
from neurok_ros.nodes.goal_server import GoalCounts
from neurok_ros.nodes.inbox import CloudInbox
from neurok_ros.nodes.ros_features import Transforms

OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN


def cloud_status(
    name: str,
    inbox: CloudInbox[Any],
    subscription: CloudSubscription,
    transforms: Transforms,
    timeout: float,
    publishers: int,
) -> DiagnosticStatus:
    """What became of the clouds.

    Args:
        name: of the status.
        inbox: holds the clouds.
        subscription: receives them.
        transforms: counts look-ups.
        timeout: seconds without a cloud before this is a warning.
        publishers: how many there are on the topic.
    """
    age = inbox.seconds_since_arrival()
    counts = inbox.counts
    topic = subscription.topic
    values: dict[str, Any] = {
        "topic": topic,
        "publishers": publishers,
        "reliability asked for": subscription.reliability,
        "received": counts.received,
        "dropped, replaced by a newer one": counts.dropped,
        "seconds since the last": "never" if age is None else f"{age:.1f}",
        "time jumps back": counts.time_jumps,
        "transform look-ups repeated": transforms.retries,
        "transform look-ups failed": transforms.failures,
    }
    values.update({f"skipped, {reason}": count for reason, count in sorted(counts.skipped.items())})
    values.update({f"note {index}": note for index, note in enumerate(inbox.notes)})
    if not subscription.reliability:
        return _status(name, OK, "not active", values)
    if subscription.incompatible_qos:
        policy = subscription.incompatible_qos
        problem = f"a publisher on {topic} offers an incompatible QoS ({policy}); see the parameter cloud_reliability"
        return _status(name, WARN, problem, values)
    if inbox.last_problem:
        return _status(name, WARN, f"the last cloud was skipped: {inbox.last_problem}", values)
    if age is None or age > timeout:
        return _status(name, WARN, f"no cloud on {topic} for {timeout:g} s, {publishers} publishers", values)
    return _status(name, OK, "receiving clouds", values)


def prediction_status(
    name: str, counts: GoalCounts, objects: int, stage_times_ms: Mapping[str, float], worker_restarts: int, undrawable: int
) -> DiagnosticStatus:
    """What became of the goals, and how long the stages of the last one took."""
    values: dict[str, Any] = {"objects": objects, "reconstruction worker restarts": worker_restarts}
    values.update({f"goals {how}": count for how, count in sorted(counts.ended.items())})
    values.update({f"goals rejected, {reason}": count for reason, count in sorted(counts.rejected.items())})
    values.update({f"{stage} (ms)": f"{value:.1f}" for stage, value in stage_times_ms.items()})
    values["markers withheld"] = undrawable
    if counts.last_error:
        return _status(name, WARN, f"the last goal that failed: {counts.last_error}", values)
    return _status(name, OK, "ready", values)


def _status(name: str, level: bytes, message: str, values: Mapping[str, Any]) -> DiagnosticStatus:
    pairs = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
    return DiagnosticStatus(level=level, name=name, message=message, hardware_id="", values=pairs)
