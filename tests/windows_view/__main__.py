"""Write the line that puts the view on, into the environment whose Python runs this."""

from __future__ import annotations

import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "kellet_windows_view"
# One line: site runs a line that starts with `import`. Nothing is loaded where the view is not asked for.
LINE = (
    "import os; os.environ.get('KELLET_VIEW') == 'windows' and exec("
    '"import sys\\nfrom importlib.util import module_from_spec, spec_from_file_location\\n'
    f"spec = spec_from_file_location({NAME!r}, {str(HERE / '__init__.py')!r}, "
    f"submodule_search_locations=[{str(HERE)!r}])\\n"
    f"sys.modules[{NAME!r}] = module = module_from_spec(spec)\\nspec.loader.exec_module(module)\\n"
    'module.put_on()")\n'
)

if __name__ == "__main__":
    (Path(sysconfig.get_path("purelib")) / f"{NAME}.pth").write_text(LINE, encoding="utf-8")
