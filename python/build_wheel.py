"""Builds the package for pip, with nothing but Python: pip install needs no network and no other package for it.

The functions are those that pip asks for (PEP 517 and PEP 660).
"""

import base64
import hashlib
import os
import re
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "pulley"


def _version():
    with open(os.path.join(HERE, NAME, "__init__.py"), encoding="utf-8") as f:
        return re.search(r'^__version__ = "(.+)"$', f.read(), re.M).group(1)


def _sources():
    """The package's files, by their names in a wheel."""
    found = {}
    for folder, folders, files in os.walk(os.path.join(HERE, NAME)):
        folders[:] = sorted(d for d in folders if d != "__pycache__")
        for file in sorted(files):
            if file.endswith(".py") or file == "py.typed":
                path = os.path.join(folder, file)
                with open(path, "rb") as f:
                    found[os.path.relpath(path, HERE).replace(os.sep, "/")] = f.read()
    return found


def _metadata():
    return f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {_version()}\nSummary: Durable workflows in Python, run by pulley\nRequires-Python: >=3.9\n".encode()


def _write(directory, contents):
    """Writes a wheel with the contents, and gives its name."""
    info = f"{NAME}-{_version()}.dist-info"
    contents = {
        **contents,
        f"{info}/METADATA": _metadata(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: pulley\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in contents.items()]
    contents[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    wheel = f"{NAME}-{_version()}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, wheel), "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in contents.items():
            z.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return wheel


def _digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, _sources())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {f"{NAME}_editable.pth": (HERE + "\n").encode()})


def build_sdist(sdist_directory, config_settings=None):
    root = f"{NAME}-{_version()}"
    with tarfile.open(os.path.join(sdist_directory, root + ".tar.gz"), "w:gz") as t:
        for name in [*_sources(), "pyproject.toml", "build_wheel.py"]:
            t.add(os.path.join(HERE, name), f"{root}/{name}")
        path = os.path.join(sdist_directory, "PKG-INFO")
        with open(path, "wb") as f:
            f.write(_metadata())
        t.add(path, f"{root}/PKG-INFO")
        os.remove(path)
    return root + ".tar.gz"
