"""The container, the unit and the proxy: valid to their tools, with the ports and limits of the service."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hedgerow.service.forms import LARGEST_QUESTION
from hedgerow.service.resources import MOST_CONNECTIONS, RESERVED
from hedgerow.service.server import Address
from tests.service.certificates import certificate
from tests.service.wards import SCHEMA, table

EXAMPLES = Path(__file__).parents[2] / "examples"
UNIT, PROXY = (EXAMPLES / name for name in ("hedgerow.service", "nginx.conf"))


def checked(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/hedgerow/bin/hedgerow", shutil.which("true") or ""))
    assert checked("systemd-analyze", "verify", str(unit)) == ""


NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")


@pytest.mark.skipif(NGINX is None, reason="needs nginx")
def test_nginx_takes_the_proxy(tmp_path):
    pem = certificate(tmp_path)
    text = re.sub(r"/etc/hedgerow/\w+\.pem", str(pem), PROXY.read_text())
    site = tmp_path / "site.conf"
    site.write_text(text.replace("listen 443", "listen 127.0.0.1:44443"))  # a port that anybody may take
    whole = tmp_path / "nginx.conf"
    whole.write_text(
        f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\ninclude {site};\n}}\n"
    )
    assert "test is successful" in checked(str(NGINX), "-t", "-p", str(tmp_path), "-c", str(whole))


def test_their_limits_are_those_of_the_service():
    proxy = PROXY.read_text()
    assert f"client_max_body_size {LARGEST_QUESTION // 2**20}m;" in proxy
    assert set(re.findall(r"proxy_pass (\S+);", proxy)) == {f"http://127.0.0.1:{Address().port}"}
    (files,) = re.findall(r"LimitNOFILE=(\d+)", UNIT.read_text())
    assert int(files) >= MOST_CONNECTIONS + RESERVED


CONTAINERFILE = Path(__file__).parents[2] / "Containerfile"
ELSEWHERE = "198.51.100.7"  # an address of this machine that is not on the loopback, in a network of its own
PROBE = """
import json, subprocess, sys, urllib.request
address, ports, *command = sys.argv[1:]
for words in (["link", "set", "lo", "up"], ["addr", "add", f"{address}/32", "dev", "lo"]):
    subprocess.run(["ip", *words], check=True)
process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
try:
    ready = json.loads(process.stdout.readline())
    for port in ports.split():  # as a published port of a container's is reached
        request = urllib.request.Request(f"http://{address}:{port}/healthz", headers={"Host": f"127.0.0.1:{port}"})
        with urllib.request.urlopen(request, timeout=10) as response:
            assert response.status == 200
    print(json.dumps(ready))
finally:
    process.terminate()
    process.wait(60)
"""


def instruction(name):
    """Return the last instruction of a name in the Containerfile."""
    return re.findall(rf"^{name} (.+)$", CONTAINERFILE.read_text(), re.MULTILINE)[-1]


def test_the_containers_command_listens_on_every_exposed_port():
    words = json.loads(instruction("CMD"))
    given = {words[at]: words[at + 1] for at, word in enumerate(words[:-1]) if word.startswith("--")}
    ports = [given["--port"], given["--curator-port"]]
    assert instruction("EXPOSE").split() == ports
    assert given["--host"] == given["--curator-host"] == "0.0.0.0"
    assert int(given["--port"]) == Address().port
    published = re.findall(r"-p 127\.0\.0\.1:(\d+):(\d+)", CONTAINERFILE.read_text())
    assert published == [(port, port) for port in ports]


def in_own_network():
    """Return whether a process may have a network of its own."""
    if not (shutil.which("unshare") and shutil.which("ip")):
        return False
    return subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.statistics  # starts processes
@pytest.mark.skipif(not in_own_network(), reason="needs unshare -rn and ip")
def test_the_entrypoint_of_the_container_is_reached_at_every_exposed_port(tmp_path):
    def outside(words):
        """Return a command as it runs in the container, on this machine: with its package and its volume."""
        whole = [*json.loads(instruction("ENTRYPOINT")), *words]
        assert whole[0] == "/opt/hedgerow/bin/hedgerow"
        return [sys.executable, "-m", "hedgerow", *(word.replace("/data", str(tmp_path)) for word in whole[1:])]

    frame, labels = table()
    frame.assign(ill=labels).to_csv(tmp_path / "wards.csv", index=False)
    SCHEMA.save(tmp_path / "wards.yaml")
    subprocess.run(outside(["init"]), cwd=tmp_path, check=True, capture_output=True, timeout=60)
    text = (tmp_path / "curator.yaml").read_text()
    (tmp_path / "curator.yaml").write_text(text.replace("patients.", "wards."))
    ports, command = instruction("EXPOSE"), outside(json.loads(instruction("CMD")))
    done = subprocess.run(
        ["unshare", "-rn", sys.executable, "-c", PROBE, ELSEWHERE, ports, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    ready = json.loads(done.stdout)
    assert ready["curator_url"].startswith("http://127.0.0.1:8766/?token=")  # as it is opened on the host
