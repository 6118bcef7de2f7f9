import { SETTINGS } from '../lib/setting-table.ts';
import { ConfigError } from '../lib/settings.ts';
import { TOOL } from '../lib/version.ts';
import { type Arguments, parseArguments } from './arguments.ts';
import { EXIT, EXIT_MEANINGS, type ExitCode, type ExitName } from './exit-codes.ts';
import { renderHelp } from './help.ts';
import { CHECKOUT, type FoundK6, findK6 } from './k6.ts';
import { k6Command } from './k6-command.ts';
import { plan } from './plan-command.ts';
import { report } from './report-command.ts';
import { baseline, discover, ramp, smoke } from './scenario-commands.ts';
import { openSession, type Session } from './session.ts';
import { simCommand } from './sim.ts';
import { start } from './start-command.ts';

interface Command {
  readonly summary: string;
  readonly usage: string;
  /** True where the command reads settings; then --help lists them. */
  readonly takesSettings: boolean;
  readonly positional: readonly string[];
  run(given: Arguments): Promise<ExitCode> | ExitCode;
}

type Scenario = (session: Session, k6: FoundK6) => Promise<ExitCode>;

const scenarioCommand = (name: string, summary: string, run: Scenario): Command => ({
  summary,
  usage: `npm run ${name} -- [--setting value ...]`,
  takesSettings: true,
  positional: [],
  run: async (given) => {
    const session = openSession(given, process.env);
    return run(session, await findK6({ environment: process.env, checkout: CHECKOUT }));
  },
});

const COMMANDS: Readonly<Record<string, Command>> = {
  start: {
    summary: 'Runs discover and ramp on eight simulated servers on this machine, with the real k6.',
    usage: 'npm start',
    takesSettings: false,
    positional: [],
    run: start,
  },
  smoke: scenarioCommand('smoke', 'Sends one request to every server and checks every answer.', smoke),
  discover: scenarioCommand('discover', 'Warms every server, finds its limit and R, and writes the plan.', discover),
  plan: {
    summary: 'Prints what a ramp would do and cost; sends no load.',
    usage: 'npm run plan -- [--setting value ...]',
    takesSettings: true,
    positional: [],
    run: (given) => plan(openSession(given, process.env)),
  },
  ramp: scenarioCommand(
    'ramp',
    'Ramps every server from one request in flight to its limit and prints the curve.',
    ramp,
  ),
  baseline: scenarioCommand('baseline', 'Measures the batch-1 number of every server, first and warm.', baseline),
  report: {
    summary: 'Prints a run result as text.',
    usage: 'npm run report -- FILE',
    takesSettings: false,
    positional: ['FILE'],
    run: ({ positional: [path] }) => {
      if (path === undefined) throw new ConfigError(['report: name a result file, for example results/ramp-....json']);
      return report(path);
    },
  },
};

/** Commands that read their own arguments. */
const OWN_ARGUMENTS: Readonly<Record<string, (argv: readonly string[]) => Promise<number>>> = {
  sim: simCommand,
  k6: k6Command,
};

const exitCodes = (Object.keys(EXIT) as ExitName[]).map((name) => ({ code: EXIT[name], meaning: EXIT_MEANINGS[name] }));

function help(name: string, command: Command): string {
  return renderHelp({
    usage: command.usage,
    summary: command.summary,
    commands: [],
    options: [],
    settings: command.takesSettings ? SETTINGS : [],
    exitCodes: name === 'report' ? [] : exitCodes,
  });
}

function overview(): string {
  const commands = [
    ...Object.entries(COMMANDS).map(([name, { summary }]) => ({ name, summary })),
    { name: 'sim', summary: 'Starts simulated SGLang servers and prints the TOKRAMP_SERVERS to use.' },
    { name: 'k6', summary: 'Says which k6 is used; brings the pinned one where there is none.' },
  ];
  const usage = 'npm run COMMAND -- [--setting value ...]';
  return renderHelp({ usage, summary: TOOL, commands, options: [], settings: [], exitCodes });
}

async function main([name, ...argv]: readonly string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h') {
    process.stdout.write(overview());
    return name === undefined ? EXIT.toolError : EXIT.ok;
  }
  const own = OWN_ARGUMENTS[name];
  if (own !== undefined) return own(argv);
  const command = COMMANDS[name];
  if (command === undefined)
    throw new ConfigError([
      `"${name}" is no command; valid: ${[...Object.keys(COMMANDS), ...Object.keys(OWN_ARGUMENTS)].join(', ')}`,
    ]);
  const allowed = { settings: command.takesSettings ? SETTINGS : [], options: [], positional: command.positional };
  const given = parseArguments(argv, { allowed });
  if (given.options['help'] !== undefined) {
    process.stdout.write(help(name, command));
    return EXIT.ok;
  }
  return command.run(given);
}

/** Whoever reads us may stop (`| head`): that ends the printing and nothing else. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** Errors whose message is all that a user needs; of anything else the stack is shown. */
const SPOKEN = ['ConfigError', 'K6Error', 'PlanError', 'ResultError', 'PromptFileError'];

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const spoken = error instanceof Error && SPOKEN.includes(error.name);
  console.error(spoken ? error.message : error);
  process.exitCode = EXIT.toolError;
}
