/** Where the recorder's tag goes in a page. */

/** The longest text that tells a piece of a page's beginning from other tags. */
const LONGEST = '<!doctype>'.length;
/**
 * A piece of a page's beginning: space or a comment (1), `<?xml ..?>`, a doctype, `<html ..>`, or `<head ..>` (2). A tag ends at the first
 * `>` outside of quotes.
 */
const PIECE = /([\t\n\f\r ]+|<!(?=--)[^]*?-->)|<\?[^>]*>|<(?:!doctype|html|(head))(?=[\t\n\f\r />])(?:"[^"]*"|'[^']*'|[^"'>])*>/iy;
/** A piece that may have no end yet. */
const BEGUN = /<!--|<\?|<(?:!doctype|html|head)(?=[\t\n\f\r />])/iy;

/**
 * Where the tag goes, before anything that the page does, and whether that is so whatever follows this beginning of the page. The tag goes
 * after those pieces that are there, but not after space and comments alone. `page` has a character for each byte.
 */
export function placeOfTag(page: string): { at: number; isCertain: boolean } {
    let at = page.startsWith('\xef\xbb\xbf') ? 3 : 0;
    let place = at;
    for (let piece; (piece = matchAt(PIECE, page, at)); ) {
        at += piece[0].length;
        if (piece[1] === undefined) place = at;
        if (piece[2] !== undefined) return { at: place, isCertain: true };
    }
    return { at: place, isCertain: page.length - at >= LONGEST && !matchAt(BEGUN, page, at) };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
    pattern.lastIndex = at;
    return pattern.exec(text);
}
