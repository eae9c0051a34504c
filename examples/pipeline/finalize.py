"""Reads {"results": [{"total": …}, …]} and writes the sum of the totals."""

import json
import sys

print(sum(result["total"] for result in json.load(sys.stdin)["results"]))
