import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIT, EXIT_MEANINGS, exitCodeOf, type K6Ending, renderExitCodes } from '../cli/exit-codes.ts';

const fine: K6Ending = { k6Code: 0, signal: null, interrupted: false, hasCompleteResult: true, refused: false };

const table: readonly (readonly [sentence: string, ending: Partial<K6Ending>, code: number])[] = [
  ['a finished run whose claims hold is ok', {}, 0],
  ['a finished run with a refused claim is refused', { refused: true }, 3],
  ['a finished run without a complete result is a tool error', { hasCompleteResult: false }, 1],
  ['a refused claim does not hide that the result is incomplete', { hasCompleteResult: false, refused: true }, 1],
  ['a missed floor (99) is refused', { k6Code: 99 }, 3],
  ['a missed floor (99) without a complete result is a tool error', { k6Code: 99, hasCompleteResult: false }, 1],
  ['a setup that ran out of time (100) is a tool error', { k6Code: 100 }, 1],
  ['a teardown that ran out of time (101) is a tool error', { k6Code: 101 }, 1],
  ['invalid options (104) are a tool error', { k6Code: 104, hasCompleteResult: false }, 1],
  ['a signal that k6 itself took (105) is an interruption', { k6Code: 105 }, 130],
  ['an interruption (105) before any result is still an interruption', { k6Code: 105, hasCompleteResult: false }, 130],
  ['a script exception (107) is a tool error', { k6Code: 107, hasCompleteResult: false }, 1],
  ['a script exception (107) with a result left is still a tool error', { k6Code: 107 }, 1],
  ['an abort by preflight (108) is the fleet, without a result', { k6Code: 108, hasCompleteResult: false }, 5],
  ['an abort (108) is the fleet, with a result', { k6Code: 108, refused: true }, 5],
  ['a panic (109) is a tool error', { k6Code: 109 }, 1],
  ['a test marked as failed (110) is a tool error', { k6Code: 110 }, 1],
  ['any other failure of k6 (255) is a tool error', { k6Code: 255, hasCompleteResult: false }, 1],
  ['our own interruption wins over the code k6 ended with', { k6Code: 0, interrupted: true }, 130],
  ['our own interruption wins over a missed floor', { k6Code: 99, interrupted: true, refused: true }, 130],
  ['a k6 that we killed was interrupted', { k6Code: null, signal: 'SIGKILL', interrupted: true }, 130],
  ['a k6 killed by somebody else (out of memory) is a tool error', { k6Code: null, signal: 'SIGKILL' }, 1],
  ['a crash is a tool error', { k6Code: null, signal: 'SIGSEGV' }, 1],
  ['a k6 ended by SIGINT before it could trap it was interrupted', { k6Code: null, signal: 'SIGINT' }, 130],
  ['a k6 ended by SIGTERM before it could trap it was interrupted', { k6Code: null, signal: 'SIGTERM' }, 130],
];

for (const [sentence, ending, code] of table) {
  test(sentence, () => assert.equal(exitCodeOf({ ...fine, ...ending }), code));
}

test('every exit code has one meaning of one line, and no two share a number', () => {
  assert.deepEqual(Object.keys(EXIT_MEANINGS), Object.keys(EXIT));
  assert.equal(new Set(Object.values(EXIT)).size, Object.keys(EXIT).length);
  for (const meaning of Object.values(EXIT_MEANINGS)) assert.match(meaning, /^[^\n]{10,100}$/);
});

test('the help lists every code before its meaning', () => {
  const lines = renderExitCodes();
  assert.equal(lines.length, Object.keys(EXIT).length);
  assert.equal(lines[0], '    0  every claim holds, or is only flagged');
  assert.match(lines.at(-1) ?? '', /^ {2}130 {2}interrupted/);
});
