/** The servers of the fleet: from a list or JSON to names and URLs, without ever showing a password. */
import { nearest } from './nearest.ts';
import {
  isObject,
  jsonFromText,
  type Kind,
  type Reading,
  shown,
  type ValueFault,
  wholeNumber,
} from './setting-kinds.ts';

/** One server that load is sent to. */
export interface ServerSpec {
  /** Short and stable: in every tag, table and file. */
  readonly name: string;
  /** Scheme, host and port without a slash at the end; may hold `user:password@`, so show it through `safeUrl` only. */
  readonly url: string;
  readonly gpus: number;
}

const URL_SHAPE = /^(https?):\/\/(?:[^/?#@\s]+@)?([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/?$/i;
const URL_RULE = 'http:// or https://, a host and a port, without a path';
const NAME = /^[a-z0-9-]{1,32}$/;
const NAME_RULE = 'named by 1 to 32 of a-z, 0-9 and "-"';
const LIST_RULE =
  'a list of http://host:port or name=http://host:port separated by commas, or JSON [{"name", "url", "gpus"}]';
const PASSWORD_RULE =
  'in user:password@ write @ as %40, a comma as %2C, / as %2F, ? as %3F, # as %23 and a space as %20';
const KEYS = ['name', 'url', 'gpus'];

/** The URL without credentials, query and fragment. */
export function safeUrl(url: string): string {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)?([\s\S]*)$/i.exec(url) ?? [];
  const head = rest.split(/[?#]/, 1)[0] ?? '';
  if (head.includes('@')) return scheme + head.slice(head.lastIndexOf('@') + 1);
  // "http://user:pass?word@host": the question mark belongs to an unescaped password, nothing before the @ may be shown.
  const isHost = /^(?:[^:/@]*|\[[^\]]*\])(?::\d*)?(?:\/|$)/.test(head);
  return isHost ? scheme + head : scheme + (rest.slice(rest.lastIndexOf('@') + 1).split(/[?#]/, 1)[0] ?? '');
}

/** Kind of the setting that names the fleet. */
export function servers(): Kind<readonly ServerSpec[]> {
  return { placeholder: 'LIST', rule: LIST_RULE, fromText: listFromText, read: readServers };
}

function listFromText(text: string): unknown {
  return /^[[{]/.test(text) ? jsonFromText(text) : text.split(',').map((item) => item.trim());
}

function readServers(value: unknown): Reading<readonly ServerSpec[]> {
  // One unescaped comma or @ in a password moves the rest of it into the next item: hide them all then.
  const mayShow = !shown(value).includes('@');
  if (!Array.isArray(value) || value.length === 0) {
    return { faults: [{ part: null, received: mayShow ? shown(value) : null, rule: LIST_RULE, nearest: null }] };
  }
  const readings = value.map((item: unknown, at) => readServer(item, { at, mayShow }));
  const fleet = readings.flatMap((reading) => ('value' in reading ? [reading.value] : []));
  const faults = readings.flatMap((reading) => ('faults' in reading ? reading.faults : []));
  // Positions in messages are only right while no server was left out.
  const all = faults.length > 0 ? faults : repetitions(fleet);
  return all.length > 0 ? { faults: all } : { value: fleet };
}

interface Place {
  readonly at: number;
  readonly mayShow: boolean;
}

function readServer(item: unknown, place: Place): Reading<ServerSpec> {
  const fields = typeof item === 'string' ? fieldsOf(item) : item;
  if (!isObject(fields)) return { faults: [faultOf(item, place, { rule: 'a text or an object', nearest: null })] };
  const faults: ValueFault[] = Object.keys(fields)
    .filter((key) => !KEYS.includes(key))
    .map((key) => faultOf(key, place, { rule: 'name, url or gpus', nearest: nearest(key, KEYS) }));
  const { name = `s${place.at}`, url, gpus = 1 } = fields;
  if (typeof name !== 'string' || !NAME.test(name)) {
    faults.push(faultOf(name, place, { rule: NAME_RULE, nearest: repairName(shown(name)) }));
  }
  const port = typeof url === 'string' ? URL_SHAPE.exec(url)?.[3] : undefined;
  const isPort = port === undefined || (Number(port) >= 1 && Number(port) <= 65535);
  if (typeof url !== 'string' || !URL_SHAPE.test(url) || !isPort) {
    const rule = isPort ? URL_RULE : 'a URL whose port is from 1 to 65535';
    faults.push(faultOf(url, place, { rule, nearest: isPort ? repairUrl(shown(url)) : null }));
  }
  const count = wholeNumber({ min: 1, max: 1024, unit: 'gpus' }).read(gpus);
  if ('faults' in count) {
    faults.push(...count.faults.map((fault) => faultOf(gpus, place, { rule: fault.rule, nearest: fault.nearest })));
  }
  if (faults.length > 0 || typeof name !== 'string' || typeof url !== 'string' || 'faults' in count) return { faults };
  return { value: { name, url: withoutSlash(url), gpus: count.value } };
}

/** "name=url" or "url"; the = of a password is not a name's, as a scheme stands before it. */
function fieldsOf(item: string): Record<string, unknown> {
  const [, name, url] = /^([^=:/@]*)=(.*)$/.exec(item) ?? [];
  return name === undefined ? { url: item } : { name: name.trim(), url: (url ?? '').trim() };
}

function faultOf(received: unknown, place: Place, expected: { rule: string; nearest: string | null }): ValueFault {
  return {
    part: `server ${place.at + 1}`,
    // A query may hold a token.
    received: place.mayShow ? shown(received).replace(/\?[\s\S]*$/, '?…') : null,
    rule: place.mayShow ? expected.rule : `${expected.rule}; ${PASSWORD_RULE}`,
    nearest: place.mayShow ? expected.nearest : null,
  };
}

const withoutSlash = (url: string): string =>
  url.replace(/\/$/, '').replace(/^https?/i, (scheme) => scheme.toLowerCase());

function repairName(name: string): string | null {
  const repaired = name
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 32);
  return NAME.test(repaired) ? repaired : null;
}

/** What "10.0.0.5:30000", "htp://a:30000" or "http://a:30000/v1" most likely meant. */
function repairUrl(url: string): string | null {
  const [, scheme, rest = ''] = /^(?:([a-z]*):?\/\/?)?(.*)$/i.exec(url.trim()) ?? [];
  const candidate = `${nearest(scheme ?? 'http', ['http', 'https']) ?? 'http'}://${rest.split(/[/?#]/, 1)[0]}`;
  if (URL_SHAPE.test(candidate)) return candidate;
  const parts = url.trim().split(/[\s;]+/);
  return parts.length > 1 && parts.every((part) => URL_SHAPE.test(part)) ? parts.join(',') : null;
}

/** Servers or names that occur twice: the same GPU would be loaded and counted as two. */
function repetitions(fleet: readonly ServerSpec[]): readonly ValueFault[] {
  const seenUrls = new Map<string, number>();
  const seenNames = new Map<string, number>();
  const faults: ValueFault[] = [];
  for (const [at, server] of fleet.entries()) {
    const url = identityOf(server.url);
    const sameUrl = seenUrls.get(url);
    const sameName = seenNames.get(server.name);
    const part = `server ${at + 1}`;
    if (sameUrl !== undefined) {
      const rule = `a server of its own; it repeats server ${sameUrl + 1}`;
      faults.push({ part, received: safeUrl(server.url), rule, nearest: null });
    }
    if (sameName !== undefined) {
      const rule = `named differently from server ${sameName + 1}`;
      faults.push({ part, received: server.name, rule, nearest: freeName(fleet) });
    }
    seenUrls.set(url, sameUrl ?? at);
    seenNames.set(server.name, sameName ?? at);
  }
  return faults;
}

function identityOf(url: string): string {
  const [, scheme = '', host = '', port] = URL_SHAPE.exec(url) ?? [];
  const name = host.toLowerCase() === 'localhost' ? '127.0.0.1' : host.toLowerCase();
  return `${name}:${Number(port ?? (scheme === 'https' ? 443 : 80))}`;
}

function freeName(fleet: readonly ServerSpec[]): string {
  let at = 0;
  while (fleet.some((server) => server.name === `s${at}`)) at += 1;
  return `s${at}`;
}
