/** Credentials of a URL as a header: no request, log line or error text then ever holds a URL with a password in it. */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The URL without `user:password@`, and the Authorization header that stands for it; null where there is none. */
export function withoutCredentials(url: string): { readonly url: string; readonly authorization: string | null } {
  const [, scheme = '', userInfo, rest = ''] = /^(https?:\/\/)(?:([^/?#@]*)@)?([\s\S]*)$/.exec(url) ?? [];
  if (userInfo === undefined) return { url, authorization: null };
  const credentials = userInfo.includes(':') ? userInfo : `${userInfo}:`;
  return { url: scheme + rest, authorization: `Basic ${base64(bytesOf(credentials))}` };
}

/** Percent signs with two hexadecimal digits are one byte, as in every URL; everything else is itself in UTF-8. */
function bytesOf(text: string): readonly number[] {
  return (text.match(/%[0-9a-f]{2}|[\s\S]/giu) ?? []).flatMap((part) => {
    if (part.length === 3) return [Number.parseInt(part.slice(1), 16)];
    if (part.charCodeAt(0) < 0x80) return [part.charCodeAt(0)];
    return [...encodeURIComponent(part).matchAll(/%(..)/g)].map(([, digits = '']) => Number.parseInt(digits, 16));
  });
}

function base64(bytes: readonly number[]): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const [first = 0, second = 0, third = 0] = bytes.slice(at, at + 3);
    const bits = (first << 16) | (second << 8) | third;
    text += [18, 12, 6, 0].map((shift) => ALPHABET[(bits >> shift) & 63]).join('');
  }
  const missing = (3 - (bytes.length % 3)) % 3;
  return text.slice(0, text.length - missing) + '='.repeat(missing);
}
