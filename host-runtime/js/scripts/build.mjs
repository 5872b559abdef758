// Makes dist/: what the package has.
import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

process.chdir(new URL('..', import.meta.url).pathname);

function run(...command) {
    const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
}

/** A script in one piece. */
async function bundle(entry, options) {
    const settings = { bundle: true, format: 'iife', target: 'es2022', legalComments: 'none', write: false, logOverride: { 'empty-import-meta': 'silent' } };
    const { outputFiles } = await build({ entryPoints: [entry], ...settings, ...options });
    return outputFiles[0].text;
}

rmSync('dist', { recursive: true, force: true });
run('scripts/generate.mjs', '--check');
// A worker that a page starts has to come from the page itself: it is a text in one of our modules.
for (const name of ['ticker', 'sampler']) {
    const text = await bundle(`src/browser/${name}-thread.ts`, { minify: true });
    const doc = `/** The text of ${name}-thread.ts in one piece, made by scripts/build.mjs. */`;
    writeFileSync(`src/browser/${name}-source.ts`, `${doc}\nexport const ${name.toUpperCase()}_SOURCE: string = ${JSON.stringify(text)};\n`);
}
run('node_modules/typescript/bin/tsc');
copyFileSync('core/core.wasm', 'dist/core.wasm');
const page = await bundle('dist/browser/register.js', { minify: true });
writeFileSync('dist/kperf.js', page);
// `kperf-wasm serve` has the same inside; a test says where it hasn't.
if (process.argv.includes('--bundle')) writeFileSync('bundle/kperf.js', page);
for (const licence of ['LICENSE-APACHE', 'LICENSE-MIT']) copyFileSync(`../../${licence}`, licence);
