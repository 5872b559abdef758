// Kotlin: try, catch and finally through several frames, thrown again, caught by type, escaping main.

class Mine(message: String) : Exception(message)

var sink = 0

fun after() {
    sink += 1
}

fun throws(n: Int): Int {
    if (n == 1) throw Mine("mine")
    if (n == 2) throw IllegalStateException("state")
    if (n == 3) return IntArray(2)[n]
    return n
}

fun between(n: Int): Int {
    val result = throws(n)
    after()
    return result
}

fun finallyRuns(n: Int): Int {
    try {
        return between(n)
    } finally {
        after()
    }
}

fun catchesMine(n: Int): Int = try {
    finallyRuns(n)
} catch (e: Mine) {
    after()
    -1
}

fun rethrows(n: Int): Int = try {
    catchesMine(n)
} catch (e: IllegalStateException) {
    throw RuntimeException("wrapped", e)
}

fun catchesAll(n: Int): String = try {
    rethrows(n).toString()
} catch (e: Exception) {
    e.message ?: "none"
}

fun main() {
    println(catchesAll(0))
    println(catchesAll(1))
    println(catchesAll(2))
    println(runCatching { rethrows(2) }.isFailure)
    after()
    rethrows(2)
}
