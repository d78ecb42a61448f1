"""Errors, the JSON protocol on stdout, safetensors files, and how a process starts."""
