"""Puts `conf/`, which stays at the top of the repository, into the wheel, where an installed command finds it."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

OF_THE_CHECKOUT = shutil.ignore_patterns("dvc.yaml", "dvc.lock", ".*")


class WithConfiguration(build_py):
    """Copies the configuration beside the modules; a checkout that is installed as it lies needs no copy."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "tworulers" / "conf"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree("conf", target, ignore=OF_THE_CHECKOUT)


setup(cmdclass={"build_py": WithConfiguration})
