"""A policy that reads prompts by rules and recognises pictures by their pixels."""
