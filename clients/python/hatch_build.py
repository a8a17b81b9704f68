"""Adds bowline itself to the wheel, if packaging/wheel.py names the binary. Without one, the wheel is pure Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


ROOT = Path(__file__).resolve().parents[2]


class BinaryHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        licences = {str(ROOT / name): f"licenses/{name}" for name in ("LICENSE-APACHE", "LICENSE-MIT")}
        build_data["extra_metadata"] = licences
        binary = os.environ.get("BOWLINE_WHEEL_BINARY")
        if not binary:
            return
        extras = Path(os.environ["BOWLINE_WHEEL_EXTRAS"])
        licences[str(extras / "documents/NOTICES")] = "licenses/NOTICES"
        build_data["pure_python"] = False
        build_data["tag"] = os.environ["BOWLINE_WHEEL_TAG"]
        build_data["shared_scripts"] = {binary: Path(binary).name}
        build_data["shared_data"] = {
            **{str(page): f"share/man/{page.parent.name}/{page.name}" for page in (extras / "man").glob("*/*")},
            str(extras / "completions/bowline.bash"): "share/bash-completion/completions/bowline",
            str(extras / "completions/_bowline"): "share/zsh/site-functions/_bowline",
            str(extras / "completions/bowline.fish"): "share/fish/vendor_completions.d/bowline.fish",
        }
