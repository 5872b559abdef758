;; A part of recorder.wat: what records allocations. The two functions that the rewriter calls, and what they need.

  ;; #if allocations
  ;; A function of an allocator begins; this follows its enter. What it calls to do its work is its own business, so only the
  ;; outermost such call is told. The global is that one's, or of a call that is gone, if it isn't 0 and the token isn't larger.
  (func $allocating (export "allocating") (param $token i32)
    (if (i32.ge_u (i32.sub (global.get $allocator) (i32.const 1)) (i32.sub (local.get $token) (i32.const 1)))
      (then (global.set $allocator (local.get $token)))))

  ;; It has ended; this follows its leave, so that its caller is the innermost frame. $old is the block that it was given (0:
  ;; none), $size for how many bytes it was asked, $new the block that it gave (0: none). So free(p) is (p, 0, 0), and a
  ;; realloc(p, n) that fails is (p, n, 0). (-1, n, 0) is for what is collected: nobody will tell when it is gone.
  ;; A collector's function that frees may run within any of the allocator's: its token is -1, and it is told always.
  (func $allocated (export "allocated") (param $token i32) (param $old i64) (param $size i64) (param $new i64)
    (if (i32.ne (local.get $token) (i32.const -1))
      (then
        (if (i32.ne (local.get $token) (global.get $allocator)) (then (return)))
        (global.set $allocator (i32.const 0))))
    ;; #if inline instructions
    ;; Samples: a block is forgotten, and what is not chosen is nothing.
    (if (i64.ne (global.get $sample) (i64.const 0))
      (then
        (if (i32.and
              (i64.gt_u (i64.add (local.get $old) (i64.const 1)) (i64.const 1))
              (i32.or (i64.ne (local.get $new) (i64.const 0)) (i64.eqz (local.get $size))))
          (then (if (i32.eqz (call $forget (local.get $old))) (then (local.set $old (i64.const 0))))))
        (if (i64.ne (local.get $new) (i64.const 0))
          (then
            (if (call $choose (local.get $size))
              (then (call $remember (local.get $new)))
              (else
                (local.set $new (i64.const 0))
                (local.set $size (i64.const 0))))))))
    ;; #end
    (if (i64.eq (local.get $old) (i64.const -1))
      (then
        (call $created (local.get $size))
        (return)))
    (if (i64.eqz (local.get $new))
      (then
        (if (i64.ne (local.get $size) (i64.const 0))
          (then
            (call $record (select (i32.const 3) (i32.const 0) (i64.ne (local.get $old) (i64.const 0))) (i64.const 0) (local.get $size))
            (return)))
        (if (i64.ne (local.get $old) (i64.const 0))
          (then (call $record (i32.const 1) (local.get $old) (i64.const 0))))
        (return)))
    (if (i64.eqz (local.get $old))
      (then
        (call $record (i32.const 0) (local.get $new) (local.get $size))
        (return)))
    (call $record (i32.const 2) (local.get $old) (i64.const 0))
    (call $record (i32.const 3) (local.get $new) (local.get $size)))

  ;; A memory was to grow by so many pages. It had $before pages; -1: it didn't grow.
  (func $grew (export "grew") (param $memory i32) (param $pages i64) (param $before i64)
    (if (i64.eqz (local.get $pages)) (then (return)))
    (if (i64.gt_u (local.get $pages) (i64.const 0x3ffffff)) (then (local.set $pages (i64.const 0x3ffffff))))
    (call $record
      (i32.const 4)
      (i64.add (local.get $before) (i64.const 1))
      (i64.or
        (local.get $pages)
        (i64.shl (i64.extend_i32_u (i32.and (local.get $memory) (i32.const 0x7ff))) (i64.const 26)))))

  ;; An object was made that is collected, by the engine or by the language's runtime.
  (func $created (export "created") (param $size i64)
    ;; #if inline instructions
    (if (i64.ne (global.get $sample) (i64.const 0))
      (then (if (i32.eqz (call $choose (local.get $size))) (then (return)))))
    ;; #end
    (call $record (i32.const 5) (i64.const 0) (local.get $size)))

  ;; #if inline instructions
  ;; Whether an allocation of so many bytes is a sample. Each byte is one with the same probability: the number of bytes to the
  ;; next one has an exponential distribution.
  (func $choose (param $size i64) (result i32)
    (if (i64.eqz (global.get $until)) (then (call $draw)))
    (if (i64.lt_u (local.get $size) (global.get $until))
      (then
        (global.set $until (i64.sub (global.get $until) (local.get $size)))
        (return (i32.const 0))))
    (call $draw)
    (i32.const 1))

  ;; -ln(x) of a random x in (0, 1], times the mean.
  (func $draw
    (local $bits i64) (local $z f64) (local $square f64)
    (global.set $random (i64.xor (global.get $random) (i64.shl (global.get $random) (i64.const 13))))
    (global.set $random (i64.xor (global.get $random) (i64.shr_u (global.get $random) (i64.const 7))))
    (global.set $random (i64.xor (global.get $random) (i64.shl (global.get $random) (i64.const 17))))
    (local.set $bits
      (i64.reinterpret_f64
        (f64.convert_i64_u (i64.add (i64.shr_u (global.get $random) (i64.const 11)) (i64.const 1)))))
    ;; The fraction f is in [1, 2): ln(f) = 2 (z + z^3 / 3 + z^5 / 5 + ..), where z = (f - 1) / (f + 1).
    (local.set $z
      (f64.reinterpret_i64
        (i64.or (i64.and (local.get $bits) (i64.const 0xfffffffffffff)) (i64.const 0x3ff0000000000000))))
    (local.set $z (f64.div (f64.sub (local.get $z) (f64.const 1)) (f64.add (local.get $z) (f64.const 1))))
    (local.set $square (f64.mul (local.get $z) (local.get $z)))
    (global.set $until
      (i64.add
        (i64.const 1)
        (i64.trunc_sat_f64_u
          (f64.mul
            (f64.convert_i64_u (global.get $sample))
            (f64.sub
              ;; x is this number less 53 powers of two.
              (f64.mul
                (f64.convert_i64_s (i64.sub (i64.const 1076) (i64.shr_u (local.get $bits) (i64.const 52))))
                (f64.const 0.6931471805599453))
              (f64.mul
                (f64.mul (f64.const 2) (local.get $z))
                (f64.add
                  (f64.const 1)
                  (f64.mul
                    (local.get $square)
                    (f64.add
                      (f64.const 0.3333333333333333)
                      (f64.mul
                        (local.get $square)
                        (f64.add
                          (f64.const 0.2)
                          (f64.mul
                            (local.get $square)
                            (f64.add
                              (f64.const 0.14285714285714285)
                              (f64.mul (local.get $square) (f64.const 0.1111111111111111))))))))))))))))

  ;; The slot for a block in the page behind the lane's own two. It has the address of the sample that is there; 1 if there were two
  ;; at a time: then every block of this slot counts as one that is known.
  (func $slot (param $pointer i64) (result i32)
    (i32.add
      (i32.const 131072)
      (i32.shl
        (i32.shr_u
          (i32.mul (i32.wrap_i64 (i64.shr_u (local.get $pointer) (i64.const 3))) (i32.const 0x9e3779b1))
          (i32.const 18))
        (i32.const 2))))

  (func $remember (param $pointer i64)
    (i32.store
      (call $slot (local.get $pointer))
      (select
        (i32.wrap_i64 (local.get $pointer))
        (i32.const 1)
        (i32.eqz (i32.load (call $slot (local.get $pointer)))))))

  ;; Whether a block may be a sample that was recorded, and is gone.
  (func $forget (param $pointer i64) (result i32)
    (local $slot i32) (local $known i32)
    (local.set $known (i32.load (local.tee $slot (call $slot (local.get $pointer)))))
    (if (i32.eq (local.get $known) (i32.wrap_i64 (local.get $pointer)))
      (then
        (i32.store (local.get $slot) (i32.const 0))
        (return (i32.const 1))))
    (i32.eq (local.get $known) (i32.const 1)))
  ;; #end

  ;; Writes a record: the kind (4 bits), a pointer and a size (37 bits each) in three words (src/allocation.rs). It takes no
  ;; reading of the clock: it happened just after the last event. The first word is written last.
  (func $record (param $kind i32) (param $pointer i64) (param $size i64)
    (local $position i32)
    ;; #if inline instructions
    (if (i64.eq (i64.load (i32.const 0)) (i64.const -1)) (then (return)))
    (if (i32.eqz (position.get)) (then (call $init)))
    ;; #end
    (if (i64.gt_u (local.get $size) (i64.const 0x1fffffffff)) (then (local.set $size (i64.const 0x1fffffffff))))
    (local.set $position (call $make_room (global.get $last)))
    (i32.store offset=8 (local.get $position)
      (i32.or (i32.const 0xf0000000) (i32.and (i32.wrap_i64 (local.get $size)) (i32.const 0x3ffffff))))
    (i32.store offset=4 (local.get $position)
      (i32.or (i32.const 0xf0000000) (i32.and (i32.wrap_i64 (local.get $pointer)) (i32.const 0x3ffffff))))
    (i32.store (local.get $position)
      (i32.or
        (i32.or (i32.const 0xec000000) (i32.shl (local.get $kind) (i32.const 22)))
        (i32.or
          (i32.shl (i32.wrap_i64 (i64.shr_u (local.get $size) (i64.const 26))) (i32.const 11))
          (i32.and (i32.wrap_i64 (i64.shr_u (local.get $pointer) (i64.const 26))) (i32.const 0x7ff)))))
    (position.set (i32.add (local.get $position) (i32.const 12))))
  ;; #end
