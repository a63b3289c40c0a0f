"""Run pip-audit over constraints.txt, where its database can be reached. A known hole is exit status 1."""

import json
import subprocess
import sys
from pathlib import Path

COMMAND = ["--progress-spinner", "off", "--no-deps", "--disable-pip", "--format", "json", "-r", "constraints.txt"]

done = subprocess.run(
    [Path(sys.executable).with_name("pip-audit"), *COMMAND], capture_output=True, text=True, check=False
)
try:
    found = json.loads(done.stdout)["dependencies"]
except (ValueError, KeyError):
    found = []
# A mirror may have the packages and not their known holes: then every one of them is left out.
looked_up = [one for one in found if "vulns" in one and "skip_reason" not in one]
holes = [(one["name"], one["version"], hole["id"]) for one in looked_up for hole in one["vulns"]]
if not looked_up:
    print("pip-audit is left out: its database cannot be reached")
else:
    print(f"pip-audit: {len(holes)} known holes in {len(looked_up)} of {len(found)} packages")
for name, version, hole in holes:
    print(f"{name} {version}: {hole}")
sys.exit(bool(holes))
