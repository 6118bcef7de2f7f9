/** Version of the result file's form; older forms are brought up to it by one-step migrations. */
export const SCHEMA_VERSION = 1;

/** Figures are stored with 9 significant digits, so that engines whose last digits differ write the same file. */
export function stored(value: number): number {
  return Number(value.toPrecision(9));
}
