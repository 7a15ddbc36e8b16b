"""VIMA-Bench and CoGeLoT: a world of tabletop tasks with multimodal prompts. Each action consists of two poses."""

from assay.support.plugins import provide

provide("world", {"tabletop": "assay.extensions.tabletop.world.env:TABLETOP_WORLD"})
provide(
    "policy",
    {
        "tabletop/oracle": "assay.extensions.tabletop.world.oracle:TableOracle",
        "tabletop/promptblind": "assay.extensions.tabletop.policies.planted:PromptBlind",
        "tabletop/order-follower": "assay.extensions.tabletop.policies.planted:OrderFollower",
        "tabletop/first-object": "assay.extensions.tabletop.policies.planted:FirstObject",
        "tabletop/random": "assay.extensions.tabletop.policies.planted:RandomPlaces",
        "tabletop/vima": "assay.extensions.tabletop.policies.vima:VimaPolicy",
        "tabletop/learned": "assay.extensions.tabletop.networks.policy:LearnedPolicy",
    },
)
provide("sheet", {"tabletop": "assay.extensions.tabletop.world.env:experiment_sheet"})
provide(
    "experiment",
    {
        "tabletop": "assay.extensions.tabletop.experiments:tabletop",
        "prompts": "assay.extensions.tabletop.experiments:prompts",
    },
)
provide("perturbations", {"tabletop": "assay.extensions.tabletop.prompts.perturbations"})
provide("measure", {"tabletop": "assay.extensions.tabletop.measures.measure:TABLETOP"})
provide("paper", {"cogelot": "assay.extensions.tabletop.cogelot:PAPER"})
provide("command", {"Other benchmarks/tabletop": "assay.extensions.tabletop.commands:app"})
