"""Servers that have imported PyTorch and fork a process for each client."""
