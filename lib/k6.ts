import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import { setTimeout } from 'k6/timers';
import { builtInPrompts, type PromptSource, promptsFrom } from './prompts.ts';
import type { Prompt } from './protocol.ts';
import type { Settings } from './settings.ts';

/**
 * Something worked out in the first init and kept once for all VUs, as JSON: parsing settings in each of 512 VUs would cost
 * 60 MB. Each call makes a copy, so a VU that never asks holds nothing.
 */
export function shared<Value>(name: string, make: () => Value): () => Value {
  const list = sharedList(name, () => [make()]);
  return () => {
    const [value] = list;
    if (value === undefined) throw new Error(`k6 lost the shared ${name}`);
    return value;
  };
}

/** The same for a list whose items are asked for one by one. */
export function sharedList<Item>(name: string, make: () => readonly Item[]): readonly Item[] {
  let fault: unknown = null;
  const list = new SharedArray<Item>(name, () => {
    isSharing = true;
    try {
      return [...make()];
    } catch (error) {
      fault = error;
      return [];
    } finally {
      isSharing = false;
    }
  });
  // An abort inside the callback would come out as an exception with a stack (107): it waits until that is over.
  if (waitingFaults.length > 0) abort(waitingFaults);
  if (fault !== null) throw fault;
  return list;
}

/** The part of the settings that says which prompts are sent. */
export type PromptSettings = Pick<Settings, 'api' | 'inputTokens' | 'prompts'>;

/** The prompts of the settings; those of a file are one list for all VUs, since it may be larger than all else they hold. */
export function sharedPrompts(settings: PromptSettings, readFile: () => readonly Prompt[]): PromptSource {
  return settings.prompts === null ? builtInPrompts(settings) : promptsFrom(sharedList('prompts', readFile));
}

let isSharing = false;
let waitingFaults: readonly string[] = [];

/** Ends the test with every fault on a line of its own (exit 108); an exception would be one line with a stack. */
export function abort(faults: readonly string[]): never {
  if (isSharing) {
    waitingFaults = faults;
    throw new Error('faults that are told after sharing');
  }
  for (const fault of faults) console.error(fault);
  exec.test.abort(`tokramp: ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}, nothing was measured`);
  throw new Error('unreachable: exec.test.abort throws');
}

/** k6's options as it resolved them, with what command line and environment made of ours. */
export const resolvedOptions = () => exec.test.options;

/** Lets other work of setup() go on for some seconds. */
export const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
