"""A rule-based tabletop policy that reads prompts and recognises objects by their pixels.

It receives the same inputs as any policy. Its success shows that prompts and images specify the task; its failure
without them shows that they are needed: `assay run prompts --policy python:bench.prompt_reader.policy:PromptReader`.
"""
