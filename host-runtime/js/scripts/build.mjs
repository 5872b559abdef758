// Makes dist/: what the package has. Says where the sources and what is generated from others differ.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';

const here = new URL('..', import.meta.url);
process.chdir(here.pathname);

function run(...command) {
    const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
}

rmSync('dist', { recursive: true, force: true });
run('scripts/generate.mjs', '--check');
run('node_modules/typescript/bin/tsc');
