"""Markdown tables for `benchmarks.scale`: the time and memory of each step, by number of rows."""


def steps_table(known, heading):
    """Markdown lines, one for each way and step; `known` has the figures of the steps by "number-of-rows way"."""
    found = {}
    for key, steps in known.items():
        n, way = key.split(" ", 1)
        found.setdefault(way, {})[int(n)] = steps
    sizes = sorted({n for by_size in found.values() for n in by_size})
    lines = [f"| {heading} | " + " | ".join(f"{n / 1e6:g} million | MB" for n in sizes) + " | growth |"]
    lines.append("|---|---" + "|---:|---:" * len(sizes) + "|---:|")
    for way, by_size in found.items():
        for name in next(iter(by_size.values())):
            cells = [by_size[n][name] if n in by_size else None for n in sizes]
            told = [f"{c['seconds']:.1f} s | {round(c['memory'], -1):,.0f}" if c else " | " for c in cells]
            lines.append(f"| {way} | {name} | {' | '.join(told)} | {growth(sizes, cells)} |")
    return lines


def growth(sizes, cells):
    """How many times as long the largest took as the smallest, and how many times as many rows it had."""
    there = [(n, c["seconds"]) for n, c in zip(sizes, cells, strict=True) if c]
    (least, first), (most, last) = there[0], there[-1]
    return f"{last / first:.1f} ({most / least:g})"
