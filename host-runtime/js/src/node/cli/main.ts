#!/usr/bin/env node
/** `npx kperf-wasm report|view|flame|diff|rewrite|run|serve`. */

import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { rewrite, type RewriteOptions } from '../../common/hook/rewriter.js';
import { number, oneOf, onlyFile, PATTERNS, printable, PROBED, probed, printStatus, Usage } from '../cli-args.js';
import { printReport } from '../cli-report.js';
import { diff, flame, view } from './reports.js';
import { rewriterModule } from '../loading.js';
import { serve } from '../serve/command.js';

const HELP = `Where does the time go in a WebAssembly module?

  node --import kperf-wasm/register app.mjs     records the modules that a program loads (app.kperf)
  npx kperf-wasm report TRACE                   its functions, by self time
  npx kperf-wasm view TRACE                     a page with a timeline, a flame graph, tables; opens it
  npx kperf-wasm flame TRACE -o FILE.svg        a flame graph
  npx kperf-wasm diff BEFORE AFTER              what changed; several: A1 A2 A3 -- B1 B2 B3
  npx kperf-wasm rewrite MODULE -o FILE         a module with probes, for a page or another host
  npx kperf-wasm run MODULE [-- ARGUMENTS]      runs a WASI command, and reports
  npx kperf-wasm serve FOLDER                   serves a web app whose pages record

report: --format table|json, --limit N, --compensate
view: -o FILE.html, --no-open, --detail SPANS
flame: --reverse, --chart, --folded, --by time|calls
diff: --metric self|total|calls, --by function|path, --format table|json, --limit N
view, flame, diff: --only, --skip, --match, --depth N, --min-time 10us, --range 1ms~2ms, --lane N
rewrite: --only PATTERN, --skip PATTERN, --match auto|glob|regex|text, --plan FILE, --min-instructions N, --exports, --imports,
    --probe import|inline, --leaf time|count, --record trace|profile, --span-min off, --id-base N
run: --trace FILE (MODULE.kperf), --limit N; -q: no report; --only, --skip, --match, --plan, --imports, --probe, --record as in \`rewrite\`,
    --clock auto|precise|ticker[:PERIOD]|instructions
serve: --proxy http://HOST:PORT instead of FOLDER, --listen 127.0.0.1:8080, --allow-host NAME, --traces FOLDER, --otlp[=ENDPOINT],
    --no-isolation, --top N, --clock auto|precise|ticker[:PERIOD], --span-min 2ms|off, --allocations[=BYTES],
    --allocator malloc=FUNCTION, --no-callbacks MODULE, --closed, and as in \`rewrite\` --only, --skip, --match, --plan, --min-instructions,
    --exports, --imports, --leaf, --record, --probe (auto)

The Rust command of the same name, which is built with cargo, has more flags, and more subcommands: replay, graph, export, send, info.
`;

const REWRITE = {
    output: { type: 'string', short: 'o' },
    ...PROBED,
    probe: { type: 'string' },
    leaf: { type: 'string', default: 'time' },
    record: { type: 'string', default: 'trace' },
    'span-min': { type: 'string' },
    'id-base': { type: 'string', default: '0' },
} as const satisfies ParseArgsConfig['options'];

const REPORT = {
    format: { type: 'string', default: 'table' },
    limit: { type: 'string' },
    compensate: { type: 'boolean', default: false },
} as const satisfies ParseArgsConfig['options'];

const RUN = {
    trace: { type: 'string' },
    limit: { type: 'string', default: '30' },
    quiet: { type: 'boolean', short: 'q', default: false },
    ...PATTERNS,
    plan: { type: 'string' },
    imports: { type: 'boolean', default: false },
    probe: { type: 'string', default: 'auto' },
    record: { type: 'string', default: 'trace' },
    clock: { type: 'string', default: 'auto' },
} as const satisfies ParseArgsConfig['options'];

function runRewrite(args: string[]): void {
    const { values, positionals } = parseArgs({ args, options: REWRITE, allowPositionals: true });
    const path = onlyFile(positionals, 'module');
    const { output } = values;
    if (output === undefined) throw new Usage('name the rewritten module with -o FILE');
    const name = basename(path, '.wasm');
    const isProfile = oneOf('--record', values.record, 'trace', 'profile') === 'profile';
    if (values['span-min'] !== undefined && (!isProfile || values['span-min'] !== 'off')) throw new Usage('--span-min can only be `off`, with --record profile');
    if (isProfile && values.probe === 'import') throw new Usage('a profile has an inlined recorder; remove --probe import');
    const probe = isProfile ? (values['span-min'] === 'off' ? 'profile-without-spans' : 'profile') : oneOf('--probe', values.probe ?? 'import', 'import', 'inline');
    const options: RewriteOptions = {
        ...probed(values),
        probe,
        leaf: oneOf('--leaf', values.leaf, 'time', 'count'),
        id_base: number('--id-base', values['id-base']),
        module_name: name,
        description: args.filter((arg) => arg !== path && arg !== output && !/^(-o|--output)/.test(arg)).join(' '),
    };
    const wasm = readFileSync(path);
    const { wasm: rewritten, summary, refusal } = rewrite(rewriterModule(), wasm, options);
    if (refusal !== undefined) throw new Error(refusal);
    if (!rewritten || !summary) throw new Error(`\`${path}\` has probes already, or the filters select none of its functions`);
    writeFileSync(output, rewritten);
    process.stderr.write(`${path} -> ${output}: ${summary.probed} of ${summary.functions} functions probed, ${wasm.length} -> ${rewritten.length} bytes\n`);
    for (const warning of summary.warnings) printStatus(`warning: ${warning}`);
}

