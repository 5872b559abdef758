proc show(n: cint) {.importc, noconv, codegenDecl: "__attribute__((import_module(\"env\"))) $# $#$#".}

func clamped(value, low, high: cint): cint =
  if value < low:
    return low
  if value > high: high else: value

proc fib(n: cint): cint {.noinline.} =
  if n < 2:
    return n
  let before = fib(n - 1)
  let last = fib(n - 2)
  before + last

proc run(n: cint): cint {.exportc.} =
  var sum: cint = 0
  var i: cint = 0
  while i < n:
    sum = sum + clamped(fib(i), 1, 50)
    if sum == 7:
      show(sum)
    i = i + 1
  sum
