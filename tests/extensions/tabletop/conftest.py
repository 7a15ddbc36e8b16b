from tests.measures.conftest import run as run
from tests.report.conftest import made as made
from tests.report.conftest import unpainted as unpainted
from tests.report.conftest import write as write
