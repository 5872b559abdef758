/** Finds the place of the recorder's tag in a page. */

/** The longest text that distinguishes a piece of a page's beginning from other tags. */
const LONGEST = '<!doctype>'.length;
/**
 * A piece of a page's beginning: space or a comment (1), `<?xml ..?>`, a doctype, `<html ..>`, or `<head ..>` (2). A tag ends at the first
 * `>` outside of quotes.
 */
const PIECE = /([\t\n\f\r ]+|<!(?=--)[^]*?-->)|<\?[^>]*>|<(?:!doctype|html|(head))(?=[\t\n\f\r />])(?:"[^"]*"|'[^']*'|[^"'>])*>/iy;
/** A piece that may have no end yet. */
const BEGUN = /<!--|<\?|<(?:!doctype|html|head)(?=[\t\n\f\r />])/iy;

/**
 * The tag's offset in a page, and whether the rest of the page can't change it. The tag comes before all content of the page: after the
 * pieces that the page begins with, but not after space and comments alone. `page` has a character for each byte.
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
