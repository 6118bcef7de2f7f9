import assert from 'node:assert/strict';
import { test } from 'node:test';
import { studentQuantile } from '../lib/student.ts';

test("Student's quantiles agree with published tables to the digits they give", () => {
  const rows: readonly [number, number, number][] = [
    [0.975, 2, 4.303],
    [0.975, 4, 2.776],
    [0.975, 7, 2.365],
    [0.975, 19, 2.093],
    [0.975, 30, 2.042],
    [0.99, 4, 3.747],
    [0.99, 13, 2.65],
    [0.99, 29, 2.462],
    [0.999, 5, 5.893],
    [0.999, 9, 4.297],
    [0.999, 19, 3.579],
    [0.999, 29, 3.396],
    [0.975, 1, 12.706],
  ];
  for (const [p, df, expected] of rows) {
    assert.ok(
      Math.abs(studentQuantile(p, df) - expected) <= 0.0005 + 1e-9,
      `p ${p}, df ${df}: ${studentQuantile(p, df)}`,
    );
  }
});
