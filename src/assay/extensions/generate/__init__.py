"""Makes new scenes with several tasks each: attributes with confounders, spatial relations, furniture to operate.

order = Order(seed=7)
made = make(order, 0)        # one scene, and the tasks in it that the oracle could do
write(Path("scenes"), order, count=100)
"""

from assay.extensions.generate.distribution import Labels
from assay.extensions.generate.folder import write
from assay.extensions.generate.scenes import Made, Order, make

__all__ = ["Labels", "Made", "Order", "make", "write"]
