@JsFun("(n) => n * 2")
external fun twice(n: Int): Int

@JsFun("() => { throw new Error('from JavaScript') }")
external fun fail()

fun fib(n: Int): Int = if (n < 2) n else fib(n - 1) + fib(n - 2)

fun caught(): String =
    try {
        fail()
        "nothing"
    } catch (e: Throwable) {
        "caught"
    }

@OptIn(ExperimentalJsExport::class)
@JsExport
fun run(n: Int): Int {
    check(caught() == "caught")
    return twice(fib(n))
}

fun main() {
    println("kotlin: ${run(15)}")
}
