// The report's figures are those of the Rust command's table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactText, plural, roughText, wilson } from '../dist/node/figures.js';

test('digits end where the error begins', () => {
    for (const [nanos, error, text] of [
        [108e6, 12e6, '110 ms'], [108_234_000, 2_000, '108.234 ms'], [108_234_000, 300_000, '108.2 ms'], [3.34, 0.4, '3.3 ns'],
        [3.34, 2, '3 ns'], [0, 2_000, '<2 us'], [0, 7_680, '<8 us'], [700, 2_000, '<3 us'], [2_345, 2_000, '2 us'],
        [0, 960_000, '<1 ms'], [999_960, 100, '1.000 ms'], [5e9, 4e9, '5 s'], [5e9, 0, '5.000 s'], [0, 0, '0.0 ns'],
        [1, Infinity, '?'], [1, NaN, '?'],
    ]) assert.equal(roughText(nanos, error), text, `${nanos} ${error}`);
});

test('exact figures have the unit that suits them', () => {
    for (const [nanos, text] of [
        [0, '0 ns'], [999, '999 ns'], [1_000, '1.000 us'], [999_999, '999.999 us'], [1_234_499, '1.234 ms'], [1_234_500, '1.235 ms'],
        [999_999_499, '999.999 ms'], [999_999_500, '1.000 s'], [61_000_499_999, '61.000 s'],
    ]) assert.equal(exactText(nanos, false), text);
    assert.equal(exactText(1_500, true), '1.500 k instr');
    assert.deepEqual([plural(1, 'call'), plural(2000, 'call')], ['1 call', '2,000 calls']);
});

test('few samples say little, and none say nothing', () => {
    assert.deepEqual([wilson(0.5, 0), wilson(0.5, Infinity)], [1, 0]);
    const [few, many] = [100, 10_000].map((samples) => wilson(0.5, samples));
    assert.equal(few > 0.09 && few < 0.1 && many > 0.009 && many < 0.01 && wilson(0, 100) > 0.01, true);
});
