"""The walls between the parts: who may import whom."""

import ast
import subprocess
import sys


def imported(path):
    """All that a module imports, as dotted names; a relative import begins with its dots."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def test_metrics_need_numpy_and_scipy_only(root):
    for path in (root / "metrics").glob("*.py"):
        absolute = {name.split(".")[0] for name in imported(path) if not name.startswith(".")}
        foreign = absolute - set(sys.stdlib_module_names) - {"numpy", "scipy"}
        assert not foreign, (path, foreign)


def test_importing_the_package_and_its_metrics_imports_no_model_library():
    code = (
        "import sys, lm_eval_bias, lm_eval_bias.metrics.halo, lm_eval_bias.metrics.hidden_bias, lm_eval_bias.documents.hbb\n"
        "print(sorted({'torch', 'transformers', 'lm_eval', 'datasets'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_yaml_files_hold_no_items_and_items_no_prompts(root):
    """No template, concept or attribute list in a task's YAML; no prompt in an items file."""
    for path in (root / "tasks").rglob("*.yaml"):
        text = path.read_text()
        assert "[[X]]" not in text and "fair-skinned" not in text, path
    for path in (root / "lm_eval_bias" / "items").glob("*.*sv"):
        assert "Premise:" not in path.read_text() and "Final Answer" not in path.read_text(), path


def test_documents_and_models_know_nothing_of_reports(root):
    package = root / "lm_eval_bias"
    for path in [package / "answers.py", *(package / "documents").glob("*.py"), *(package / "models").glob("*.py")]:
        assert "report" not in {part for name in imported(path) for part in name.split(".")}, path
