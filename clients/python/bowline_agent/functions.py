"""Calls the functions of the user, which may be coroutines or not."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from typing import Any, Callable, Optional


async def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Calls a function. One that is no coroutine runs in a thread of its own, so that it may block.

    The threads are daemons: a function that waits for input must not keep the program from ending.
    """
    if is_coroutine(function):
        return await function(*arguments, **named)
    result = await in_thread(function, *arguments, **named)
    return await result if inspect.isawaitable(result) else result


def is_coroutine(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def in_thread(function: Callable[..., Any], *arguments: Any, **named: Any) -> "asyncio.Future[Any]":
    """Returns the future result of a function that runs in a thread."""
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[Any]" = loop.create_future()
    context = contextvars.copy_context()

    def report(result: Any, error: Optional[BaseException]) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result: Any = None
        error: Optional[BaseException] = None
        try:
            result = context.run(function, *arguments, **named)
        except StopIteration as stop:
            error = RuntimeError(f"{function!r} raised StopIteration: {stop}")
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(report, result, error)
        except RuntimeError:
            pass  # The loop has ended; nobody waits any more.

    threading.Thread(target=run, name=getattr(function, "__name__", "bowline-call"), daemon=True).start()
    return future
