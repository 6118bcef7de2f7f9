/** Starts llama.cpp's server, tells its process group and goes on until it is killed. */
import { CHECKOUT } from '../../cli/k6.ts';
import { installLlamaCpp } from './install.ts';
import { startLlamaCpp } from './servers.ts';

const report = (line: string) => console.error(line);
const server = await startLlamaCpp(await installLlamaCpp({ checkout: CHECKOUT, report }), { slots: 1, report });
console.log(server.pid);
setInterval(() => {}, 60_000);
