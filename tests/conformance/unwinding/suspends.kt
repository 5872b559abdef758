// Kotlin coroutines: functions that leave their frames when they wait and come back to them, one that is cancelled, and
// an exception that goes from one coroutine to the one that waits for it.
import kotlinx.coroutines.*
import kotlinx.coroutines.channels.Channel

fun made(n: Int): Int = n * n

fun used(n: Int) {
    println(n)
}

fun cleanedUp() {
    println("cancelled")
}

suspend fun produces(channel: Channel<Int>) {
    for (n in 1..3) {
        channel.send(made(n))
    }
    channel.close()
}

suspend fun consumes(channel: Channel<Int>) {
    for (n in channel) {
        used(n)
    }
}

suspend fun waits() {
    try {
        awaitCancellation()
    } finally {
        cleanedUp()
    }
}

suspend fun fails(): Int {
    yield()
    throw IllegalStateException("failed")
}

suspend fun catches(scope: CoroutineScope) {
    try {
        used(scope.async(SupervisorJob()) { fails() }.await())
    } catch (e: IllegalStateException) {
        println(e.message)
    }
}

fun main() {
    GlobalScope.launch {
        val channel = Channel<Int>()
        launch { produces(channel) }
        consumes(channel)
        val waiting = launch { waits() }
        yield()
        waiting.cancel()
        waiting.join()
        catches(this)
    }
}
