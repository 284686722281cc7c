"""The types in the stub file are those of the module."""

import ast
import inspect
import pathlib

import revoff

STUB = pathlib.Path(revoff.__file__).with_name("__init__.pyi")


def stub_classes():
    return [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef)]


def test_docstrings_of_exceptions_agree():
    exceptions = [node for node in stub_classes() if issubclass(getattr(revoff, node.name), Exception)]
    assert len(exceptions) > 8
    for node in exceptions:
        assert ast.get_docstring(node) == inspect.getdoc(getattr(revoff, node.name)), node.name


def stub_names():
    """The public names of the stub file; of a class, with its members."""
    names = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ClassDef):
            members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            names[node.name] = members - {"__new__", "__enter__", "__exit__", "__call__", "__wrapped__"}
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = set()
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = set()
    return names


def test_all_public_names_have_types():
    assert set(stub_names()) == set(revoff.__all__)
    assert STUB.with_name("py.typed").exists()


def test_members_are_those_of_the_classes():
    for name, members in stub_names().items():
        item = getattr(revoff, name)
        if inspect.isclass(item) and not issubclass(item, Exception):
            assert members == {member for member in vars(item) if not member.startswith("_")}


def test_docstrings_are_there():
    for name in revoff.__all__:
        assert name == "__version__" or inspect.getdoc(getattr(revoff, name)), name
