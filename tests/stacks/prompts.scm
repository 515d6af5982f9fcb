; SPDX-License-Identifier: MIT
; Delimited continuations and exceptions.
(define (gen n) (let ((k0 #f) (i 0)) (lambda () (call/cc (lambda (ret) (if k0 (k0 ret) (let loop () (if (< i n) (begin (set! i (+ i 1)) (set! ret (call/cc (lambda (k) (set! k0 k) (ret i)))) (loop)) (ret -1)))))))))
(define p (make-prompt-tag))
(define (f x) (+ x (call-with-prompt p (lambda () (+ 1 (abort-to-prompt p x))) (lambda (k v) (+ (k v) v)))))
(let loop ((i 0) (s 0)) (if (< i 20000) (loop (+ i 1) (+ s (f i) (catch 'foo (lambda () (throw 'foo i)) (lambda (k v) v)))) (begin (display s) (newline))))
