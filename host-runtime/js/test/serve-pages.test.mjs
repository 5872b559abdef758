// `npx kperf-wasm serve`: its changes to pages, policies and workers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasHost } from '../dist/node/serve/hosts.js';
import { placeOfTag } from '../dist/node/serve/html.js';
import { tag } from '../dist/node/serve/ours.js';
import { makeRoom, nonceOf, withRoom } from '../dist/node/serve/policy.js';

const latin1 = (text) => Buffer.from(text).toString('latin1');

/** The page with the inserted tag. */
function inserted(page) {
    const { at } = placeOfTag(page);
    return `${page.slice(0, at)}<T>${page.slice(at)}`;
}

test('the tag is the first thing in the head', () => {
    for (const [text, expected] of [
        ['<!doctype html><html><head><title>x', '<!doctype html><html><head><T><title>x'],
        [
            '<!DOCTYPE html>\n<HTML lang=en>\n<Head data-x=\'>\'>\n<p>',
            '<!DOCTYPE html>\n<HTML lang=en>\n<Head data-x=\'>\'><T>\n<p>',
        ],
        ['<!-- <head> --><!doctype html><header>x', '<!-- <head> --><!doctype html><T><header>x'],
        ['<html><!-- a --><body>', '<html><T><!-- a --><body>'],
        ['<!--><html><body>', '<!--><html><T><body>'],
        ['<script>1</script>', '<T><script>1</script>'],
        ['\ufeff<head>x', '\ufeff<head><T>x'],
        ['', '<T>'],
        [
            '<?xml version="1.0"?>\n<html xmlns=\'x\'><head><title/>',
            '<?xml version="1.0"?>\n<html xmlns=\'x\'><head><T><title/>',
        ],
        ['<?xml', '<T><?xml'],
        ['text <head>', '<T>text <head>'],
        ['<!doctype html', '<T><!doctype html'],
        ['<!-- never ends', '<T><!-- never ends'],
    ]) {
        const page = latin1(text);
        assert.equal(inserted(page), latin1(expected));
        // The beginning of a page gives the same result as the whole.
        for (let cut = 0; cut < page.length; cut++) {
            const start = page.slice(0, cut);
            if (placeOfTag(start).isCertain) assert.equal(inserted(start) + page.slice(cut), latin1(expected), start);
        }
    }
    const isCertain = (page) => placeOfTag(page).isCertain;
    assert.ok(isCertain('<html><head><title>') && isCertain('<script>1</script>'));
    assert.ok(!isCertain('<html><hea') && !isCertain('<!-- <head>') && !isCertain('<html lang="en'));
});

test('the place is found in a long page, whatever it has', () => {
    for (const piece of ['<html a="', '<html "', '<!--', ' ', '<?', '<html>', '<html a=b ']) {
        const begun = performance.now();
        placeOfTag(piece.repeat(Math.ceil((1 << 16) / piece.length)));
        assert.ok(performance.now() - begun < 200, piece);
    }
});

test('the tag has the nonce, and a namespace in XHTML', () => {
    const plain = tag(undefined, false, 'data-clock="auto"');
    assert.match(plain, /^<script src="\/.kperf\/kperf.js" data-post=.* data-clock="auto"><\/script>$/);
    assert.match(tag('a+B', true, ''), /^<script xmlns="http:\/\/www.w3.org\/1999\/xhtml" src=[^>]* nonce="a\+B" /);
});

test('only the recorder gets more of a policy', () => {
    for (const [policy, expected] of [
        [
            "default-src 'self'; img-src data:",
            "default-src 'self'; img-src data:; script-src 'self' H/ blob:; worker-src 'self' H/ blob:; " +
                "connect-src 'self' H/",
        ],
        [
            "script-src 'none' ;; Connect-SRC api.example; require-trusted-types-for 'script'",
            'script-src H/ blob:; worker-src H/ blob:; connect-src api.example H/',
        ],
        ["frame-ancestors 'none'", "frame-ancestors 'none'"],
        ['child-src x; child-src y', 'child-src x; worker-src x H/ blob:'],
        ['img-src a, script-src b', 'img-src a, script-src b H/ blob:; worker-src b H/ blob:'],
        ["script-src 'none'; x \xe9", "x \xe9; script-src H/ blob:; worker-src H/ blob:"],
        ['', ''],
    ]) assert.equal(withRoom(policy, 'H/'), expected);
});

test('a page that wants a nonce gets its own', () => {
    assert.equal(nonceOf("script-src 'nonce-a+B/1=' 'strict-dynamic'; x"), 'a+B/1=');
    assert.equal(nonceOf("script-src 'self'"), undefined);
    assert.equal(nonceOf("script-src 'nonce-\"><script>'"), undefined);
    const headers = { 'content-security-policy': "script-src 'nonce-a'" };
    assert.equal(makeRoom(headers, 'h/'), 'a');
    const expected = "script-src 'nonce-a' h/ blob:; worker-src 'nonce-a' h/ blob:";
    assert.deepEqual(headers, { 'content-security-policy': expected });
    assert.equal(makeRoom({}, 'h/'), undefined);
});

test('a name that anybody can own is none of ours', () => {
    for (const [host, atHome, inNetwork] of [
        ['localhost:8080', true, true],
        ['app.localhost', true, true],
        ['127.0.0.1:1', true, true],
        ['[::1]:8080', true, true],
        ['192.168.1.5:8080', false, true],
        ['evil.example', false, false],
        ['127.0.0.1.evil.example', false, false],
        ['Mine.example:80', true, true],
        ['', false, false],
    ]) {
        const has = (local) => hasHost(host, local, ['mine.example']);
        assert.deepEqual([has(true), has(false)], [atHome, inNetwork], host);
    }
});