function runReport(args: string[]): void {
    const { values, positionals } = parseArgs({ args, options: REPORT, allowPositionals: true });
    const path = onlyFile(positionals, 'trace');
    const limit = values.limit === undefined ? undefined : number('--limit', values.limit);
    printReport(path, oneOf('--format', values.format, 'table', 'json') === 'json', limit, values.compensate);
}

/** The modification time of a file, if it exists. */
function changed(path: string): number | undefined {
    return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

/** Runs a WASI command in its own process, and exits with its exit code. */
function runRun(args: string[]): void {
    const end = args.indexOf('--');
    const [own, its] = end < 0 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
    const { values, positionals } = parseArgs({ args: own, options: RUN, allowPositionals: true });
    const path = onlyFile(positionals, 'module');
    const limit = number('--limit', values.limit);
    const trace = values.trace ?? `${basename(path, '.wasm')}.kperf`;
    // The environment has one pattern per line.
    const patterns = (flag: string, texts: string[]): string => {
        if (texts.some((text) => text.includes('\n'))) throw new Usage(`${flag}: a pattern must be one line`);
        return texts.join('\n');
    };
    const settings = {
        KPERF_TRACE: trace,
        KPERF_ONLY: patterns('--only', values.only),
        KPERF_SKIP: patterns('--skip', values.skip),
        KPERF_MATCH: oneOf('--match', values.match, 'auto', 'glob', 'regex', 'text'),
        ...(values.plan && { KPERF_PLAN: values.plan }),
        ...(values.imports && { KPERF_IMPORTS: '1' }),
        KPERF_PROBE: oneOf('--probe', values.probe, 'auto', 'import', 'inline'),
        KPERF_RECORD: oneOf('--record', values.record, 'trace', 'profile'),
        KPERF_CLOCK: values.clock,
        KPERF_QUIET: '1',
    };
    const [register, runner] = ['../register.js', 'run-wasi.js'].map((file) => new URL(file, import.meta.url));
    if (!statSync(path).isFile()) throw new Error(`\`${path}\` is not a file`);
    const before = changed(trace);
    const child = spawnSync(process.execPath, ['--no-warnings', '--import', register!.href, fileURLToPath(runner!), path, ...its], { stdio: 'inherit', env: { ...process.env, ...settings, KPERF_PROCESS: undefined } });
    if (child.error) throw child.error;
    if (!values.quiet && changed(trace) !== before) {
        printReport(trace, false, limit, false);
        process.stderr.write(`the trace is ${trace}\n`);
    }
    process.exitCode = child.status ?? 128 + (child.signal ? constants.signals[child.signal] : 0);
}

/** Removed flags, and what to use instead. */
const REMOVED: Record<string, string> = {
    '--dataset': '`kperf-wasm collect` of the Rust command takes the traces that node writes',
    '--weights': '--clock instructions counts each instruction as one',
};

function unknownFlag(message: string): string {
    const instead = Object.entries(REMOVED).find(([flag]) => message.includes(`'${flag}'`));
    return instead ? `${instead[0]} was removed: ${instead[1]}` : `${message.split('. ')[0]}; \`kperf-wasm --help\` lists the flags`;
}

/** The subcommands. */
const COMMANDS = new Map<string | undefined, (args: string[]) => void | Promise<void>>(Object.entries({ rewrite: runRewrite, report: runReport, view, flame, diff, run: runRun, serve }));

async function main([command, ...args]: string[]): Promise<void> {
    const end = args.indexOf('--');
    if ((end < 0 ? args : args.slice(0, end)).some((arg) => arg === '--help' || arg === '-h')) command = '--help';
    const run = COMMANDS.get(command);
    if (run) await run(args);
    else if (command === undefined || command === '--help' || command === '-h' || command === 'help') process.stdout.write(HELP);
    else if (command === '--version' || command === '-V') process.stdout.write(`kperf-wasm ${(JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }).version}\n`);
    else throw new Usage(`unknown command \`${command}\`: use report, view, flame, diff, rewrite, run or serve`);
}

main(process.argv.slice(2)).catch((error: Error & { code?: string }) => {
    const isUsage = error instanceof Usage || error.code?.startsWith('ERR_PARSE_ARGS') === true;
    if (error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') error.message = unknownFlag(error.message);
    process.stderr.write(`error: ${error.message.replace(/^kperf: /, '').split('\n').map(printable).join('\n')}\n`);
    process.exitCode = isUsage ? 2 : 1;
});
