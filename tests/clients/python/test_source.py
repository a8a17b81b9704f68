"""The source: up to date with the schema, readable by Python 3.9, and complete."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import unittest

from support import ROOT

import bowline_agent

PACKAGE = ROOT / "clients" / "python" / "bowline_agent"
# What came after Python 3.9 and is no matter of syntax.
LATER = {"asyncio.timeout", "asyncio.TaskGroup", "asyncio.Runner", "typing.Self", "typing.NotRequired", "typing.TypeAlias", "typing.ParamSpec"}
FOR_THE_GENERATOR = unittest.skipIf(sys.version_info < (3, 11), "the generator needs Python 3.11")


class Source(unittest.TestCase):
    def sources(self):
        return sorted([*PACKAGE.rglob("*.py"), *(ROOT / "examples" / "clients" / "python").glob("*.py")])

    def test_it_is_python_3_9(self) -> None:
        self.assertGreater(len(self.sources()), 20)
        for path in self.sources():
            tree = ast.parse(path.read_text(), str(path), feature_version=(3, 9))
            for node in ast.walk(tree):
                self.assertNotIsInstance(node, getattr(ast, "Match", ()), path)
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    self.assertNotIn(f"{node.value.id}.{node.attr}", LATER, path)
                if isinstance(node, ast.ImportFrom):
                    names = {f"{node.module}.{alias.name}" for alias in node.names}
                    self.assertFalse(names & LATER, path)
                # Without the import, annotations are evaluated, and `X | Y` came with 3.10.
                future = "from __future__ import annotations" in path.read_text()
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
                    self.assertTrue(future, path)

    @unittest.skipIf(sys.version_info < (3, 10), "this Python does not know its own modules")
    def test_it_depends_on_nothing(self) -> None:
        for path in PACKAGE.rglob("*.py"):
            for_types: set = set()
            for node in ast.walk(ast.parse(path.read_text())):
                names = []
                if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                    for_types |= {id(inner) for inner in ast.walk(node)}
                if id(node) in for_types:
                    continue
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module or ""]
                for name in names:
                    self.assertIn(name.partition(".")[0], sys.stdlib_module_names, path)

    def test_the_options_are_the_same_everywhere(self) -> None:
        parameters = list(inspect.signature(bowline_agent.AsyncBowline).parameters)
        self.assertEqual(list(bowline_agent.Options.__annotations__), parameters)
        documented = re.findall(r"^        (\w+): ", bowline_agent.AsyncBowline.__doc__ or "", re.MULTILINE)
        self.assertEqual(documented, parameters)
        page = (ROOT / "docs" / "python-client.md").read_text().split("\n## Options\n")[1].split("\n## ")[0]
        rows = [cell for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for cell in re.findall(r"`(\w+)`", row)]
        self.assertEqual(sorted(rows), sorted(parameters))

    def test_everything_public_is_exported_and_described(self) -> None:
        self.assertEqual(bowline_agent.__all__, sorted(bowline_agent.__all__))
        for name in bowline_agent.__all__:
            self.assertTrue(getattr(bowline_agent, name).__doc__ if name != "Decision" else True, name)
        self.assertTrue((PACKAGE / "py.typed").exists())

    @FOR_THE_GENERATOR
    def test_generated_files_are_up_to_date(self) -> None:
        done = subprocess.run([sys.executable, ROOT / "clients" / "generator", "--check", "python"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @FOR_THE_GENERATOR
    def test_drift_is_found(self) -> None:
        sys.path.insert(0, str(ROOT / "clients" / "generator"))
        try:
            import importlib.util

            specification = importlib.util.spec_from_file_location("generator_main", ROOT / "clients" / "generator" / "__main__.py")
            assert specification is not None and specification.loader is not None
            module = importlib.util.module_from_spec(specification)
            specification.loader.exec_module(module)
        finally:
            sys.path.pop(0)
        committed = (PACKAGE / "commands.py").read_text()
        path = "clients/python/bowline_agent/commands.py"
        self.assertEqual(module.check({path: committed}), 0)
        import contextlib
        import io

        with contextlib.redirect_stderr(io.StringIO()) as report:
            self.assertEqual(module.check({path: committed + "# more\n"}), 1)
        self.assertIn(path, report.getvalue())

    @FOR_THE_GENERATOR
    def test_a_schema_that_is_not_understood_is_refused(self) -> None:
        sys.path.insert(0, str(ROOT / "clients" / "generator"))
        try:
            import schema
        finally:
            sys.path.pop(0)
        body = {"type": "object", "properties": {"x": {"type": "string", "patternProperties": {}}}, "required": []}
        with self.assertRaisesRegex(schema.SchemaError, "patternProperties"):
            schema.Reader({"title": "", "$defs": {"X": body}}).define("X", body)


if __name__ == "__main__":
    unittest.main()
