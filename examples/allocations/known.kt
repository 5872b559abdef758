// A program that knows what it allocates: each part counts for itself. The engine collects all of it, and tells nobody when.
package known

/** What stands in front of an object's fields: three references and a hash, of four bytes each. */
const val HEADER = 16

class Node(val next: Node?, val value: Int)
class Wide(val a: Long, val b: Double, val c: Byte)

class Account(val name: String) {
    var bytes = 0
    var blocks = 0
    fun given(size: Int) { bytes += size; blocks += 1 }
}

var list: Node? = null
var seen = 0
var kept: Any? = null

fun nodes(of: Account) {
    for (i in 0 until 1000) {
        list = Node(list, i)
        of.given(HEADER + 4 + 4)
    }
    seen += list!!.value
}

fun wides(of: Account) {
    for (i in 0 until 500) {
        val wide = Wide(i.toLong(), 1.5, 3)
        kept = wide
        seen += wide.c + wide.a.toInt() + wide.b.toInt()
        of.given(HEADER + 8 + 8 + 1)
    }
}

/** An array is an object with a reference to its elements, which are one more. */
fun ints(of: Account) {
    for (i in 0 until 100) {
        kept = IntArray(100 + i)
        of.given(HEADER + 4)
        of.given(4 * (100 + i))
    }
}

fun bytes(of: Account) {
    for (i in 0 until 100) {
        kept = ByteArray(1000 + i)
        of.given(HEADER + 4)
        of.given(1000 + i)
    }
}

fun longs(of: Account) {
    kept = LongArray(1 shl 16)
    of.given(HEADER + 4)
    of.given(8 shl 16)
}

fun objects(of: Account) {
    kept = arrayOfNulls<Node>(1000)
    of.given(HEADER + 4)
    of.given(4 * 1000)
}

fun main() {
    val all = arrayOf(Account("nodes"), Account("wides"), Account("ints"), Account("bytes"), Account("longs"), Account("objects"))
    nodes(all[0])
    wides(all[1])
    ints(all[2])
    bytes(all[3])
    longs(all[4])
    objects(all[5])
    for (of in all) println("${of.name} ${of.bytes} ${of.blocks} 0 0")
}
