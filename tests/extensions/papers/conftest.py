from tests.report.conftest import everything as everything
from tests.report.conftest import made as made
from tests.report.conftest import undrawn as undrawn
from tests.report.conftest import write as write
