import type { Histogram } from './histogram.ts';

/** Which labels every sample of a family carries besides its own. */
export type Scope = 'scheduler' | 'http' | 'plain';

export type Labels = Readonly<Record<string, string>>;

/** One metric family; a family without samples is not written, as SGLang's counters before their first use. */
export interface Family {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly scope: Scope;
  readonly help: string;
  readonly samples: readonly { readonly labels: Labels; readonly value: number | Histogram }[];
}

const SCHEDULER: Labels = { engine_type: 'unified', moe_ep_rank: '0', pp_rank: '0', tp_rank: '0' };
const SCOPES: Readonly<Record<Scope, Labels>> = { scheduler: SCHEDULER, http: { engine_type: 'unified' }, plain: {} };

/** Families as Prometheus text 0.0.4. */
export function renderFamilies(families: readonly Family[], model: string): string {
  const lines: string[] = [];
  for (const family of families) {
    if (family.samples.length === 0) continue;
    lines.push(`# HELP sglang:${family.name} ${family.help}`, `# TYPE sglang:${family.name} ${family.type}`);
    const common = family.scope === 'plain' ? {} : { ...SCOPES[family.scope], model_name: model };
    for (const { labels, value } of family.samples) {
      const all = { ...common, ...labels };
      if (typeof value === 'number') lines.push(`sglang:${family.name}${braces(all)} ${number(value)}`);
      else lines.push(...histogramLines(family.name, all, value));
    }
  }
  return `${lines.join('\n')}\n`;
}

function histogramLines(name: string, labels: Labels, histogram: Histogram): string[] {
  const lines = [`sglang:${name}_sum${braces(labels)} ${number(histogram.sum)}`];
  let below = 0;
  for (const [index, bound] of histogram.bounds.entries()) {
    below += histogram.counts[index] ?? 0;
    lines.push(`sglang:${name}_bucket${braces({ ...labels, le: number(bound) })} ${number(below)}`);
  }
  lines.push(`sglang:${name}_bucket${braces({ ...labels, le: '+Inf' })} ${number(histogram.count)}`);
  lines.push(`sglang:${name}_count${braces(labels)} ${number(histogram.count)}`);
  return lines;
}

function braces(labels: Labels): string {
  const pairs = Object.keys(labels)
    .sort()
    .map((key) => `${key}="${escapeLabel(labels[key] ?? '')}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escapeLabel = (value: string): string => value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');

/** Numbers as Python's client writes them: whole ones with a decimal point, from a million with an exponent. */
function number(value: number): string {
  if (!Number.isInteger(value)) return String(value);
  if (value !== 0 && Math.abs(value) >= 1e6) return value.toExponential().replace(/e\+(\d)$/, 'e+0$1');
  return `${value}.0`;
}
