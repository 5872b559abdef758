pragma circom 2.0.0;

// Many signals and constraints: what a compiler of circuits has to do.
template Round(n) {
    signal input in[n];
    signal output out[n];
    signal square[n];
    for (var i = 0; i < n; i++) {
        square[i] <== in[i] * in[(i + 1) % n];
        out[i] <== square[i] * in[i] + i;
    }
}

template Rounds(n, rounds) {
    signal input in[n];
    signal output out;
    component round[rounds];
    var i;
    for (i = 0; i < rounds; i++) {
        round[i] = Round(n);
        for (var j = 0; j < n; j++) {
            round[i].in[j] <== i == 0 ? in[j] : round[i - 1].out[j];
        }
    }
    var sum = 0;
    for (i = 0; i < n; i++) {
        sum += round[rounds - 1].out[i];
    }
    out <== sum;
}

component main = Rounds(16, 60);
