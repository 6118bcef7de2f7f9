// An esbuild plugin: a module called *-once.ts becomes a function that is evaluated when it is first called.
//
// k6 evaluates a script's top level in every VU, and each function there costs about 0.9 kB: what only setup(), the options
// and the summary need would take 0.4 MB in each of hundreds of VUs. Modules that the VU's own code has too stay outside and
// are handed in, so nothing is in the bundle twice.
import { basename, dirname, resolve } from 'node:path';
import { build } from 'esbuild';

const ONCE = /-once\.ts$/;

/** The plugin; `options` are the main build's, which the inner builds share. */
export function onceModules(options) {
  return {
    name: 'once-modules',
    setup(main) {
      main.onLoad({ filter: ONCE }, async ({ path }) => {
        const outside = await modulesOf(main.initialOptions.entryPoints, options);
        return { ...(await wrapped(path, outside, options)), loader: 'js', resolveDir: dirname(path) };
      });
    },
  };
}

/** Absolute paths of the modules that the entry points reach without passing a once-module. */
async function modulesOf(entryPoints, options) {
  const { metafile } = await build({
    ...options,
    entryPoints,
    outdir: 'unused',
    write: false,
    metafile: true,
    plugins: [
      { name: 'stop', setup: (inner) => inner.onLoad({ filter: ONCE }, () => ({ contents: '', loader: 'js' })) },
    ],
  });
  return new Set(
    Object.keys(metafile.inputs)
      .filter((input) => !ONCE.test(input))
      .map((input) => resolve(options.absWorkingDir, input)),
  );
}

/** The module's source: a function of its name (ramp-once.ts exports rampOnce) that evaluates it and calls the real one. */
async function wrapped(path, outside, options) {
  const handedIn = new Set();
  const inner = (banner, footer) =>
    build({
      ...options,
      entryPoints: [path],
      outfile: 'unused.js',
      write: false,
      format: 'cjs',
      sourcemap: 'inline',
      banner: { js: banner },
      footer: { js: footer },
      define: { 'import.meta.resolve': 'resolveBesideScript' },
      plugins: [handIn(outside, handedIn)],
    });
  await inner('', ''); // finds what must be handed in; the banner stands in the source map, so it must be known by then
  const name = basename(path, '.ts').replace(/-(.)/g, (_, letter) => letter.toUpperCase());
  const modules = await Promise.all(
    [...handedIn].map(async (module) => ({ module, names: await exportsOf(resolve(dirname(path), module), options) })),
  );
  const { outputFiles, warnings } = await inner(bannerFor(modules, name), footerFor(name));
  return { contents: outputFiles[0].text, warnings };
}

/** Leaves our modules that are outside anyway to be handed in. */
function handIn(outside, handedIn) {
  return {
    name: 'hand-in',
    setup(inner) {
      inner.onResolve({ filter: /./ }, ({ path, resolveDir, kind }) => {
        if (kind === 'entry-point') return null;
        // esbuild reads every property of what is handed in, and k6/execution throws on some of them in init.
        if (path === 'k6' || path.startsWith('k6/'))
          return { errors: [{ text: 'reach k6 through a module that VUs have too' }] };
        if (!outside.has(resolve(resolveDir, path))) return null;
        handedIn.add(path);
        return { path, external: true };
      });
    },
  };
}

/** Names that a module exports. */
async function exportsOf(path, options) {
  const { metafile } = await build({
    ...options,
    entryPoints: [path],
    bundle: false,
    write: false,
    metafile: true,
    external: undefined,
  });
  return Object.values(metafile.outputs).flatMap((output) => output.exports);
}

/** The names are imported one by one and put together when called: a namespace object would hold a closure a name in every VU. */
const bannerFor = (modules, name) =>
  [
    ...modules.map(({ module, names }, index) => {
      const list = names.map((each) => `${each} as ${each}From${index}`);
      return `import { ${list.join(', ')} } from ${JSON.stringify(module)};`;
    }),
    'let evaluated;',
    `export function ${name}() {`,
    '  if (evaluated !== undefined) return evaluated;',
    '  const resolveBesideScript = (path) => import.meta.resolve(path);',
    '  const handedIn = {',
    ...modules.map(({ module, names }, index) => {
      const list = names.map((each) => `${each}: ${each}From${index}`);
      return `    ${JSON.stringify(module)}: { ${list.join(', ')} },`;
    }),
    '  };',
    '  const module = { exports: {} };',
    '  const require = (wanted) => handedIn[wanted];',
  ].join('\n');

const footerFor = (name) => `  evaluated = module.exports.${name}();\n  return evaluated;\n}`;
