"""The wheel that pip installs."""

import base64
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

from .places import PACKAGES


class BuildTest(unittest.TestCase):
    def build(self, what, directory):
        """Builds as pip does: in a process whose working directory is the project."""
        code = f"import sys; sys.path.insert(0, '.'); import build_wheel; print(build_wheel.{what}(sys.argv[1]))"
        got = subprocess.run([sys.executable, "-B", "-c", code, directory], cwd=PACKAGES, capture_output=True, text=True, check=True, timeout=300)
        return os.path.join(directory, got.stdout.strip())

    def test_wheel(self):
        with tempfile.TemporaryDirectory() as dir:
            path = self.build("build_wheel", dir)
            with zipfile.ZipFile(path) as wheel:
                names = set(wheel.namelist())
                record = next(n for n in names if n.endswith("/RECORD"))
                rows = [line.split(",") for line in wheel.read(record).decode().splitlines()]
                self.assertEqual({r[0] for r in rows}, names)
                for name, digest, size in rows:
                    if name == record:
                        continue
                    data = wheel.read(name)
                    want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                    self.assertEqual((digest, size), ("sha256=" + want, str(len(data))), name)
            code = "import pulley.compiler, pulley.worker.service, pulley.values.hints; print(pulley.__file__)"
            got = subprocess.run([sys.executable, "-c", code], cwd=dir, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300)
            self.assertTrue(got.stdout.startswith(path), got.stdout + got.stderr)

    def test_others(self):
        with tempfile.TemporaryDirectory() as dir:
            with zipfile.ZipFile(self.build("build_editable", dir)) as wheel:
                self.assertEqual(wheel.read("pulley_editable.pth").decode().strip(), PACKAGES)
            with tarfile.open(self.build("build_sdist", dir)) as sdist:
                names = {n.split("/", 1)[1] for n in sdist.getnames()}
            self.assertLessEqual({"pyproject.toml", "PKG-INFO", "build_wheel.py", "pulley/__init__.py", "pulley/values/hints.py"}, names)


if __name__ == "__main__":
    unittest.main()
