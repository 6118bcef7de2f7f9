import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attribute, levelOf, type Window } from '../lib/attribution.ts';
import { tokens } from '../lib/units.ts';

const WINDOWS: readonly Window[] = [
  { tag: 'l0', windowStart: 10, windowEnd: 20 },
  { tag: 'l1', windowStart: 25, windowEnd: 40 },
];

const shares = (start: number, end: number, count: number) =>
  attribute({ start, end, tokens: tokens(count) }, WINDOWS).map((share) => [share.tag, share.tokens, share.busy]);

test('a request gives each window the part of its tokens that its overlap is of its duration', () => {
  const rows: readonly [string, number, number, readonly (readonly [string, number, number])[]][] = [
    ['inside one window', 11, 15, [['l0', 80, 4]]],
    ['exactly the window', 10, 20, [['l0', 80, 10]]],
    ['before every window', 1, 5, [['outside', 80, 4]]],
    ['touching a window from outside', 5, 10, [['outside', 80, 5]]],
    [
      'half of it in a window',
      15,
      25,
      [
        ['l0', 40, 5],
        ['outside', 40, 5],
      ],
    ],
    [
      'over the gap between two',
      15,
      35,
      [
        ['l0', 20, 5],
        ['l1', 40, 10],
        ['outside', 20, 5],
      ],
    ],
    [
      'longer than both',
      0,
      50,
      [
        ['l0', 16, 10],
        ['l1', 24, 15],
        ['outside', 40, 25],
      ],
    ],
  ];
  for (const [name, start, end, expected] of rows) assert.deepEqual(shares(start, end, 80), expected, name);
});

test('the shares add up to the request, for any request', () => {
  // A fixed linear congruential sequence, so that a failure can be repeated.
  let seed = 7;
  const random = (): number => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  for (let round = 0; round < 5000; round += 1) {
    const start = random() * 45;
    const end = start + random() * 45;
    const count = Math.ceil(random() * 4096);
    const parts = attribute({ start, end, tokens: tokens(count) }, WINDOWS);
    const sum = parts.reduce((total, part) => total + part.tokens, 0);
    const busy = parts.reduce((total, part) => total + part.busy, 0);
    assert.ok(Math.abs(sum - count) <= count * 1e-9, `tokens of ${start}..${end}`);
    assert.ok(Math.abs(busy - Math.max(end - start, 0.001)) <= 1e-9 * 50, `time of ${start}..${end}`);
    assert.ok(
      parts.every((part) => part.tokens >= 0 && part.busy >= 0),
      'no share is negative',
    );
  }
});

test('a request of no length counts once, with all its tokens', () => {
  assert.deepEqual(shares(5, 5, 3), [['outside', 3, 0.001]]);
  const inside = attribute({ start: 12, end: 12, tokens: tokens(3) }, WINDOWS);
  assert.equal(
    inside.reduce((sum, share) => sum + share.tokens, 0),
    3,
  );
});

test('a request belongs to the level in which it started, and to its R only after the stagger', () => {
  const levels = [
    { tag: 'l0', staggerStart: 0, holdStart: 2, holdEnd: 8 },
    { tag: 'l1', staggerStart: 8, holdStart: 11, holdEnd: 20 },
    { tag: 'closing', staggerStart: 26, holdStart: 28, holdEnd: 34 },
  ];
  const rows: readonly [number, string, boolean][] = [
    [0, 'l0', false],
    [1.999, 'l0', false],
    [2, 'l0', true],
    [7.999, 'l0', true],
    [8, 'l1', false],
    [11, 'l1', true],
    [20, 'outside', false],
    [25.9, 'outside', false],
    [28, 'closing', true],
    [34, 'outside', false],
  ];
  for (const [start, tag, settled] of rows)
    assert.deepEqual(levelOf(start, levels), { tag, settled }, `start ${start}`);
});
