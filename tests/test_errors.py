from __future__ import annotations

import pickle
import re
from pathlib import Path

from neurok_ros.errors import ErrorCode, NeurokError

ACTION = Path(__file__).parent.parent / "action" / "PredictDeformation.action"


def test_the_action_repeats_every_error_code() -> None:
    result = ACTION.read_text().split("---")[-2]
    constants = {name: int(value) for name, value in re.findall(r"^uint8 (\w+)=(\d+)", result, re.MULTILINE)}
    assert constants == {code.name: code.value for code in ErrorCode}


def test_an_error_survives_the_way_out_of_a_worker_process() -> None:
    error = pickle.loads(pickle.dumps(NeurokError(ErrorCode.INVALID_CLOUD, "row_step", "is 3", "Fix the driver")))
    assert (error.code, error.field, str(error)) == (ErrorCode.INVALID_CLOUD, "row_step", "row_step: is 3. Fix the driver")
