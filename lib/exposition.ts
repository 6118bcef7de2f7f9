/** Prometheus text: just enough to pick one counter out of a page; a full parse costs 10 ms in a VU. */

/** The sum of a metric over its label sets, or null if the page does not have it; `sglang:` and `sglang_` are one name. */
export function pickMetric(page: string, name: string): number | null {
  const names = [name, name.replace(':', '_')];
  let sum: number | null = null;
  for (const line of page.split('\n')) {
    if (line.startsWith('#')) continue;
    const end = line.search(/[{ ]/);
    if (end < 0 || !names.includes(line.slice(0, end))) continue;
    const rest = line.slice(Math.max(end, line.lastIndexOf('}') + 1)).trim();
    const value = Number(rest.split(/\s+/)[0]);
    if (Number.isFinite(value)) sum = (sum ?? 0) + value;
  }
  return sum;
}
