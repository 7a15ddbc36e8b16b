"""Clients for language models behind HTTP endpoints.

protocols   endpoints with their limits, prompts, and the wire formats of OpenAI, Anthropic and Gemini
client      requests with retries, an on-disk cache of replies, and counts of requests and tokens
"""
