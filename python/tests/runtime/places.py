"""Where things are."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.dirname(os.path.dirname(HERE))
EXAMPLE = os.path.join(os.path.dirname(PACKAGES), "examples", "python", "pipeline.py")
