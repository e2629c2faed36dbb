"""Where tests find what they share: the helper modules of each folder, and `training` and `validation`, which are not installed.

Appended, so that an installed neurok_ros comes before the repository's own folder, which lacks the generated interfaces.
"""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parent
sys.path += [str(TESTS / room) for room in ("physics", "prediction", "reconstruction", "ros", "training", "viewing")]
sys.path.append(str(TESTS.parent))
