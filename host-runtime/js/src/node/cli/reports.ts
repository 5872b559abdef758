/** `npx kperf-wasm view|flame|diff`. */

import { spawn } from 'node:child_process';
import { basename, extname, resolve } from 'node:path';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { number, oneOf, onlyFile, PATTERNS, printStatus, Usage, type Values } from '../cli-args.js';
import { makeFile, type Answer, type CallChoice } from '../reports.js';

/** The flags that select calls. */
const CALLS = {
    ...PATTERNS,
    depth: { type: 'string' },
    'min-time': { type: 'string' },
    range: { type: 'string' },
    lane: { type: 'string', multiple: true, default: [] as string[] },
} as const satisfies ParseArgsConfig['options'];

const VIEW = {
    output: { type: 'string', short: 'o' },
    'no-open': { type: 'boolean', default: false },
    detail: { type: 'string', default: '1000000' },
    ...CALLS,
} as const satisfies ParseArgsConfig['options'];

const FLAME = {
    output: { type: 'string', short: 'o' },
    reverse: { type: 'boolean', default: false },
    chart: { type: 'boolean', default: false },
    folded: { type: 'boolean', default: false },
    by: { type: 'string', default: 'time' },
    ...CALLS,
} as const satisfies ParseArgsConfig['options'];

const DIFF = {
    metric: { type: 'string', default: 'self' },
    by: { type: 'string', default: 'function' },
    format: { type: 'string', default: 'table' },
    limit: { type: 'string' },
    ...CALLS,
} as const satisfies ParseArgsConfig['options'];

function choice({ only, skip, match, depth, 'min-time': minTime, range, lane }: Values<typeof CALLS>): CallChoice {
    return {
        only,
        skip,
        match: oneOf('--match', match, 'auto', 'glob', 'regex', 'text'),
        ...(depth !== undefined && { depth: number('--depth', depth) }),
        ...(minTime !== undefined && { min_time: minTime }),
        ...(range !== undefined && { range }),
        lane,
    };
}

const title = (path: string): string => (path === '-' ? 'stdin' : basename(path, extname(path)));
const warn = ({ warnings }: Answer): void => warnings.forEach((warning) => printStatus(`warning: ${warning}`));
const grouped = (count: number): string => count.toLocaleString('en');

export function view(args: string[]): void {
    const { values, positionals } = parseArgs({ args, options: VIEW, allowPositionals: true });
    const path = onlyFile(positionals, 'trace');
    const output = values.output ?? `${title(path)}.html`;
    if (output === '-' && process.stdout.isTTY) throw new Error('stdout is a terminal, and the page is long; name a file with -o FILE.html');
    const made = makeFile([path], choice(values), { view: { title: title(path), detail: number('--detail', values.detail) } }, output);
    warn(made);
    if (output === '-') return;
    const { calls, shown, resolution } = made;
    printStatus(`${output}: ${grouped(calls)} calls${resolution > 0 || shown < calls ? `, ${grouped(shown)} spans` : ', each drawn as a span'}`);
    if (!values['no-open']) openPage(resolve(output));
}

/** Opens a page in the browser. A failure is only a warning. */
function openPage(page: string): void {
    const [command, ...args] = { darwin: ['open', page], win32: ['cmd', '/c', 'start', '', page] }[process.platform as string] ?? ['xdg-open', page];
    const child = spawn(command!, args, { stdio: 'ignore', detached: true });
    child.on('error', ({ message }) => printStatus(`warning: no browser could be opened (${message}); open the page yourself, or use --no-open`));
    child.unref();
}

export function flame(args: string[]): void {
    const { values, positionals } = parseArgs({ args, options: FLAME, allowPositionals: true });
    const path = onlyFile(positionals, 'trace');
    const { output, reverse, chart, folded } = values;
    if (output === undefined) throw new Usage('name the picture with -o FILE; `-` is stdout');
    if ((reverse && chart) || (folded && (reverse || chart))) throw new Usage('use only one of --reverse, --chart and --folded');
    const by = oneOf('--by', values.by, 'time', 'calls');
    if (chart && by === 'calls') throw new Usage('--chart shows times; remove --by');
    const made = makeFile([path], choice(values), { flame: { title: title(path), reverse, chart, folded, calls: by === 'calls' } }, output);
    warn(made);
    if (output !== '-') printStatus(`${output}: ${chart ? `${grouped(made.shown)} of ` : ''}${grouped(made.calls)} calls`);
}

export function diff(args: string[]): void {
    const end = args.indexOf('--');
    const [own, after] = end < 0 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
    const { values, positionals: before } = parseArgs({ args: own, options: DIFF, allowPositionals: true });
    if (end < 0 ? before.length !== 2 : before.length === 0 || after.length === 0) throw new Usage('name two traces, or several with `--` between those before and those after');
    const json = oneOf('--format', values.format, 'table', 'json') === 'json';
    const made = makeFile([...before, ...after], choice(values), {
        diff: {
            before: end < 0 ? 1 : before.length,
            metric: oneOf('--metric', values.metric, 'self', 'total', 'calls'),
            paths: oneOf('--by', values.by, 'function', 'path') === 'path',
            json,
            limit: number('--limit', values.limit ?? (json ? '0' : '30')),
        },
    }, '-');
    warn(made);
}
