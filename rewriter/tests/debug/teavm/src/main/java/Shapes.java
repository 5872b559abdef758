public class Shapes {
    static int clamped(int value, int low, int high) {
        if (value < low) {
            return low;
        }
        return value > high ? high : value;
    }

    static int fib(int n) {
        if (n < 2) {
            return n;
        }
        int before = fib(n - 1);
        int last = fib(n - 2);
        return before + last;
    }

    public static void main(String[] args) {
        int sum = 0;
        for (int i = 0; i < 20; i++) {
            sum += clamped(fib(i), 1, 50);
            if (sum == 7) {
                System.out.println(sum);
            }
        }
        System.out.println(sum);
    }
}
