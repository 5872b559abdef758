// What the JavaScript engine does: reads expressions with a tokenizer and a parser, evaluates them, and keeps books in JSON.
class Parser {
    constructor(text) {
        this.tokens = text.match(/\d+(?:\.\d+)?|[a-z]\w*|[-+*\/()=;]/g);
        this.at = 0;
    }
    take(token) {
        return this.tokens[this.at] === token ? (this.at++, true) : false;
    }
    program() {
        const statements = [];
        while (this.at < this.tokens.length) {
            const name = this.tokens[this.at++];
            if (!this.take('=')) throw new Error('= is wanted at ' + this.at);
            statements.push({ name, value: this.sum() });
            this.take(';');
        }
        return statements;
    }
    sum() {
        let left = this.product();
        for (;;) {
            if (this.take('+')) left = { kind: 'add', left, right: this.product() };
            else if (this.take('-')) left = { kind: 'subtract', left, right: this.product() };
            else return left;
        }
    }
    product() {
        let left = this.atom();
        for (;;) {
            if (this.take('*')) left = { kind: 'multiply', left, right: this.atom() };
            else if (this.take('/')) left = { kind: 'divide', left, right: this.atom() };
            else return left;
        }
    }
    atom() {
        if (this.take('(')) {
            const inner = this.sum();
            this.take(')');
            return inner;
        }
        const token = this.tokens[this.at++];
        return /^\d/.test(token) ? { kind: 'number', value: Number(token) } : { kind: 'name', name: token };
    }
}

const evaluate = (node, names) => {
    switch (node.kind) {
        case 'number': return node.value;
        case 'name': return names.get(node.name) ?? 0;
        case 'add': return evaluate(node.left, names) + evaluate(node.right, names);
        case 'subtract': return evaluate(node.left, names) - evaluate(node.right, names);
        case 'multiply': return evaluate(node.left, names) * evaluate(node.right, names);
        default: return evaluate(node.left, names) / (evaluate(node.right, names) || 1);
    }
};

let seed = 7;
const random = (below) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
const lines = Array.from({ length: 1500 }, (_, n) =>
    `v${random(50)} = (v${random(50)} + ${random(1000)}) * ${1 + random(9)} - v${random(50)} / (${1 + random(7)} + v${n % 50})`);

let checksum = 0;
for (let round = 0; round < 5; round++) {
    const program = new Parser(lines.join(';\n')).program();
    const names = new Map();
    for (const { name, value } of program) names.set(name, Math.round(evaluate(value, names)) % 100003);
    const book = JSON.parse(JSON.stringify([...names].map(([name, value]) => ({ name, value, text: `${name}=${value}` }))));
    book.sort((a, b) => a.value - b.value || (a.name < b.name ? -1 : 1));
    checksum = book.reduce((sum, { text }) => (sum * 31 + text.length) % 1000003, checksum);
}
if (!(checksum >= 0)) throw new Error('wrong');
