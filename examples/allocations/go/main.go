// A program that knows what it allocates: each part counts for itself. All of it is left to the collector.
package main

import "strconv"

type node struct {
	next  *node
	value int64
}

type account struct{ bytes, blocks int }

var (
	list    *node
	sink    []byte
	numbers []int64
	seen    int
)

//go:noinline
func nodes() (of account) {
	for i := 0; i < 1000; i++ {
		list = &node{list, int64(i)}
		of.bytes += 16
		of.blocks++
	}
	return of
}

//go:noinline
func slices() (of account) {
	for i := 0; i < 50; i++ {
		sink = make([]byte, 1000+i)
		of.bytes += 1000 + i
		of.blocks++
	}
	return of
}

//go:noinline
func large() (of account) {
	sink = make([]byte, 1<<20)
	return account{1 << 20, 1}
}

//go:noinline
func grows() (of account) {
	numbers = nil
	for i, capacity := 0, 0; i < 10000; i++ {
		numbers = append(numbers, int64(i))
		if cap(numbers) != capacity {
			capacity = cap(numbers)
			of.bytes += 8 * capacity
			of.blocks++
		}
	}
	return of
}

//go:noinline
func texts() (of account) {
	for i := 100; i < 1100; i++ {
		number := strconv.Itoa(i)
		line := "the number " + number + " as a text that is longer than a temporary buffer"
		seen += len(line)
		of.bytes += len(number) + len(line)
		of.blocks += 2
	}
	return of
}

//go:noinline
func tiny() (of account) {
	for i := 0; i < 100; i++ {
		sink = make([]byte, 3)
		of.bytes += 3
		of.blocks++
	}
	return of
}

func main() {
	for _, part := range []struct {
		name string
		work func() account
	}{{"nodes", nodes}, {"slices", slices}, {"large", large}, {"grows", grows}, {"texts", texts}, {"tiny", tiny}} {
		of := part.work()
		println(part.name, of.bytes, of.blocks, 0, 0)
	}
}
