"""Addresses that the client serves, such as `notes://todo`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional

from .functions import call
from .protocol import HostUriScheme


@dataclass(frozen=True)
class Scheme:
    """Serves the addresses of a scheme. `read(url)` returns their content, `write(url, content)` replaces it."""

    name: str
    read: Callable[[str], Any]
    write: Optional[Callable[[str, str], Any]] = None
    description: str = ""

    def declaration(self) -> HostUriScheme:
        """Returns what `set_host_uri_schemes` takes."""
        scheme: HostUriScheme = {"scheme": self.name, "writable": self.write is not None}
        if self.description:
            scheme["description"] = self.description
        return scheme


async def serve(schemes: Mapping[str, Scheme], request: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the fields of `host_uri_result`. A failure is for the model to read."""
    url = str(request["url"])
    try:
        scheme = schemes.get(url.partition(":")[0].lower())
        if scheme is None:
            raise ValueError(f"the client does not serve {url}")
        if request["operation"] == "read":
            return {"content": str(await call(scheme.read, url))}
        if scheme.write is None:
            raise ValueError(f"{url} is read-only")
        await call(scheme.write, url, str(request.get("content", "")))
        return {}
    except Exception as error:
        return {"isError": True, "error": str(error) or type(error).__name__}
