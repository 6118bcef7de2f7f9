import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECKOUT } from '../../cli/k6.ts';
import { folderFor } from '../e2e-fleet.ts';
import { installLlamaCpp } from './install.ts';
import { type EngineServer, startLlamaCpp } from './servers.ts';
import { announce, assertAllCompleted, report, runIn, runSuiteTo } from './suite-on-engines.ts';

const SLOTS = 4;
/** Answers of a second and more: what the machine does meanwhile matters less. */
const MAX_TOKENS = 1024;

const environment = {
  TOKRAMP_MAX_TOKENS: String(MAX_TOKENS),
  TOKRAMP_LIMIT: String(SLOTS),
  TOKRAMP_LEVELS: '1,2,4',
  TOKRAMP_CLOSING_BASELINE: 'false',
};

/** All output tokens that the server has counted; its samples carry no labels. */
async function writtenBy(server: EngineServer): Promise<number> {
  const [, tokens] = /^llamacpp:tokens_predicted_total (\d+)$/m.exec(await server.metrics()) ?? [];
  return Number(tokens);
}

for (const api of ['completions', 'chat']) {
  test(`llama.cpp is measured by ${api}, with the limit given by hand`, async (t) => {
    announce('llama-cpp', 1);
    const folder = await folderFor(t);
    const server = await startLlamaCpp(await installLlamaCpp({ checkout: CHECKOUT, report }), { slots: SLOTS, report });
    t.after(server.close);
    const suite = { servers: [server], folder, environment: { ...environment, TOKRAMP_API: api } };

    const smoke = await runSuiteTo(0, ['smoke'], suite);
    assert.match(
      smoke.join('\n'),
      /^ {2}s0 {2}ok {2}16 output tokens for \d+ input tokens in \d+\.\d\d s {2}llama\.cpp$/m,
    );
    assert.match(smoke.join('\n'), /s0: does not tell its load: whether it is idle is not known/);
    await runSuiteTo(0, ['discover'], suite);
    const before = await writtenBy(server);
    const lines = await runSuiteTo(0, ['ramp', '--plan', `${folder}/plan.json`], suite);
    for (const line of lines) t.diagnostic(line);
    const run = await runIn(folder);
    assert.deepEqual(
      run.ledger.map(({ answerTokens }) => answerTokens),
      [(await writtenBy(server)) - before],
    );
    assertAllCompleted(run);
    assert.deepEqual([run.plan.limit, run.plan.pool], [SLOTS, 'given']);
    assert.equal(run.servers[0]?.subject?.['engine'], 'llama.cpp');
    assert.match(lines.join('\n'), /\| llama\.cpp unknown version \|/);
    assert.match(lines.join('\n'), /\(limit 4, given\)/);
  });
}

test('a llama.cpp server does not tell its limit, and without one discover says what to do', async (t) => {
  const folder = await folderFor(t);
  const server = await startLlamaCpp(await installLlamaCpp({ checkout: CHECKOUT, report }), { slots: SLOTS, report });
  t.after(server.close);
  const lines = await runSuiteTo(5, ['discover'], { servers: [server], folder, environment: { TOKRAMP_API: 'chat' } });
  const wanted = 'set TOKRAMP_LIMIT to the most requests it holds at once';
  assert.ok(lines.some((line) => line.includes(`s0: the server does not tell its KV tokens`) && line.endsWith(wanted)));
});
