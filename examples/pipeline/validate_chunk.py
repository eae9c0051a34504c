"""Reads {"chunk_id": n, "items": [{"score": …}, …]} and writes whether every score is above 0."""

import json
import sys

print(json.dumps(all(item["score"] > 0 for item in json.load(sys.stdin)["items"])))
