import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pickMetric } from '../lib/exposition.ts';

test('a metric is summed over its label sets, in either spelling, with and without labels and timestamps', () => {
  const rows: readonly [string, number | null][] = [
    ['sglang:x_total{a="1"} 3.0', 3],
    ['sglang_x_total{a="1"} 3', 3],
    ['sglang:x_total 3', 3],
    ['sglang:x_total{a="1"} 3\nsglang:x_total{a="2"} 4e2', 403],
    ['sglang:x_total{a="}"} 3 1700000000', 3],
    ['# TYPE sglang:x_total counter\nsglang:x_total_more 9', null],
    ['sglang:x_total{a="1"} NaN', null],
    ['', null],
  ];
  for (const [page, expected] of rows) assert.equal(pickMetric(page, 'sglang:x_total'), expected, page);
});
