"""The build of the wheel, by the standard library alone, so that pip needs no network (PEP 517)."""
import base64
import hashlib
import os
import re
import zipfile

with open("pyproject.toml", encoding="utf-8") as file:
    _project = dict(re.findall('^([a-z-]+) = "(.*)"$', file.read(), re.M))
_name = f"{_project['name']}-{_project['version']}"
_info = f"{_name}.dist-info"


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {}
    for name in sorted(os.listdir("ctxledger")):
        if name.endswith((".py", ".typed")):
            with open(os.path.join("ctxledger", name), "rb") as file:
                files[f"ctxledger/{name}"] = file.read()
    files[f"{_info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {_project['name']}\nVersion: {_project['version']}\nSummary: {_project['description']}\n"
        f"License: Apache-2.0\nRequires-Python: {_project['requires-python']}\n"
    ).encode()
    files[f"{_info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: ctxledger\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}" for name, data in files.items()]
    files[f"{_info}/RECORD"] = "\n".join([*record, f"{_info}/RECORD,,", ""]).encode()
    wheel = f"{_name}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("install the folder, or the wheel")
