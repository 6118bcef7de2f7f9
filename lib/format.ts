/** How figures are written everywhere: short, with their unit, never "NaN". */

/** A count with thousands separators: 5,896. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** A rate with one decimal below 1,000 and none above; an absent one is a dash. */
export function rate(value: number | null): string {
  if (value === null) return '-';
  return value < 999.95 ? value.toFixed(1) : count(value);
}

/** A share as a percentage with one decimal; an absent one is a dash. */
export function percent(value: number | null): string {
  return value === null ? '-' : `${(value * 100).toFixed(1)} %`;
}

/** Seconds as a person says them: 2.14 s, 52 s, 14 min 5 s, 2 h 3 min. */
export function duration(seconds: number): string {
  if (seconds < 9.995) return `${seconds.toFixed(2)} s`;
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 120) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Rows as aligned columns: the first to the left, the others to the right. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows.reduce<number[]>(
    (found, row) => row.map((cell, column) => Math.max(found[column] ?? 0, cell.length)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

const isControl = (code: number): boolean =>
  code < 32 || (code >= 127 && code < 160) || code === 0x2028 || code === 0x2029;

/** A name that came from outside, without characters that would steer a terminal or break the line. */
export function printable(text: string): string {
  return [...text]
    .map((character) => (isControl(character.charCodeAt(0)) ? ' ' : character))
    .join('')
    .slice(0, 200);
}
