/** Where files are: flags and environment against the working directory, defaults against the script. */

/** An absolute path; null where it is relative and nobody tells the working directory (k6 knows only the PWD variable). */
export function absolutePath(path: string, workingDirectory: string | undefined): string | null {
  if (path.startsWith('/')) return path;
  if (workingDirectory === undefined || !workingDirectory.startsWith('/')) return null;
  return normalise(`${workingDirectory}/${path}`);
}

/** The path of a file URL such as import.meta.resolve() gives. */
export function pathOfUrl(url: string): string {
  return normalise(decodeURIComponent(url.replace(/^file:\/\//, '')));
}

/** Takes "." and ".." out of an absolute path, and a slash off its end. */
function normalise(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}
