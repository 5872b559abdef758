/** CRC-32 as in zlib and PNG, eight bytes at a time. */

const TABLES = makeTables();

function makeTables(): Uint32Array[] {
    const first = new Uint32Array(256);
    for (let n = 0; n < 256; n++) {
        let crc = n;
        for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
        first[n] = crc;
    }
    const tables = [first];
    for (let k = 1; k < 8; k++) {
        tables.push(tables[k - 1]!.map((crc) => (crc >>> 8) ^ first[crc & 0xff]!));
    }
    return tables;
}

export function crc32(bytes: Uint8Array): number {
    const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES as [
        Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array,
    ];
    let crc = 0xffffffff;
    let at = 0;
    const whole = bytes.length & ~7;
    for (; at < whole; at += 8) {
        crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
        crc = t7[crc & 0xff]! ^ t6[(crc >>> 8) & 0xff]! ^ t5[(crc >>> 16) & 0xff]! ^ t4[crc >>> 24]!
            ^ t3[bytes[at + 4]!]! ^ t2[bytes[at + 5]!]! ^ t1[bytes[at + 6]!]! ^ t0[bytes[at + 7]!]!;
    }
    for (; at < bytes.length; at++) crc = t0[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
    return (crc ^ 0xffffffff) >>> 0;
}
