// Builds dist/.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { minify } from 'terser';
import { text } from './embedded.mjs';

process.chdir(new URL('..', import.meta.url).pathname);

function run(...command) {
    const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
}

/** Bundles a script. */
async function bundle(entry, options) {
    const settings = { bundle: true, format: 'iife', target: 'es2022', legalComments: 'none', write: false, logOverride: { 'empty-import-meta': 'silent' } };
    const { outputFiles } = await build({ entryPoints: [entry], ...settings, ...options });
    if (!options.minify) return outputFiles[0].text;
    // esbuild's are 3 % larger. None of our functions is a constructor.
    return (await minify(outputFiles[0].text, { ecma: 2022, compress: { passes: 3, keep_fargs: false, hoist_funs: true, unsafe_arrows: true } })).code;
}

rmSync('dist', { recursive: true, force: true });
writeFileSync('src/common/wasm-source.ts', text);
// Our workers in a page start from a blob, so their script is a text in our modules.
const own = JSON.stringify(await bundle('src/browser/own-threads.ts', { minify: true }));
writeFileSync('src/browser/own-source.ts', `/** The bundled text of own-threads.ts, made by scripts/build.mjs. */\nexport const OWN_SOURCE: string = ${own};\n`);
// Hashing it in each process would take as long as compiling a small module.
const version = createHash('sha256').update(readFileSync('rewriter/rewriter.wasm')).digest('hex');
writeFileSync('src/common/hook/version-source.ts', `/** The SHA-256 of rewriter.wasm, made by scripts/build.mjs. */\nexport const REWRITER_VERSION = '${version}';\n`);
run('node_modules/typescript/bin/tsc');
for (const name of ['core', 'rewriter', 'reports']) copyFileSync(`${name}/${name}.wasm`, `dist/${name}.wasm`);
for (const [name, entry] of Object.entries({ kperf: 'register', worklet: 'worklet' })) {
    writeFileSync(`dist/${name}.js`, await bundle(`dist/browser/${entry}.js`, { minify: true }));
}
// The package has no dependencies: one file has the modules that `serve` needs, another their licences.
const contents = "module.exports = { send: require('send'), lookup: require('mime-types').lookup };";
const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: '.' }, bundle: true, format: 'cjs', platform: 'node', target: 'node20', legalComments: 'none', minify: true, write: false, metafile: true,
});
writeFileSync('dist/node/serve/send.cjs', outputFiles[0].contents);
const folders = new Set(Object.keys(metafile.inputs).map((path) => /^node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean));
const licences = [...folders].sort().map((folder) => {
    const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
    return `${folder.slice('node_modules/'.length)}\n\n${readFileSync(`${folder}/${file}`, 'utf8')}`;
});
writeFileSync('dist/node/serve/send-licences.txt', licences.join('\n\n'));
for (const licence of ['LICENSE-APACHE', 'LICENSE-MIT']) copyFileSync(`../../${licence}`, licence);
