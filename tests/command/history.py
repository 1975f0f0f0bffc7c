"""scripts/check-history as a module: `from history import check`."""

import importlib.machinery
import importlib.util
import pathlib
import sys

PATH = pathlib.Path(__file__).resolve().parents[2] / "scripts/check-history"

_loader = importlib.machinery.SourceFileLoader("check_history", str(PATH))
_spec = importlib.util.spec_from_loader("check_history", _loader)
_module = importlib.util.module_from_spec(_spec)
sys.modules["check_history"] = _module
_loader.exec_module(_module)

History, check = _module.History, _module.check
