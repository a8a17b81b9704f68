#!/usr/bin/env python3
"""Writes src/catalog/<provider>.json from a list of models.

    python3 crates/llm/catalog.py path/to/models.json

The input is {"source": ..., "providers": {id: {"baseUrl": ..., "models": [...]}}}. A file has one model per line. What
most models of a provider share ("api", "compat") stands once, at its head; what a reader can assume is left out. Only
the fields that bowline reads are kept. A provider is used once src/catalog.rs names it.
"""
import collections
import json
import pathlib
import sys

FIELDS = ["id", "name", "api", "baseUrl", "reasoning", "input", "cost", "contextWindow", "maxTokens",
          "thinkingLevelMap", "compat"]
PRICES = ["input", "output", "cacheRead", "cacheWrite"]
SHARED = ["api", "compat"]


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def price(number):
    # A router that chooses the model says -1 for "depends": nothing that could be multiplied.
    return max(number, 0)


def reduced(model, shared):
    kept = {field: model[field] for field in FIELDS if field in model}
    # An answer is part of the window, whatever the source says.
    kept["maxTokens"] = min(kept["maxTokens"], kept["contextWindow"])
    prices = [price(model["cost"].get(name, 0)) for name in PRICES]
    while prices and prices[-1] == 0:
        prices.pop()
    kept["cost"] = prices
    for field in SHARED:
        if kept.get(field) == shared[field]:
            kept.pop(field, None)
        else:
            kept.setdefault(field, None)
    for field, usual in [("name", kept["id"]), ("reasoning", False), ("input", ["text"]), ("cost", [])]:
        if kept[field] == usual:
            del kept[field]
    return kept


def most_common(models, field):
    counts = collections.Counter(compact(model.get(field)) for model in models)
    return json.loads(counts.most_common(1)[0][0])


def main(path):
    data = json.loads(pathlib.Path(path).read_text())
    folder = pathlib.Path(__file__).parent / "src" / "catalog"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for provider, entry in sorted(data["providers"].items()):
        shared = {field: most_common(entry["models"], field) for field in SHARED}
        head = compact({"source": data["source"], "baseUrl": entry["baseUrl"], **shared})
        lines = ",\n".join(compact(reduced(model, shared)) for model in entry["models"])
        text = f'{head[:-1]},"models":[\n{lines}\n]}}\n'
        (folder / f"{provider}.json").write_text(text)
        print(provider, len(entry["models"]), len(text))


if __name__ == "__main__":
    main(*sys.argv[1:])
