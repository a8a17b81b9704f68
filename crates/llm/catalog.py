#!/usr/bin/env python3
"""Writes src/catalog/<provider>.json from a list of models.

    python3 crates/llm/catalog.py path/to/models.json

The input is {"source": ..., "providers": {id: {"baseUrl": ..., "models": [...]}}}. Only models on an API that
bowline speaks are kept, and only the fields that it reads. A provider is used once src/catalog.rs names it.
"""
import json
import pathlib
import sys

APIS = {"anthropic-messages", "openai-completions"}
# These need more than a key and a base URL.
LEFT_OUT = {"cloudflare-ai-gateway"}
FIELDS = ["id", "name", "api", "baseUrl", "reasoning", "input", "cost", "contextWindow", "maxTokens",
          "thinkingLevelMap", "compat"]
PRICES = ["input", "output", "cacheRead", "cacheWrite"]


def reduced(model):
    kept = {field: model[field] for field in FIELDS if field in model}
    kept["cost"] = {price: model["cost"].get(price, 0) for price in PRICES}
    return kept


def main(path):
    data = json.loads(pathlib.Path(path).read_text())
    folder = pathlib.Path(__file__).parent / "src" / "catalog"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for provider, entry in sorted(data["providers"].items()):
        models = [reduced(model) for model in entry["models"] if model["api"] in APIS]
        if not models or provider in LEFT_OUT:
            continue
        lines = ",\n".join("    " + json.dumps(model, separators=(", ", ": ")) for model in models)
        head = json.dumps({"source": data["source"], "baseUrl": entry["baseUrl"]}, indent=2)[:-2]
        (folder / f"{provider}.json").write_text(f'{head},\n  "models": [\n{lines}\n  ]\n}}\n')
        print(provider, len(models))


if __name__ == "__main__":
    main(*sys.argv[1:])
