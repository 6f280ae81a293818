"""The examples of a unit and of a proxy are what systemd and nginx take, and have the limits of the service."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hedgerow.service.forms import LARGEST_QUESTION
from hedgerow.service.resources import MOST_CONNECTIONS, RESERVED
from hedgerow.service.server import Address
from tests.service.certificates import certificate

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
