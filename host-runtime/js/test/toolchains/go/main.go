// Calls JavaScript and is called by it, on several goroutines.
package main

import (
	"fmt"
	"syscall/js"
	"time"
)

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() {
	results := make(chan int)
	callback := js.FuncOf(func(_ js.Value, args []js.Value) any {
		return fib(args[0].Int())
	})
	js.Global().Set("fib", callback)
	go func() {
		time.Sleep(5 * time.Millisecond)
		results <- fib(15)
	}()
	called := js.Global().Call("eval", "fib(10)").Int()
	fmt.Println("go:", called, <-results)
}
