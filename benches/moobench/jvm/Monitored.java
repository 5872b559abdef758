/** The same as in rust/src/lib.rs, for the agents of the JVM: `Monitored SIZE COUNT DEPTH ANSWER`. */
public final class Monitored {
    static int monitored(int depth) {
        return depth > 1 ? Integer.rotateLeft(monitored(depth - 1), 1) ^ depth : depth;
    }

    static int run(int calls, int depth) {
        int sum = 0;
        for (int call = 0; call < calls; call++) sum += monitored(depth);
        return sum;
    }

    public static void main(String[] args) {
        int size = Integer.parseInt(args[0]), count = Integer.parseInt(args[1]), depth = Integer.parseInt(args[2]);
        int answer = Integer.parseUnsignedInt(args[3]);
        long[] batches = new long[count];
        for (int n = 0; n < count; n++) {
            long begun = System.nanoTime();
            int answered = run(size, depth);
            batches[n] = System.nanoTime() - begun;
            if (answered != answer) throw new AssertionError(answered + " where " + answer + " is right");
        }
        long sum = 0;
        StringBuilder text = new StringBuilder("[{\"batches\":[");
        for (int n = 0; n < count; n++) {
            text.append(n == 0 ? "" : ",").append(batches[n]);
            sum += batches[n];
        }
        System.out.println(text.append("],\"whole_nanos\":").append(sum).append("}]"));
    }
}
