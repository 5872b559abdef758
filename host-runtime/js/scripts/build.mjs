// Builds dist/.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
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
    return outputFiles[0].text;
}

rmSync('dist', { recursive: true, force: true });
writeFileSync('src/common/wasm-source.ts', text);
// A page's workers start from a blob, so their scripts are texts in our modules.
for (const name of ['ticker', 'sampler', 'rewriter']) {
    const text = await bundle(`src/browser/${name}-thread.ts`, { minify: true });
    const doc = `/** The bundled text of ${name}-thread.ts, made by scripts/build.mjs. */`;
    writeFileSync(`src/browser/${name}-source.ts`, `${doc}\nexport const ${name.toUpperCase()}_SOURCE: string = ${JSON.stringify(text)};\n`);
}
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
