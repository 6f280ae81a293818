"""A curator's and an analyst's first session, inside of the image: ``container_session.py ENTRYPOINT COMMAND``.

Both are lists in JSON, as the image has them. The working folder is the empty volume of the curator.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import hedgerow as hr

entrypoint, command = (json.loads(words) for words in sys.argv[1:])


def curator(*words: str) -> str:
    """Run the entry point with the given arguments instead of the image's, and return its output."""
    return subprocess.run([*entrypoint, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


if os.getuid() != 1000:
    sys.exit(f"expected user 1000 in the image, received {os.getuid()}")
curator("init")  # its configuration names the two files that follow
rows = [f"{20 + i % 60},{'yes' if i % 60 > 30 else 'no'}\n" for i in range(300)]
Path("patients.csv").write_text("age,ill\n" + "".join(rows), encoding="utf-8")
schema = hr.Schema({"age": hr.Integer(0, 120, cuts=(30, 50, 65))}, hr.Label("ill", ("no", "yes")))
schema.save("patients.yaml")
curator("check")
key = curator("key", "add", "ana").split()[-1]
service = subprocess.Popen([*entrypoint, *command], stdout=subprocess.PIPE, text=True)
try:
    if not (service.stdout and service.stdout.readline()):  # one line, when it is ready
        sys.exit("expected the service to start, but it ended")
    with hr.connect("http://127.0.0.1:8765", key=key) as connection:
        tree = connection.fit(hr.PrivateTreeClassifier(epsilon=1, max_depth=1))
        spent = connection.budget["epsilon"]["spent"]
finally:
    service.send_signal(signal.SIGTERM)
    ended = service.wait(60)
if (spent, ended) != ("1", 0):
    sys.exit(f"expected epsilon 1 spent and exit code 0, received {spent} and {ended}")
sys.stdout.write(f"{tree}\nThe service in the container answered, charged epsilon {spent}, and stopped.\n")
