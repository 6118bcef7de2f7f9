import assert from 'node:assert/strict';
import { test } from 'node:test';
import { duration, rate } from '../lib/format.ts';

const DURATIONS: readonly (readonly [number, string])[] = [
  [2.136, '2.14 s'],
  [9.994, '9.99 s'],
  [9.996, '10 s'],
  [119.4, '119 s'],
  [119.6, '2 min 0 s'],
  [179.7, '3 min 0 s'],
  [845, '14 min 5 s'],
  [7199.9, '2 h 0 min'],
];

for (const [seconds, text] of DURATIONS) {
  test(`${seconds} s are written ${text}: no part of it reaches 60`, () => assert.equal(duration(seconds), text));
}

test('a rate has a decimal only where it is written below 1,000', () => {
  assert.deepEqual([999.94, 999.96, 1234.5, null].map(rate), ['999.9', '1,000', '1,235', '-']);
});
