"""Stands in for SGLang's kernels, which need a GPU driver; where they are absent, SGLang itself falls back to PyTorch.

One operation has no such fallback and is written here. Everything else may be imported and raises when it is called.
"""

__version__ = "0.4.10"


def assign_req_to_token_pool_cpu(pool_indices, table, starts, ends, cache_slots, _pool_width):
    """Writes the cache slots of each request into its row of the table, one stretch after the other."""
    taken = 0
    for row, start, end in zip(pool_indices.tolist(), starts.tolist(), ends.tolist(), strict=True):
        count = end - start
        table[row, start:end] = cache_slots[taken : taken + count].to(table.dtype)
        taken += count


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*_arguments, **_options):
        raise NotImplementedError(f"the stand-in for sgl_kernel has no {name}")

    return missing
